//! What a service manager is told (CTL-1): systemd's notification protocol.
//!
//! Without `NOTIFY_SOCKET` every call does nothing and succeeds.

use std::io;
use std::time::Duration;

use nix::sys::stat::fstat;
use sd_notify::NotifyState;

/// The daemon serves.
///
/// # Errors
/// If the manager's socket cannot be written to.
pub fn ready(status: &str) -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)])
}

/// A reload begins; [`ready`] ends it.
///
/// # Errors
/// If the manager's socket cannot be written to.
pub fn reloading() -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Reloading, NotifyState::monotonic_usec_now()?])
}

/// The daemon is stopping everything.
///
/// # Errors
/// If the manager's socket cannot be written to.
pub fn stopping(status: &str) -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Stopping, NotifyState::Status(status)])
}

/// One line for `systemctl status`.
///
/// # Errors
/// If the manager's socket cannot be written to.
pub fn status(text: &str) -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Status(text)])
}

/// The daemon is alive.
///
/// # Errors
/// If the manager's socket cannot be written to.
pub fn alive() -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Watchdog])
}

/// Whether standard error is the journal: systemd says which file it connected the service to, and a child
/// or a redirection may have another one.
#[must_use]
pub fn stderr_is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    fstat(io::stderr()).is_ok_and(|found| stream == format!("{}:{}", found.st_dev, found.st_ino))
}

/// How often [`alive`] must be said: half of what the manager waits, none if it does not watch.
#[must_use]
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|whole| whole / 2)
}
