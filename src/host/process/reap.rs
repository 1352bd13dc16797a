//! Reaping: taking the status of every child that has ended.
//!
//! Invariant: called from the loop only. A `waitpid(-1)` elsewhere would steal statuses.

use nix::errno::Errno;
use nix::libc;

use crate::base::ExitStatus;

/// Every child that has ended, with its status, until none is left: one
/// SIGCHLD may stand for a thousand deaths. Adopted orphans are among them.
///
/// The pids are free for reuse from now on; none of them may be signalled.
#[must_use]
pub fn reap() -> Vec<(i32, ExitStatus)> {
    let mut ended = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: `waitpid` writes one integer to the place that it is given. nix's wrapper is not
        // used because it fails on a death by a real-time signal, after the status is gone.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match pid {
            1.. => ended.push((pid, exit_status(status))),
            0 => return ended,
            _ if Errno::last() == Errno::EINTR => {}
            // ECHILD: there is no child at all.
            _ => return ended,
        }
    }
}

fn exit_status(status: libc::c_int) -> ExitStatus {
    if libc::WIFSIGNALED(status) {
        ExitStatus::Signal(libc::WTERMSIG(status))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    }
}
