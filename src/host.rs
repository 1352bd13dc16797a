//! Layer 3: every system call of the product.
//!
//! Clocks, children and their trees, terminals, logs, locks, the control
//! socket, files, signals and timers. Invariant: nothing here decides
//! anything; it is told what to do and says what came of it. The only layer
//! with `unsafe`, each use with its argument.

pub mod cgroup;
pub mod clock;
pub mod console;
pub mod disk;
pub mod entropy;
pub mod files;
mod flock;
pub mod git;
pub mod handover;
pub mod limits;
pub mod lock;
pub mod logs;
pub mod memory;
pub mod notify;
pub mod process;
pub mod run_lock;
pub mod service;
pub mod signals;
pub mod socket;
pub mod sqlite;
pub mod terminal;
pub mod timer;
pub mod transcript;
pub mod tree;
pub mod watch;
pub mod zone;

use std::io;

use nix::errno::Errno;

/// An error of the system as a fragment that fits behind a colon:
/// `permission denied`, not `Permission denied (os error 13)`.
#[must_use]
pub fn cause(error: &io::Error) -> String {
    let text = match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    };
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_ascii_lowercase() => {
            first.to_ascii_lowercase().to_string() + letters.as_str()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::cause;
    use std::io;

    #[test]
    fn a_cause_is_a_fragment_without_a_number() {
        assert_eq!(cause(&io::Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(cause(&io::Error::from_raw_os_error(28)), "no space left on device");
        assert_eq!(cause(&io::Error::from_raw_os_error(5)), "I/O error");
        assert_eq!(cause(&io::Error::other("Odd thing")), "odd thing");
    }
}
