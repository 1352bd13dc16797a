//! Pieces of a text replaced by others.

use std::ops::Range;

/// One piece and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    /// The bytes that go; empty: something is put between.
    pub(super) at: Range<usize>,
    /// What comes.
    pub(super) with: String,
}

/// The text with all splices; none if they overlap or part a character.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let mut new = String::with_capacity(text.len());
    let mut end = 0;
    for splice in splices {
        new.push_str(text.get(end..splice.at.start)?);
        new.push_str(&splice.with);
        end = splice.at.end.max(splice.at.start);
    }
    new.push_str(text.get(end..)?);
    // A file that ended without a line end does so still, though its last line has gone.
    if !text.is_empty() && !text.ends_with('\n') && new.ends_with('\n') {
        new.pop();
        if new.ends_with('\r') {
            new.pop();
        }
    }
    Some(new)
}

/// How the lines of a text end: as its first one does.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line of an offset begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line after that of an offset begins, or the text ends.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Whether nothing but white space stands there.
pub(super) fn blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}
