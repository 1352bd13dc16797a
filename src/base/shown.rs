//! Somebody else's words made harmless for a terminal.

/// At most `bound` characters of `text`, control characters escaped, a cut marked by `…`.
#[must_use]
pub fn shortened(text: &str, bound: usize) -> String {
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
#[must_use]
pub fn harmless(text: &str) -> String {
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
    use super::harmless;

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(harmless("a\r\n\tb\u{7}\u{9b}\u{202e}"), "a\n\tb\\u{7}\\u{9b}\\u{202e}");
    }
}
