//! Reading what a child prints, and writing to its terminal.
//!
//! Invariant: neither ever blocks.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{read, write};

/// What a read of a child's output gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// So many bytes.
    Bytes(usize),
    /// Nothing at present.
    Nothing,
    /// Nobody holds the other end any more.
    Ended,
}

/// Reads what there is. A terminal whose last holder has gone gives an error
/// of its own (EIO), which is an end like a pipe's.
///
/// # Errors
/// Whatever else the system says.
pub fn read_output(output: impl AsFd, buffer: &mut [u8]) -> io::Result<Output> {
    loop {
        match read(&output, buffer) {
            Ok(0) | Err(Errno::EIO) => return Ok(Output::Ended),
            Ok(count) => return Ok(Output::Bytes(count)),
            Err(Errno::EAGAIN) => return Ok(Output::Nothing),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Writes as much as fits, and says how much that was: to a child that does
/// not read, nothing fits after a while.
///
/// # Errors
/// What the system says, if it is not that nothing fits.
pub fn write_some(input: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match write(&input, &bytes[done..]) {
            Ok(count) => done += count,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(done)
}

/// Reads and writes of `descriptor` no longer wait.
pub(in crate::host) fn make_nonblocking(descriptor: impl AsFd) -> nix::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(&descriptor, FcntlArg::F_GETFL)?);
    fcntl(&descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
