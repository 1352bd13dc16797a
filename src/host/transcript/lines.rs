//! One file of lines, read from a byte on.
//!
//! Invariants: memory is one block, or one line of at most [`LONGEST`] bytes; what is given is a whole line,
//! so a last one that is still being written stays where it is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use camino::{Utf8Path, Utf8PathBuf};
use memchr::memchr;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use sha2::{Digest, Sha256};

use super::Unreadable;
use super::places::FileStamp;
use crate::host::cause;
use crate::host::files::{ReadProblem, open_regular};

/// A longer line is passed over (TRJ-3).
pub const LONGEST: usize = 64 << 20;
/// So much is read at once.
const BLOCK: usize = 256 << 10;
/// So many bytes before a place tell whether the file still says there what it said.
const TAIL: u64 = 256;

/// What stands between two line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line, without its break.
    Whole(&'a [u8]),
    /// One of more than [`LONGEST`] bytes.
    TooLong,
}

/// An open file of lines.
#[derive(Debug)]
pub struct Lines {
    file: File,
    path: Utf8PathBuf,
    stamp: FileStamp,
    longest: usize,
    buffer: Vec<u8>,
    /// What of the buffer is not given yet: `start..filled`; before `searched` there is no line break.
    start: usize,
    searched: usize,
    filled: usize,
    /// Where `start` stands in the file.
    offset: u64,
}

impl Lines {
    /// Opens a file; none: there is no such file.
    ///
    /// # Errors
    /// If it is no regular file or cannot be opened.
    pub fn open(path: &Utf8Path) -> Result<Option<Self>, Unreadable> {
        let file = match open_regular(path) {
            Ok((file, _)) => file,
            Err(ReadProblem::Missing) => return Ok(None),
            Err(problem) => return Err(unreadable(path, &problem)),
        };
        leave_time_of_access(&file);
        let stamp = file.metadata().map_err(|error| failed(path, &error))?;
        Ok(Some(Self {
            file,
            path: path.to_owned(),
            stamp: FileStamp::of(&stamp),
            longest: LONGEST,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            filled: 0,
            offset: 0,
        }))
    }

    /// What the file was when it was opened.
    #[must_use]
    pub const fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// The next line is the one that begins at this byte.
    pub const fn seek(&mut self, offset: u64) {
        self.offset = offset;
        (self.start, self.searched, self.filled) = (0, 0, 0);
    }

    /// Where the next line begins.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// A digest of what stands before a byte; none: the file does not reach so far. A file that was written
    /// anew under the same inode has another one.
    #[must_use]
    pub fn tail(&self, offset: u64) -> Option<String> {
        let mut bytes = [0; TAIL as usize];
        let length = offset.min(TAIL);
        let bytes = bytes.get_mut(..usize::try_from(length).ok()?)?;
        self.file.read_exact_at(bytes, offset - length).ok()?;
        Some(Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The next whole line, with the byte that it begins at; none: there is none yet.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_line(&mut self) -> Result<Option<(u64, Line<'_>)>, Unreadable> {
        loop {
            let unsearched = self.buffer.get(self.searched..self.filled).unwrap_or_default();
            if let Some(length) = memchr(b'\n', unsearched) {
                let (start, end, at) = (self.start, self.searched + length, self.offset);
                self.offset += (end - start) as u64 + 1;
                self.start = end + 1;
                self.searched = self.start;
                let line = &self.buffer[start..end];
                return Ok(Some((
                    at,
                    if line.len() > self.longest { Line::TooLong } else { Line::Whole(line) },
                )));
            }
            self.searched = self.filled;
            if self.filled - self.start > self.longest {
                return self.pass_over();
            }
            self.make_room();
            let from = self.offset + self.filled as u64;
            match read_at(&self.file, &mut self.buffer[self.filled..], from) {
                Ok(0) => return Ok(None),
                Ok(count) => self.filled += count,
                Err(error) => return Err(failed(&self.path, &error)),
            }
        }
    }

    /// Moves what is not given yet to the front, so that something can be read behind it.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            (self.start, self.searched) = (0, self.filled);
        }
        if self.filled < BLOCK && self.buffer.len() > 4 * BLOCK {
            self.buffer.truncate(BLOCK);
            self.buffer.shrink_to_fit();
        }
        if self.filled == self.buffer.len() {
            // A short file needs no whole block.
            let left = usize::try_from(self.stamp.size.saturating_sub(self.offset)).unwrap_or(BLOCK);
            let size =
                if self.filled == 0 { left.saturating_add(1).clamp(512, BLOCK) } else { self.filled * 2 };
            self.buffer.resize(size.max(512), 0);
        }
    }

    /// Looks for the end of a line that is too long. Without an end it is not over yet, and stays.
    fn pass_over(&mut self) -> Result<Option<(u64, Line<'_>)>, Unreadable> {
        let (at, mut from) = (self.offset, self.offset + self.filled as u64 - self.start as u64);
        self.buffer = vec![0; BLOCK];
        self.seek(at);
        loop {
            let count =
                read_at(&self.file, &mut self.buffer, from).map_err(|error| failed(&self.path, &error))?;
            if count == 0 {
                return Ok(None);
            }
            if let Some(end) = memchr(b'\n', &self.buffer[..count]) {
                self.seek(from + end as u64 + 1);
                return Ok(Some((at, Line::TooLong)));
            }
            from += count as u64;
        }
    }
}

/// A document, whole, with what it was before it was read; none: there is none.
///
/// # Errors
/// If it is no regular file, longer than [`LONGEST`] or cannot be read.
pub fn document(path: &Utf8Path) -> Result<Option<Vec<u8>>, Unreadable> {
    let Some(lines) = Lines::open(path)? else { return Ok(None) };
    let limit = LONGEST as u64;
    if lines.stamp.size > limit {
        return Err(unreadable(path, &ReadProblem::TooLarge { size: lines.stamp.size, limit }));
    }
    let mut bytes = Vec::new();
    let read = io::Read::read_to_end(&mut io::Read::take(&lines.file, limit), &mut bytes);
    read.map_err(|error| failed(path, &error))?;
    Ok(Some(bytes))
}

/// Reading shall leave no trace, not even the time of access, where the system lets us choose.
fn leave_time_of_access(file: &File) {
    // Only the owner may; for others nothing is lost but that.
    let _ = fcntl(file, FcntlArg::F_SETFL(OFlag::O_NOATIME | OFlag::O_NONBLOCK));
}

fn read_at(file: &File, into: &mut [u8], from: u64) -> io::Result<usize> {
    loop {
        match file.read_at(into, from) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

pub(super) fn unreadable(path: &Utf8Path, problem: &ReadProblem) -> Unreadable {
    Unreadable { path: path.to_owned(), message: problem.to_string() }
}

pub(super) fn failed(path: &Utf8Path, error: &io::Error) -> Unreadable {
    unreadable(path, &ReadProblem::Unreadable(cause(error)))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use camino::{Utf8Path, Utf8PathBuf};

    use super::{BLOCK, Line, Lines, document};

    fn place() -> (tempfile::TempDir, Utf8PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("lines");
        (dir, path)
    }

    fn open(path: &Utf8Path, longest: usize) -> Lines {
        let mut lines = Lines::open(path).unwrap().unwrap();
        lines.longest = longest;
        lines
    }

    fn rest(lines: &mut Lines) -> Vec<(u64, Option<String>)> {
        let mut all = Vec::new();
        while let Some((at, line)) = lines.next_line().unwrap() {
            all.push(match line {
                Line::Whole(line) => (at, Some(String::from_utf8(line.to_vec()).unwrap())),
                Line::TooLong => (at, None),
            });
        }
        all
    }

    /// TRJ-3: a torn last line is not consumed until it is whole.
    #[test]
    fn a_torn_last_line_stays_until_it_is_whole() {
        let (_dir, path) = place();
        fs::write(&path, "one\n\ntwo").unwrap();
        let mut lines = open(&path, 100);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(rest(&mut lines), [(0, text("one")), (4, text(""))]);
        assert_eq!(lines.offset(), 5);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b" more\nx").unwrap();
        assert_eq!(rest(&mut lines), [(5, text("two more"))]);
        assert_eq!(lines.offset(), 14);
        let mut again = open(&path, 100);
        again.seek(5);
        assert_eq!(rest(&mut again), [(5, text("two more"))]);
    }

    /// TRJ-3: a line that is too long is passed over, in memory that does not grow with it.
    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let (_dir, path) = place();
        let long = "x".repeat(5 * BLOCK);
        fs::write(&path, format!("one\n{long}\ntwo\n{long}")).unwrap();
        let mut lines = open(&path, 3);
        let two = 5 + long.len() as u64;
        assert_eq!(rest(&mut lines), [(0, Some("one".to_owned())), (4, None), (two, Some("two".to_owned()))]);
        assert_eq!(lines.offset(), two + 4);
        assert!(lines.buffer.len() <= BLOCK);
        // One byte more than is allowed, within a block.
        fs::write(&path, "four\nfive5\nsix\n").unwrap();
        assert_eq!(
            rest(&mut open(&path, 4)),
            [(0, Some("four".to_owned())), (5, None), (11, Some("six".to_owned()))]
        );
    }

    #[test]
    fn lines_of_any_length_come_whole_across_blocks() {
        let (_dir, path) = place();
        let lengths = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 7, 3 * BLOCK + 5, 511, 512, 513];
        let text: String = lengths.iter().map(|length| "y".repeat(*length) + "\n").collect();
        fs::write(&path, text).unwrap();
        let found: Vec<usize> =
            rest(&mut open(&path, 4 * BLOCK)).into_iter().map(|(_, line)| line.unwrap().len()).collect();
        assert_eq!(found, lengths);
    }

    /// USE-2: a file that was written anew under the same inode and has grown since is told from one that
    /// was only appended to.
    #[test]
    fn what_stands_before_a_place_is_recognised() {
        let (_dir, path) = place();
        fs::write(&path, "one\ntwo\n").unwrap();
        let before = open(&path, 100).tail(8);
        assert!(before.is_some());
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"three\n").unwrap();
        assert_eq!(open(&path, 100).tail(8), before);
        fs::write(&path, "eno\nowt\nthree\n").unwrap();
        assert_ne!(open(&path, 100).tail(8), before);
        assert_eq!(open(&path, 100).tail(80), None);
    }

    /// TRJ-1: nothing waits for a writer, and what is no file is said so.
    #[test]
    fn only_a_regular_file_is_read() {
        let (_dir, path) = place();
        assert!(Lines::open(&path).unwrap().is_none());
        assert_eq!(document(&path).unwrap(), None);
        nix::unistd::mkfifo(path.as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(
            Lines::open(&path).unwrap_err().to_string(),
            format!("{path}: it is a FIFO, not a regular file")
        );
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(
            document(&path).unwrap_err().to_string(),
            format!("{path}: it is a directory, not a regular file")
        );
    }
}
