//! How a run ended, and in which words.
//!
//! Invariant: every outcome but `ok` comes with a cause.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{ExitStatus, Outcome, Wall, duration_text, micros};

use super::signal::signal_name;

/// Why a run is being ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// Somebody asked for it.
    Asked,
    /// Somebody asked for a restart.
    Restart,
    /// The client of a foreground run is gone.
    ClientGone,
    /// A reload took the harness away.
    Removed,
    /// The daemon goes away.
    Shutdown,
    /// It ran longer than this.
    Timeout(Duration),
    /// The firing of this slot takes its place.
    Replaced(#[serde(with = "micros")] Wall),
}

impl StopReason {
    /// The outcome of a run that is ended for it.
    #[must_use]
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Asked | Self::Restart | Self::ClientGone | Self::Removed | Self::Shutdown => {
                Outcome::Stopped
            }
            Self::Timeout(_) => Outcome::Timeout,
            Self::Replaced(_) => Outcome::Replaced,
        }
    }

    /// The cause in its record.
    #[must_use]
    pub fn cause(self) -> String {
        match self {
            Self::Asked => "asked to stop".to_owned(),
            Self::Restart => "asked to restart".to_owned(),
            Self::ClientGone => "the client that ran it went away".to_owned(),
            Self::Removed => "removed from the configuration".to_owned(),
            Self::Shutdown => "the daemon was shut down".to_owned(),
            Self::Timeout(bound) => format!("ran longer than its `timeout` of {}", duration_text(bound)),
            Self::Replaced(slot) => format!("replaced by the firing of {}", slot.rfc3339()),
        }
    }

    /// Whether a person (or the end of the daemon) wants the harness down, so
    /// that no firing starts it meanwhile.
    pub(super) const fn by_hand(self) -> bool {
        !matches!(self, Self::Timeout(_) | Self::Replaced(_))
    }
}

/// The outcome and cause of a run whose main process ended by itself.
pub(super) fn of_exit(status: ExitStatus) -> (Outcome, Option<String>) {
    match status {
        ExitStatus::Code(0) => (Outcome::Ok, None),
        ExitStatus::Code(code) => (Outcome::Failed, Some(format!("exit status {code}"))),
        ExitStatus::Signal(number) => (Outcome::Failed, Some(format!("killed by {}", signal_name(number)))),
    }
}
