//! Sending signals.
//!
//! Invariant: never sent to 0, -1 or init, whose meaning is not one process or group.

use std::io;

use nix::errno::Errno;
use nix::libc;

/// Sends `signal` to every member of a process group. The caller holds a
/// member that is not reaped yet, else the number may be somebody else's.
/// False: the group is empty.
///
/// # Errors
/// If none of the members may be signalled.
pub fn signal_group(pgid: i32, signal: i32) -> io::Result<bool> {
    send(pgid, -1, signal)
}

/// Sends `signal` to one process, a child that is not reaped yet. False: there is none.
///
/// # Errors
/// If it may not be signalled.
pub fn signal_pid(pid: i32, signal: i32) -> io::Result<bool> {
    send(pid, 1, signal)
}

/// To a process, or with the factor -1 to a group.
fn send(number: i32, factor: i32, signal: i32) -> io::Result<bool> {
    if number <= 1 {
        return Err(io::Error::other("no process or group of our own has this number"));
    }
    // SAFETY: `kill` takes two integers and touches no memory.
    match Errno::result(unsafe { libc::kill(number * factor, signal) }) {
        Ok(_) => Ok(true),
        Err(Errno::ESRCH) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
