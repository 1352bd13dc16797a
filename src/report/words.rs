//! An agent's own words: shortened for a cause, made harmless for a terminal.

pub(super) use crate::base::{harmless, shortened};

/// The characters of the longest cause.
const LONGEST: usize = 300;

/// The first line of `text` that says anything, without control characters, at most 300
/// characters; none if there is no such line.
pub(super) fn cause(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::cause;

    /// RUN-0: the cause is the agent's first line, bounded and harmless.
    #[test]
    fn a_cause_is_one_bounded_line() {
        assert_eq!(cause("\n  \n a\u{1b}[2Jb\tc\nsecond").as_deref(), Some("a\\u{1b}[2Jb\\tc"));
        assert_eq!(cause(" \n\r\n"), None);
        assert_eq!(cause(&"é".repeat(301)), Some("é".repeat(300) + "…"));
        assert_eq!(cause(&"é".repeat(300)), Some("é".repeat(300)));
    }
}
