//! The names of signals, as records show them.

use std::borrow::Cow;

/// Linux's numbers on every architecture that the daemon is built for, from 1.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The name of signal `number`, like `SIGTERM`; one without a name is `SIG` with its number.
#[must_use]
pub fn signal_name(number: i32) -> Cow<'static, str> {
    let named = usize::try_from(number).ok().and_then(|n| NAMES.get(n.wrapping_sub(1)));
    named.map_or_else(|| Cow::Owned(format!("SIG{number}")), |name| Cow::Borrowed(*name))
}
