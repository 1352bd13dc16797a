//! Sending signals, and their names.
//!
//! Invariant: never sent to 0, -1 or init, whose meaning is not one process or group.

use std::io;

use nix::errno::Errno;
use nix::libc;

/// The signals that have names, by number.
const NAMES: &[(i32, &str)] = &[
    (libc::SIGHUP, "HUP"),
    (libc::SIGINT, "INT"),
    (libc::SIGQUIT, "QUIT"),
    (libc::SIGILL, "ILL"),
    (libc::SIGTRAP, "TRAP"),
    (libc::SIGABRT, "ABRT"),
    (libc::SIGBUS, "BUS"),
    (libc::SIGFPE, "FPE"),
    (libc::SIGKILL, "KILL"),
    (libc::SIGUSR1, "USR1"),
    (libc::SIGSEGV, "SEGV"),
    (libc::SIGUSR2, "USR2"),
    (libc::SIGPIPE, "PIPE"),
    (libc::SIGALRM, "ALRM"),
    (libc::SIGTERM, "TERM"),
    (libc::SIGCHLD, "CHLD"),
    (libc::SIGCONT, "CONT"),
    (libc::SIGSTOP, "STOP"),
    (libc::SIGTSTP, "TSTP"),
    (libc::SIGTTIN, "TTIN"),
    (libc::SIGTTOU, "TTOU"),
    (libc::SIGURG, "URG"),
    (libc::SIGXCPU, "XCPU"),
    (libc::SIGXFSZ, "XFSZ"),
    (libc::SIGVTALRM, "VTALRM"),
    (libc::SIGPROF, "PROF"),
    (libc::SIGWINCH, "WINCH"),
    (libc::SIGIO, "IO"),
    (libc::SIGPWR, "PWR"),
    (libc::SIGSYS, "SYS"),
];

/// The name of a signal without `SIG`, like `TERM`; `RT` for a real-time one.
#[must_use]
pub fn signal_name(number: i32) -> &'static str {
    let known = NAMES.iter().find(|(one, _)| *one == number).map(|(_, name)| *name);
    known.unwrap_or(if (32..=64).contains(&number) { "RT" } else { "unknown" })
}

/// The number of `TERM`, `SIGTERM` or `term`.
#[must_use]
pub fn signal_number(name: &str) -> Option<i32> {
    let name = name.to_ascii_uppercase();
    let bare = name.strip_prefix("SIG").unwrap_or(&name);
    NAMES.iter().find(|(_, one)| *one == bare).map(|(number, _)| *number)
}

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
