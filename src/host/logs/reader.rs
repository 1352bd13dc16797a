//! Reading a run's log while it is written.
//!
//! Invariant: the segment being read is held open, so it can be read to its
//! end even when it was renamed or removed; only then is its successor opened.
//! A reader that falls behind by more than two segments goes on with the
//! oldest one that is left.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::older_segment;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the oldest byte that is kept.
    Oldest,
    /// With the last so many lines; text after the last line break is a line too.
    LastLines(usize),
    /// With what is written from now on.
    End,
}

/// The reading end of one run's log.
#[derive(Debug)]
pub struct LogReader {
    path: Utf8PathBuf,
    segment: Segment,
    changes: Option<Inotify>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    identity: (u64, u64),
}

impl Segment {
    fn open(path: &Utf8Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => {
                let found = file.metadata()?;
                Ok(Some(Self { file, identity: (found.dev(), found.ino()) }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl LogReader {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// If it is not there, or may not be read.
    pub fn open(path: &Utf8Path, start: Start) -> io::Result<Self> {
        // The newer segment first: if it is rotated in between, it is met again as the older one.
        let newer = Segment::open(path)?;
        let older = Segment::open(&older_segment(path))?;
        let (mut segment, next) = match (older, newer) {
            (Some(older), Some(newer)) if older.identity != newer.identity => (older, Some(newer)),
            (Some(one), _) | (None, Some(one)) => (one, None),
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        match start {
            Start::Oldest => {}
            Start::End => {
                segment = next.unwrap_or(segment);
                segment.file.seek(SeekFrom::End(0))?;
            }
            Start::LastLines(count) => segment = seek_last_lines(segment, next, count)?,
        }
        Ok(Self { path: path.to_owned(), segment, changes: None })
    }

    /// Appends what can be read now to `into`, at most one piece, and returns
    /// its length; zero: nothing new.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            let count = self.read_piece(into)?;
            if count > 0 || !self.was_rotated()? {
                return Ok(count);
            }
            // Everything that was written before the rotation can be read now, and is read first.
            let count = self.read_piece(into)?;
            if count > 0 {
                return Ok(count);
            }
            match self.successor()? {
                Some(next) => self.segment = next,
                None => return Ok(0),
            }
        }
    }

    /// Everything up to the present end.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while self.read(&mut all)? > 0 {}
        Ok(all)
    }

    /// Waits until the log may have changed, at most `timeout`. Whether it may
    /// have: what was written before the first call counts too.
    ///
    /// # Errors
    /// If the system has no watch left.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let Some(changes) = &self.changes else {
            let changes = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
            let seen = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
            let directory = self.path.parent().filter(|one| !one.as_str().is_empty());
            changes.add_watch(directory.unwrap_or(Utf8Path::new(".")).as_std_path(), seen)?;
            self.changes = Some(changes);
            return Ok(true);
        };
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        let mut polled = [PollFd::new(changes.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, timeout) {
            Ok(0) | Err(Errno::EINTR) => return Ok(false),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        match changes.read_events() {
            Ok(_) | Err(Errno::EAGAIN) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    fn read_piece(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        (&self.segment.file).take(PIECE as u64).read_to_end(into)
    }

    /// Whether another file, or for a moment none, stands where our segment was.
    fn was_rotated(&self) -> io::Result<bool> {
        match self.path.metadata() {
            Ok(found) => Ok((found.dev(), found.ino()) != self.segment.identity),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The segment after a finished one. The newer is opened before the older
    /// is looked at: if ours still is the older one then, nothing lies between.
    fn successor(&self) -> io::Result<Option<Segment>> {
        let newer = Segment::open(&self.path)?;
        match Segment::open(&older_segment(&self.path))? {
            Some(older) if older.identity != self.segment.identity => Ok(Some(older)),
            _ => Ok(newer.filter(|one| one.identity != self.segment.identity)),
        }
    }
}

/// Goes to the start of the last `count` lines of one or two segments.
fn seek_last_lines(first: Segment, second: Option<Segment>, count: usize) -> io::Result<Segment> {
    let mut wanted = LinesFromEnd { left: count, at_end: true };
    if let Some(mut second) = second
        && let Some(offset) = wanted.find(&second.file)?
    {
        second.file.seek(SeekFrom::Start(offset))?;
        return Ok(second);
    }
    // Older lines are wanted too; the newer segment is read after them.
    let mut first = first;
    let offset = wanted.find(&first.file)?.unwrap_or(0);
    first.file.seek(SeekFrom::Start(offset))?;
    Ok(first)
}

/// Counts line breaks backwards, over several files.
struct LinesFromEnd {
    left: usize,
    at_end: bool,
}

impl LinesFromEnd {
    /// The offset where the wanted lines begin, if it lies in this file.
    fn find(&mut self, file: &File) -> io::Result<Option<u64>> {
        let mut end = file.metadata()?.len();
        if self.left == 0 {
            return Ok(Some(end));
        }
        let mut block = vec![0; PIECE];
        while end > 0 {
            let start = end.saturating_sub(PIECE as u64);
            let length = usize::try_from(end - start).unwrap_or(PIECE);
            file.read_exact_at(&mut block[..length], start)?;
            for at in (0..length).rev() {
                let ends_the_log = std::mem::replace(&mut self.at_end, false);
                if block[at] != b'\n' || ends_the_log {
                    continue;
                }
                self.left -= 1;
                if self.left == 0 {
                    return Ok(Some(start + at as u64 + 1));
                }
            }
            end = start;
        }
        Ok(None)
    }
}
