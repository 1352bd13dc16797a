//! What goes into a machine, and what comes out.

use super::phase::Request;
use super::verdict::{Overspent, StopReason};
use crate::base::{ExitStatus, Outcome, Report, RunId, State, Wall};

/// What a firing does while a run is active (SCH-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firing {
    /// It is skipped.
    Skip,
    /// It waits; a second one is skipped.
    Queue,
    /// It takes the run's place.
    Replace,
}

/// What happens to a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A start is asked for. While a run is being ended it follows that run,
    /// and while one is active nothing happens: whoever sends it decides first
    /// (see `Machine::standing`) whether that is what is wanted.
    Start(Request),
    /// The schedule falls due.
    Fire {
        /// The slot.
        slot: Wall,
        /// What to do while a run is active.
        overlap: Firing,
    },
    /// A slot that was missed is made up for (SCH-5): a firing with another trigger.
    CatchUp {
        /// The slot.
        slot: Wall,
        /// What to do while a run is active.
        overlap: Firing,
    },
    /// Whatever runs is to end, and nothing is to follow.
    Stop(StopReason),
    /// Whatever runs is to end, and this start is to follow.
    Restart(Request),
    /// What is being ended is to end now, without grace.
    Kill,
    /// The program runs.
    Spawned(RunId),
    /// The program could not be started, or its launch was cancelled.
    NotSpawned {
        /// The run.
        run: RunId,
        /// Why.
        cause: String,
        /// Whether it is the machine's fault, which was short of something that every start needs: no
        /// failed attempt of this harness.
        blameless: bool,
    },
    /// It was not started since another process runs the harness (RUN-4): no failed attempt.
    Busy {
        /// The run.
        run: RunId,
        /// Who does.
        cause: String,
    },
    /// The main process is gone.
    Exited {
        /// The run.
        run: RunId,
        /// How.
        status: ExitStatus,
    },
    /// The run has written something.
    Output(RunId),
    /// The run has used more than it may.
    Overspent {
        /// The run.
        run: RunId,
        /// Of what, and how much.
        overspent: Overspent,
    },
    /// The agent has stated its result and still runs (RUN-8).
    Reported {
        /// The run.
        run: RunId,
        /// What it states.
        report: Report,
    },
    /// The agent goes on after it had stated its result: that was not its end.
    Resumed(RunId),
    /// Nothing of the run is alive.
    Emptied {
        /// The run.
        run: RunId,
        /// What its agent stated, now that all its output is read.
        report: Option<Report>,
    },
    /// The check could not be started; answers [`Effect::Check`] in place of an exit.
    CheckRefused {
        /// The run.
        run: RunId,
        /// Why.
        cause: String,
    },
    /// It was parked when an earlier daemon went away: it is parked again, unless it is active.
    Park,
    /// What it was parked for may be over.
    Unpark,
    /// The policy is another one than it was.
    Revised,
    /// A deadline may have passed.
    Due,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// In one word.
    pub outcome: Outcome,
    /// Why; none for `ok` only.
    pub cause: Option<String>,
    /// Until when the limit lasts that it met, where that is known.
    pub until: Option<Wall>,
    /// Whether the agent stated its result and was ended since it did not end by itself in time.
    pub lingered: bool,
}

impl End {
    /// An end of which nothing more is known.
    #[must_use]
    pub const fn new(outcome: Outcome, cause: Option<String>) -> Self {
        Self { outcome, cause, until: None, lingered: false }
    }
}

/// What is to be done about it, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Start the program.
    Launch {
        /// The new run.
        run: RunId,
        /// Why.
        request: Request,
        /// 1 for a first try, more for retries.
        attempt: u32,
    },
    /// Take the launch back, if there is still time.
    Cancel(RunId),
    /// Send the stop signal.
    StopTree(RunId),
    /// Kill everything of the run.
    KillTree(RunId),
    /// Start the check of a run whose agent has ended well; its exit is told as the run's own.
    Check(RunId),
    /// The run is over and nothing of it is alive.
    Ended {
        /// Which.
        run: RunId,
        /// How it ended.
        end: End,
        /// The main process's status, if there was one.
        status: Option<ExitStatus>,
    },
    /// It waits for somebody to log in.
    Parked,
    /// The state that is shown is another one.
    Changed {
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// A crash loop has begun.
    Flapping {
        /// Ends inside the window.
        exits: u32,
    },
    /// A slot of the schedule waits for the end of the present run: it will be launched as this run,
    /// or is [`Effect::Skipped`].
    Awaits {
        /// The run that it will be.
        run: RunId,
        /// Why.
        request: Request,
    },
    /// A slot of the schedule is not run.
    Skipped {
        /// The slot.
        slot: Wall,
        /// Why.
        cause: String,
    },
    /// The start that was to follow does not.
    Dropped,
}
