//! Where a harness stands; each phase owns exactly the data that is valid in it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::verdict::StopReason;
use crate::base::{ExitStatus, Mono, Outcome, Report, RunId, Trigger, Wall, micros};

/// A start that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Why.
    pub trigger: Trigger,
    /// The slot of the schedule, for a firing.
    #[serde(default, with = "micros::option")]
    pub planned_at: Option<Wall>,
}

/// A slot that waits for a run to end, claimed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Awaited {
    #[serde(with = "micros")]
    pub(super) slot: Wall,
    /// The run that it will be.
    pub(super) run: RunId,
}

/// What follows the run that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// A bound of a run, and what ends the run when it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bound {
    pub(super) at: Mono,
    pub(super) reason: StopReason,
}

/// What is expected of a process that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Watch {
    /// That it writes something, by then.
    Output(Option<Bound>),
    /// That it ends, by then: its agent has stated its result, the last time this.
    End(Report, Option<Bound>),
}

/// Which process of a run is being ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    /// The agent; what it had stated when that was decided, and how long it ran.
    Agent { stated: Option<Report>, lasted: Duration },
    /// The check, after this agent.
    Check(Agent),
}

/// An agent that has ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Agent {
    pub(super) status: Option<ExitStatus>,
    pub(super) lingered: bool,
    pub(super) lasted: Duration,
}

/// Who ended a process that is still, or whose leftovers are, alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ended {
    /// It ended by itself; leftovers remain.
    Itself(ExitStatus),
    /// It was told to; the status is known once it is gone.
    Told(StopReason, Option<ExitStatus>),
}

/// The grace before KILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Grace {
    /// KILL is due then.
    Until(Mono),
    /// KILL was sent; it is sent again then, should anything have escaped it.
    Over(Mono),
}

/// Where a harness stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Nothing runs, nothing is due.
    Stopped,
    /// Given up, or it could not be started.
    Failed,
    /// Its agent is not logged in. `wanted`: the policy is asked once it may be.
    Parked { wanted: bool },
    /// Nothing runs; it is started again at `until`.
    Backoff {
        until: Mono,
        #[serde(with = "micros")]
        until_wall: Wall,
        outcome: Outcome,
    },
    /// Nothing runs; its agent met a limit, and it is started again when that is over: at `until`,
    /// or at `until_wall` if that comes first. A limit ends by the real-time clock, and the other
    /// stands still while the machine is suspended; a clock that is set back delays nothing.
    Limited {
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
        timeout: Option<Bound>,
        watch: Watch,
        settles: Option<Mono>,
        after: After,
    },
    /// The agent has ended well, and its check runs or is being started.
    Checking { run: RunId, agent: Agent, bound: Bound, after: After },
    /// A process of the run is over or is being ended, but something of it may be alive.
    Ending { run: RunId, part: Part, ended: Ended, grace: Grace, after: After },
}

/// Where a harness stands, as far as those need to know who give it orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing runs, nothing is due.
    Idle,
    /// Nothing runs; it waits for its agent to be logged in.
    Parked,
    /// It waits to be started again.
    Waiting,
    /// The run is being launched.
    Starting(RunId),
    /// The run's process, or its check, runs.
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

/// What a harness waits for while nothing of it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The end of its restart delay.
    Backoff(Wall),
    /// The end of a limit that its agent met.
    Limit(Wall),
    /// Somebody who logs its agent in.
    Login,
}
