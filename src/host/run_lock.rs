//! One live run a harness across processes: the daemon and `harnessd once` both take it (RUN-4).
//!
//! All harnesses share one file; each has one byte of it, at a place that its name
//! decides, under a record lock. So the daemon needs one descriptor for any number of
//! harnesses. Invariant: the kernel's lock decides and ends with its holder.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::base::HarnessName;

/// Why the lock of a harness could not be had.
#[derive(Debug, Error)]
pub enum RunLockError {
    /// Another process runs the harness.
    #[error("it runs already, under process {pid}")]
    Held {
        /// Which process.
        pid: i32,
    },
    /// The kernel refused.
    #[error("its run cannot be locked: {0}")]
    Unusable(io::Error),
}

/// The locks that this process holds.
#[derive(Debug)]
pub struct RunLocks {
    file: File,
}

impl RunLocks {
    /// Opens the file of locks in a state directory.
    ///
    /// A process must open it once only: record locks are the process's, and closing any of its
    /// descriptors of the file gives them all up.
    ///
    /// # Errors
    /// If it cannot be made or opened.
    pub fn open(state: &Utf8Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let path = state.join("runs.lock");
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map(|file| Self { file })
    }

    /// The file of locks that this process has opened before it executed another program. Its locks
    /// stand, but not on kernels before 5.11: those that are needed are to be taken again.
    #[must_use]
    pub fn resume(descriptor: OwnedFd) -> Self {
        Self { file: File::from(descriptor) }
    }

    /// Takes the lock of a harness, without waiting.
    ///
    /// # Errors
    /// [`RunLockError::Held`] if another process has it.
    pub fn acquire(&mut self, harness: &HarnessName) -> Result<(), RunLockError> {
        let wanted = byte_of(harness, libc::F_WRLCK);
        match fcntl(&self.file, FcntlArg::F_SETLK(&wanted)) {
            Ok(_) => Ok(()),
            Err(Errno::EAGAIN | Errno::EACCES) => match self.holder(harness) {
                Some(pid) => Err(RunLockError::Held { pid }),
                // It was given up between the two questions: the next start has it.
                None => Err(RunLockError::Unusable(Errno::EAGAIN.into())),
            },
            Err(errno) => Err(RunLockError::Unusable(errno.into())),
        }
    }

    /// Gives the lock of a harness up.
    ///
    /// # Errors
    /// If the kernel refuses, which leaves the harness locked until this process ends.
    pub fn release(&mut self, harness: &HarnessName) -> io::Result<()> {
        fcntl(&self.file, FcntlArg::F_SETLK(&byte_of(harness, libc::F_UNLCK)))?;
        Ok(())
    }

    /// The other process that has the lock of a harness.
    #[must_use]
    pub fn holder(&self, harness: &HarnessName) -> Option<i32> {
        let mut found = byte_of(harness, libc::F_WRLCK);
        fcntl(&self.file, FcntlArg::F_GETLK(&mut found)).ok()?;
        (i32::from(found.l_type) != libc::F_UNLCK).then_some(found.l_pid)
    }
}

impl AsRawFd for RunLocks {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// The byte of a harness: 62 bits of its name's hash, so that no two share one.
fn byte_of(harness: &HarnessName, kind: i32) -> libc::flock {
    let hash = Sha256::digest(harness.as_str().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    let place = i64::from_be_bytes(first) & (i64::MAX >> 1);
    libc::flock {
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: place,
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::RunLocks;
    use crate::base::HarnessName;
    use camino::Utf8Path;

    /// RUN-4: this process is never in its own way (that of another is tried end to end, by `once`).
    #[test]
    fn own_locks_are_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let state = Utf8Path::from_path(directory.path()).unwrap();
        let (one, two) = (HarnessName::parse("one").unwrap(), HarnessName::parse("p/two").unwrap());
        let mut locks = RunLocks::open(state).unwrap();
        locks.acquire(&one).unwrap();
        locks.acquire(&one).unwrap();
        assert_eq!(locks.holder(&one), None, "our own is no obstacle");
        locks.release(&one).unwrap();
        locks.acquire(&two).unwrap();
        assert_eq!(locks.holder(&one), None);
    }
}
