//! Where a harness stands; each phase owns exactly the data that is valid in it.
//!
//! Phases cross a re-execution as JSON (CTL-11): a field that is added to one needs a
//! `#[serde(default)]`, so that what another version wrote can still be read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{ExitStatus, Mono, Outcome, RunId, Trigger, Wall, micros};

use super::verdict::StopReason;

/// A start that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Why.
    pub trigger: Trigger,
    /// The slot of the schedule, for a firing.
    #[serde(default, with = "micros::option")]
    pub planned_at: Option<Wall>,
}

/// What follows the run that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum After {
    /// The restart policy decides.
    Policy,
    /// Nothing: a foreground run, or retries that a firing has cut off.
    Stay,
    /// Nothing: it was stopped by hand.
    Down,
    /// This start, at once.
    Start(Request),
}

/// Who ended a run whose process is still, or whose leftovers are, alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ended {
    /// Its main process ended by itself; leftovers remain.
    Itself(ExitStatus),
    /// It was told to; the status is known once its main process is gone.
    Told(StopReason, Option<ExitStatus>),
}

/// The grace before KILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Grace {
    /// KILL is due then.
    Until(Mono),
    /// KILL was sent; it is sent again then, should anything have escaped it.
    Over(Mono),
}

/// Where a harness stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Nothing runs, nothing is due.
    Stopped,
    /// Given up, or it could not be started.
    Failed,
    /// Nothing runs; it is started again at `until`.
    Backoff {
        until: Mono,
        #[serde(with = "micros")]
        until_wall: Wall,
        outcome: Outcome,
    },
    /// A launch was asked of the shell. `wanted`: the harness is to run even if this launch meets
    /// a run of another process; by which outcome the policy judges that.
    Starting { run: RunId, after: After, wanted: Option<Outcome> },
    /// A launch was asked of the shell and taken back; it may come too late.
    Cancelling { run: RunId, reason: StopReason, at_once: bool, after: After },
    /// The process runs.
    Running {
        run: RunId,
        since: Mono,
        timeout: Option<(Mono, Duration)>,
        settles: Option<Mono>,
        after: After,
    },
    /// The run is over, but something of it may be alive.
    Ending { run: RunId, ended: Ended, lasted: Duration, grace: Grace, after: After },
}

/// Where a harness stands, as far as those need to know who give it orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing runs, nothing is due.
    Idle,
    /// It waits to be started again.
    Waiting,
    /// The run is being launched.
    Starting(RunId),
    /// The run's process runs.
    Running(RunId),
    /// The run is being ended.
    Ending {
        /// Which.
        run: RunId,
        /// Whether a person (or a reload, or the end of the daemon) wants that.
        by_hand: bool,
        /// Whether a start follows that was asked for.
        followed: bool,
    },
}
