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

/// `text` in one line, bounded: what somebody wrote where a word is due.
#[must_use]
pub fn quoted(text: &str) -> String {
    shortened(text, LONGEST_WORD)
}

/// A name has at most 63 characters; a longer text is recognised by so much of its beginning.
const LONGEST_WORD: usize = 100;

/// Whether a character moves a cursor, turns the direction of a line, by which it reads as another
/// one, or cannot be seen, by which a word looks like another one. Joiners are part of some scripts.
pub(super) fn deceives(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unseen = matches!(c, '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || turns || unseen
}

fn push(text: &mut String, c: char) {
    if deceives(c) {
        text.extend(c.escape_default());
    } else {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::{harmless, quoted};

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(harmless("a\r\n\tb\u{7}\u{9b}\u{202e}"), "a\n\tb\\u{7}\\u{9b}\\u{202e}");
    }

    /// CFG-8: what a message quotes is one bounded line without characters that deceive.
    #[test]
    fn a_quoted_word_is_bounded_and_plain() {
        assert_eq!(quoted("pro\u{200b}mpt\n\u{ad}"), "pro\\u{200b}mpt\\n\\u{ad}");
        assert_eq!(quoted(&"k".repeat(1 << 20)), format!("{}…", "k".repeat(100)));
        assert_eq!(quoted("naïve \"می\u{200c}خواهم\""), "naïve \"می\u{200c}خواهم\"");
    }
}
