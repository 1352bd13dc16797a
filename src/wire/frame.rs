//! Cutting a byte stream into lines, with a bound.
//!
//! Invariant: never holds more than one line of [`MAX_LINE`] bytes and what came with it.

use thiserror::Error;

/// The longest line, its line feed included.
pub const MAX_LINE: usize = 1 << 20;

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A line is too long.
    #[error("a line is longer than {MAX_LINE} bytes")]
    TooLong,
}

/// An incremental reader of lines.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    scanned: usize,
}

impl Frames {
    /// Takes bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// What has come and is no whole line yet.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// The next whole line without its line feed.
    ///
    /// # Errors
    /// If the line is longer than [`MAX_LINE`]; the stream is lost then.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let found = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n');
        match found.map(|at| at + self.scanned) {
            Some(end) if end < MAX_LINE => {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.scanned = 0;
                Ok(Some(line))
            }
            None if self.buffer.len() < MAX_LINE => {
                self.scanned = self.buffer.len();
                Ok(None)
            }
            _ => Err(FrameError::TooLong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameError, Frames, MAX_LINE};

    /// CTL-4: one object a line, however the bytes arrive, and no line over 1 MiB.
    #[test]
    fn lines_are_cut_and_bounded() {
        let mut frames = Frames::default();
        frames.push(b"{\"a\"");
        assert_eq!(frames.next_line(), Ok(None));
        frames.push(b":1}\n\n{");
        assert_eq!(frames.next_line(), Ok(Some(b"{\"a\":1}".to_vec())));
        assert_eq!(frames.next_line(), Ok(Some(Vec::new())));
        assert_eq!(frames.next_line(), Ok(None));
        frames.push(&vec![b'x'; MAX_LINE - 2]);
        frames.push(b"\n");
        assert_eq!(frames.next_line().map(|line| line.map(|l| l.len())), Ok(Some(MAX_LINE - 1)));
        frames.push(&vec![b'x'; MAX_LINE]);
        assert_eq!(frames.next_line(), Err(FrameError::TooLong));
    }
}
