//! Writing a run's log.
//!
//! Invariant: [`LogWriter::append`] never fails and waits for nothing but the
//! disk. What cannot be written is counted, and the log itself says so once
//! it can be written again (RUN-3).

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::older_segment;
use crate::host::cause;

/// The smallest segment: bounds below twice this are treated as this.
const SMALLEST_SEGMENT: u64 = 4096;

/// The writing end of one run's log. It can be written down and read back (CTL-11): then the file is
/// opened again by its path at the next call, at its end, with the counts as they were.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogWriter {
    path: Utf8PathBuf,
    segment_bound: u64,
    #[serde(skip)]
    file: Option<File>,
    size: u64,
    older_size: u64,
    #[serde(default)]
    in_line: bool,
    #[serde(default)]
    discarded: u64,
    #[serde(default)]
    dropped: u64,
    #[serde(default)]
    unsaid: u64,
    #[serde(default)]
    problem: Option<String>,
}

impl LogWriter {
    /// A log at `path` of at most `bound` bytes; its directory is made if need
    /// be. A log that is there already is continued. This cannot fail: see [`Self::problem`].
    #[must_use]
    pub fn open(path: &Utf8Path, bound: u64) -> Self {
        let mut writer = Self {
            path: path.to_owned(),
            segment_bound: (bound / 2).max(SMALLEST_SEGMENT),
            file: None,
            size: 0,
            older_size: older_segment(path).metadata().map_or(0, |found| found.len()),
            in_line: false,
            discarded: 0,
            dropped: 0,
            unsaid: 0,
            problem: None,
        };
        if let Err(error) = writer.reopen() {
            writer.problem = Some(cause(&error));
        }
        writer
    }

    /// The same without its file, to be written down for a successor (CTL-11).
    #[must_use]
    pub fn at_rest(&self) -> Self {
        Self { file: None, path: self.path.clone(), problem: self.problem.clone(), ..*self }
    }

    /// Where the log is.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// How many bytes could not be written.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many bytes were written and have made room for later ones.
    #[must_use]
    pub const fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Why the log cannot be written at present.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Appends bytes as they are.
    pub fn append(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.write_piece(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) => {
                    self.fail(&error);
                    let lost = rest.len() as u64;
                    self.dropped += lost;
                    self.unsaid += lost;
                    return;
                }
            }
        }
    }

    /// Appends a line of ours, between what the run prints.
    pub fn note(&mut self, text: &str) {
        let start = if self.in_line { "\n" } else { "" };
        self.append(format!("{start}[harnessd: {text}]\n").as_bytes());
    }

    /// The run has ended: says what was not written, if that can be said now.
    pub fn finish(&mut self) {
        if self.unsaid > 0
            && let Err(error) = self.ready(0)
        {
            self.fail(&error);
        }
    }

    /// The file is opened again at the next call: one that failed once may be stale.
    fn fail(&mut self, error: &io::Error) {
        self.file = None;
        self.problem = Some(cause(error));
    }

    fn write_piece(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.ready(bytes.len() as u64)?;
        let piece = &bytes[..fitting(bytes, room)];
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let count = loop {
            match file.write(piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.size += count as u64;
        self.in_line = piece[count - 1] != b'\n';
        Ok(count)
    }

    /// Opens, says what was lost and rotates as needed; the room in the segment after that.
    fn ready(&mut self, wanted: u64) -> io::Result<u64> {
        if self.file.is_none() {
            self.reopen()?;
        }
        self.say_what_was_lost()?;
        self.problem = None;
        if self.size >= self.segment_bound
            || (self.size > 0 && self.size + wanted > self.segment_bound && !self.in_line)
        {
            self.rotate()?;
        }
        Ok(self.segment_bound.saturating_sub(self.size))
    }

    fn reopen(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = match (options.open(&self.path), self.path.parent()) {
            (Err(error), Some(directory)) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
                options.open(&self.path)?
            }
            (opened, _) => opened?,
        };
        self.size = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, older_segment(&self.path))?;
        self.discarded += self.older_size;
        self.older_size = self.size;
        self.file = None;
        self.reopen()
    }

    /// The notice is written whole or not at all.
    fn say_what_was_lost(&mut self) -> io::Result<()> {
        if self.unsaid == 0 {
            return Ok(());
        }
        let reason = self.problem.as_deref().unwrap_or("unknown cause");
        let start = if self.in_line { "\n" } else { "" };
        let notice = format!("{start}[harnessd: {} bytes not written: {reason}]\n", self.unsaid);
        if self.size > 0 && self.size + notice.len() as u64 > self.segment_bound {
            self.rotate()?;
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if let Err(error) = file.write_all(notice.as_bytes()) {
            // If even the part of a line cannot be taken back, it stays; the count is said again later.
            let _ = file.set_len(self.size);
            return Err(error);
        }
        self.size += notice.len() as u64;
        self.in_line = false;
        self.unsaid = 0;
        Ok(())
    }
}

/// How much of `bytes` goes into `room`: all, else up to the last line break
/// that fits, else as much as fits.
fn fitting(bytes: &[u8], room: u64) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if bytes.len() <= room {
        return bytes.len();
    }
    bytes[..room].iter().rposition(|byte| *byte == b'\n').map_or(room, |at| at + 1)
}
