//! An agent's own words: shortened for a cause, made harmless for a terminal.

/// The characters of the longest cause.
const LONGEST: usize = 300;

/// The first line of `text` that says anything, without control characters, at most 300
/// characters; none if there is no such line.
pub(super) fn cause(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, LONGEST))
}

/// At most `bound` characters of `text`, control characters escaped, a cut marked by `…`.
pub(super) fn shortened(text: &str, bound: usize) -> String {
    let mut short = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == bound {
            short.push('…');
            break;
        }
        push(&mut short, c);
    }
    short
}

/// `text` without control characters but line breaks and tabs.
pub(super) fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            '\r' => {}
            c => push(&mut safe, c),
        }
    }
    safe
}

/// Also the characters that turn the direction of a line, by which it reads as another one.
fn push(text: &mut String, c: char) {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns {
        text.extend(c.escape_default());
    } else {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::{cause, harmless};

    /// RUN-0: the cause is the agent's first line, bounded and harmless.
    #[test]
    fn a_cause_is_one_bounded_line() {
        assert_eq!(cause("\n  \n a\u{1b}[2Jb\tc\nsecond").as_deref(), Some("a\\u{1b}[2Jb\\tc"));
        assert_eq!(cause(" \n\r\n"), None);
        assert_eq!(cause(&"é".repeat(301)), Some("é".repeat(300) + "…"));
        assert_eq!(cause(&"é".repeat(300)), Some("é".repeat(300)));
    }

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(harmless("a\r\n\tb\u{7}\u{9b}\u{202e}"), "a\n\tb\\u{7}\\u{9b}\\u{202e}");
    }
}
