//! Descriptors as sources of the loop.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use calloop::generic::Generic;
use calloop::{InsertError, Interest, Mode};

use super::error::DaemonError;

/// A source that reports when `what` can be read. The loop has a descriptor of its own, so that
/// the daemon's state can own (and change) `what` itself.
pub(super) fn readable(what: &impl AsFd) -> io::Result<Generic<OwnedFd>> {
    let own = what.as_fd().try_clone_to_owned()?;
    Ok(Generic::new(own, Interest::READ, Mode::Level))
}

/// Why the loop did not take a source.
pub(super) fn not_taken<T>(cause: InsertError<T>) -> io::Error {
    io::Error::from(calloop::Error::from(cause))
}

/// The loop did not take a source that the daemon cannot do without.
pub(super) fn loop_error<T>(cause: InsertError<T>) -> DaemonError {
    DaemonError::system("event loop")(not_taken(cause))
}
