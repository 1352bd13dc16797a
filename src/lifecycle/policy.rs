//! What the configuration says about a harness's life.
//!
//! Invariant: nothing here depends on what has happened; see `tally` for that.

use std::time::Duration;

use crate::base::{Outcome, words};

words! {
    /// When a harness is started again by itself (LIF-3).
    RestartPolicy as "restart policy" {
        /// Never.
        No = "no",
        /// A resident harness whatever the outcome, a one-shot as by `on-failure`.
        Always = "always",
        /// As `always`, but a stop by hand survives a restart of the daemon.
        UnlessStopped = "unless-stopped",
        /// After a failure.
        OnFailure = "on-failure",
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
