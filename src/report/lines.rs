//! From bytes that arrive in any pieces to whole lines.
//!
//! Invariant: no more than [`LONGEST`] bytes are held; of a longer line its length alone is
//! known, and the lines after it are whole again.

use serde::{Deserialize, Serialize};

/// The bytes of the longest line that is read.
pub(super) const LONGEST: usize = 4 << 20;
/// What is kept of a buffer that a long line made large.
const KEPT: usize = 64 << 10;

/// One line without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It was too long; this many bytes.
    Skipped(usize),
}

/// Cuts bytes into lines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Lines {
    /// The begun line.
    begun: Vec<u8>,
    /// How much of a line that is too long has gone by.
    skipped: usize,
}

impl Lines {
    /// Hands each line that `bytes` completes to `each`.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (piece, after) = (&rest[..at], &rest[at + 1..]);
            rest = after;
            if self.begun.is_empty() && self.skipped == 0 && piece.len() <= LONGEST {
                each(Line::Whole(without_return(piece)));
                continue;
            }
            self.hold(piece);
            self.complete(&mut each);
        }
        self.hold(rest);
    }

    /// Hands what was begun to `each`, as the stream ends without a line break.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.begun.is_empty() || self.skipped > 0 {
            self.complete(&mut each);
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.skipped > 0 {
            self.skipped += piece.len();
        } else if self.begun.len() + piece.len() > LONGEST {
            self.skipped = self.begun.len() + piece.len();
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }

    fn complete(&mut self, each: &mut impl FnMut(Line<'_>)) {
        if self.skipped > 0 {
            each(Line::Skipped(std::mem::take(&mut self.skipped)));
        } else {
            each(Line::Whole(without_return(&self.begun)));
        }
        self.begun.clear();
        self.begun.shrink_to(KEPT);
    }
}

/// A terminal puts a carriage return before each line feed.
fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Line, Lines};

    fn cut(pieces: &[&[u8]]) -> Vec<Result<Vec<u8>, usize>> {
        let (mut lines, mut all) = (Lines::default(), Vec::new());
        let mut take = |line: Line<'_>| {
            all.push(match line {
                Line::Whole(text) => Ok(text.to_vec()),
                Line::Skipped(length) => Err(length),
            });
        };
        for piece in pieces {
            lines.feed(piece, &mut take);
            assert!(lines.begun.capacity() <= 2 * LONGEST, "what is held is bounded");
        }
        lines.finish(&mut take);
        all
    }

    /// RUN-3: bytes may come in any pieces, of any encoding, with either line break.
    #[test]
    fn lines_are_the_same_however_their_bytes_arrive() {
        let whole = [Ok(b"a".to_vec()), Ok(vec![]), Ok(vec![0xff, b'b']), Ok(b"end".to_vec())];
        assert_eq!(cut(&[b"a\r\n\n\xffb\nend"]), whole);
        assert_eq!(cut(&[b"a", b"\r", b"\n", b"\n\xff", b"b\ne", b"nd"]), whole);
        assert_eq!(cut(&[]), []);
        assert_eq!(cut(&[b"x\n"]), [Ok(b"x".to_vec())]);
    }

    /// A line without an end does not fill the memory, and hides none of those after it.
    #[test]
    fn a_line_that_is_too_long_is_skipped_alone() {
        let long = vec![b'x'; LONGEST];
        let at_bound = [&long[..], b"\nnext\n"].concat();
        assert_eq!(cut(&[&at_bound]), [Ok(long.clone()), Ok(b"next".to_vec())]);
        let beyond = [&long[..], b"y\nnext\n"].concat();
        let skipped = [Err(LONGEST + 1), Ok(b"next".to_vec())];
        assert_eq!(cut(&[&beyond]), skipped);
        assert_eq!(cut(&[&long, b"y", b"\nnext"]), skipped);
        assert_eq!(cut(&[&long, &long, &long]), [Err(3 * LONGEST)]);
    }
}
