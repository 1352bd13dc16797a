//! The process tree below the daemon, read from `/proc`.
//!
//! Invariant: a process is identified by its pid *and* its start time; a pid
//! alone may be somebody else's a moment later.

mod ending;
mod family;
mod proc;

pub use ending::{Remnant, end_lost_errands, end_runs, passing_owner};
pub use family::{Family, Kin, Reaped, Refused, Remains};
pub use proc::{ERRAND, Facts, children_of_self, descendants, facts, find_by_run_ids, tree_id_of};

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

/// Makes this process the one that adopts every orphan below it, so that it
/// can find and reap them (LIF-8).
///
/// # Errors
/// If the kernel knows no subreapers.
pub fn become_subreaper() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// Sends `signal` to exactly the process that `who` describes, which may be
/// reaped by its own parent at any moment. False: it is gone.
///
/// The process is held by a descriptor before its start time is compared, and
/// signalled through it, so a recycled pid is never hit.
///
/// # Errors
/// If it may not be signalled.
pub fn signal_exactly(who: &Facts, signal: i32) -> io::Result<bool> {
    let held = match hold(who.pid) {
        Ok(held) => Some(held),
        Err(Errno::ESRCH) => return Ok(false),
        // A kernel or a sandbox without process descriptors: compare, then signal at once.
        Err(_) => None,
    };
    if facts(who.pid).is_none_or(|now| now.start_time != who.start_time) {
        return Ok(false);
    }
    let Some(held) = held else { return super::process::signal_pid(who.pid, signal) };
    // SAFETY: the descriptor is open, the information pointer may be null, and no memory is touched.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            held.as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    match Errno::result(sent) {
        Ok(_) => Ok(true),
        Err(Errno::ESRCH) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn hold(pid: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: `pidfd_open` takes two integers and returns a new descriptor or an error.
    let descriptor = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let descriptor = i32::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just opened it for us; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
