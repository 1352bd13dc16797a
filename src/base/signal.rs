//! The names of signals and their numbers.
//!
//! Invariant: the numbers are those of Linux on every architecture that Rust's
//! standard library supports there, MIPS and SPARC apart; a pure table, because
//! configuration must not depend on system headers. `host` has a test beside
//! the real ones.

const SIGNALS: [(&str, i32); 30] = [
    ("TERM", 15),
    ("INT", 2),
    ("HUP", 1),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("SEGV", 11),
    ("PIPE", 13),
    ("ALRM", 14),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// The names, the usual ones first. `STOP` is missing: it ends nothing.
pub fn signal_names() -> impl Iterator<Item = &'static str> + Clone {
    SIGNALS.iter().map(|(name, _)| *name)
}

/// The number of `TERM` or `SIGTERM`.
#[must_use]
pub fn signal_number(text: &str) -> Option<i32> {
    let bare = text.strip_prefix("SIG").unwrap_or(text);
    SIGNALS.iter().find(|(name, _)| *name == bare).map(|(_, number)| *number)
}

/// The name of a signal, `TERM` for 15.
#[must_use]
pub fn signal_name(number: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(_, one)| *one == number).map(|(name, _)| *name)
}
