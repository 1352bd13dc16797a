//! A lock on an open file.
//!
//! Invariant: giving it up never fails loudly, as that of the `nix` crate does (it panics): a lock that
//! the system will not take back ends with the descriptor.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;

/// How to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until it is free.
    Long,
    /// Not at all: `EWOULDBLOCK` if somebody has it.
    Never,
    /// Not at all, and others may have it at the same time in the same way.
    NeverShared,
}

/// A file that this process has locked, until this is dropped.
#[derive(Debug)]
pub(super) struct Flock(File);

impl Flock {
    /// Takes the lock, or gives the file back with the reason.
    pub(super) fn lock(file: File, wait: Wait) -> Result<Self, (File, Errno)> {
        let operation = match wait {
            Wait::Long => libc::LOCK_EX,
            Wait::Never => libc::LOCK_EX | libc::LOCK_NB,
            Wait::NeverShared => libc::LOCK_SH | libc::LOCK_NB,
        };
        loop {
            // SAFETY: `flock` takes two integers; the descriptor is the file's.
            match Errno::result(unsafe { libc::flock(file.as_raw_fd(), operation) }) {
                Ok(_) => return Ok(Self(file)),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err((file, errno)),
            }
        }
    }
}

impl Drop for Flock {
    fn drop(&mut self) {
        // Closing alone would do, were there no child on its way to `exec` with a copy of the descriptor.
        // SAFETY: as above.
        let _released = unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl Deref for Flock {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Flock {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

/// Names the error alone.
pub(super) fn reason((_, errno): (File, Errno)) -> io::Error {
    errno.into()
}
