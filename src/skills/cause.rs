//! What the system said, compared.

use std::io;

use nix::errno::Errno;

/// Whether `error` is the system's `number`.
pub(super) fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number as i32)
}
