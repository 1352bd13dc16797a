//! What the configuration says about a harness's life.
//!
//! Invariant: nothing here depends on what has happened; see `tally` for that.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::base::Outcome;

/// When a harness is started again by itself (LIF-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// Never.
    No,
    /// A resident harness whatever the outcome, a one-shot unless it was `ok`.
    Always,
    /// As `always`, but a stop by hand survives a restart of the daemon.
    UnlessStopped,
    /// After a failure.
    OnFailure,
}

/// A text that is no restart policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no restart policy: write `no`, `always`, `unless-stopped` or `on-failure`")]
pub struct UnknownPolicy(String);

impl RestartPolicy {
    /// Every policy, in the order of declaration.
    pub const ALL: &'static [Self] = &[Self::No, Self::Always, Self::UnlessStopped, Self::OnFailure];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Always => "always",
            Self::UnlessStopped => "unless-stopped",
            Self::OnFailure => "on-failure",
        }
    }
}

impl fmt::Display for RestartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RestartPolicy {
    type Err = UnknownPolicy;
    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let found = Self::ALL.iter().find(|policy| policy.as_str() == text);
        found.copied().ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// Everything of a harness that its machine consults, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Whether it is meant to end.
    pub oneshot: bool,
    /// Whether a schedule starts it.
    pub scheduled: bool,
    /// When it is started again.
    pub restart: RestartPolicy,
    /// The first delay of the backoff; 0: none at all.
    pub restart_delay: Duration,
    /// The delay grows no further than this (a longer `restart_delay` stands).
    pub backoff_max: Duration,
    /// This many ends inside the window are a crash loop; 0: never one.
    pub crash_loop_exits: u32,
    /// The window; a run at least this long ends a crash loop.
    pub crash_loop_window: Duration,
    /// After this many consecutive failed attempts it is given up; 0: never.
    pub max_attempts: u32,
    /// A run is stopped after this.
    pub timeout: Option<Duration>,
    /// A run that has written nothing at all by then is stopped.
    pub first_output_timeout: Option<Duration>,
    /// A run that writes nothing for this long is stopped.
    pub idle_timeout: Option<Duration>,
    /// A run whose agent has stated its result is stopped after this.
    pub linger_timeout: Duration,
    /// A check follows a run that ended well, and may take this long.
    pub check: Option<Duration>,
    /// Grace between the stop signal and KILL.
    pub stop_timeout: Duration,
}

impl Policy {
    /// Whether a run that ended so is followed by another one.
    #[must_use]
    pub const fn again(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Stopped | Outcome::Replaced | Outcome::Lost | Outcome::Missed => false,
            // Its start at boot met a run of another process: that start is still due, whatever the policy.
            Outcome::Skipped => !self.oneshot,
            Outcome::Ok | Outcome::MaxTurns | Outcome::Budget => {
                !self.oneshot && matches!(self.restart, RestartPolicy::Always | RestartPolicy::UnlessStopped)
            }
            // Once somebody may have logged in; what is scheduled has its next slot.
            Outcome::AuthRequired => !self.scheduled && !matches!(self.restart, RestartPolicy::No),
            Outcome::Failed
            | Outcome::RateLimited
            | Outcome::Overloaded
            | Outcome::CheckFailed
            | Outcome::Timeout
            | Outcome::NoOutput
            | Outcome::SpawnFailed => !matches!(self.restart, RestartPolicy::No),
        }
    }

    /// The delay after the `quick`-th consecutive run that was shorter than the
    /// window, before jitter: the first (and one after a long run, 0) waits
    /// `restart_delay`, each further one twice as long, up to the cap.
    #[must_use]
    pub fn delay(&self, quick: u32) -> Duration {
        let cap = self.backoff_max.max(self.restart_delay);
        doubled(self.restart_delay, quick.saturating_sub(1), cap)
    }
}

/// `first`, so many times doubled, up to the cap.
pub(super) fn doubled(first: Duration, doublings: u32, cap: Duration) -> Duration {
    first.saturating_mul(1 << doublings.min(31)).min(cap)
}
