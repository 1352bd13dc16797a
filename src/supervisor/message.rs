//! What the shell tells the supervisor, and what it is told to do.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::{ExitStatus, HarnessName, Report, RunId, Trigger, Wall};
use crate::config::{Configuration, Harness, Notify};
use crate::lifecycle::Overspent;
use crate::wire::{ErrorBody, ErrorCode, EventKind, Launched, Record, Run};

/// Who asked: the shell maps it to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub u64);

/// In which session a run is to work, where that is not a new one (TRJ-8); ids are the agent's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// In the harness's own last one, which the shell finds out, else in a new one (`resume = true`).
    GoOn,
    /// In this one.
    Resume(String),
    /// In a copy of this one.
    Fork(String),
}

/// What the store knew when the daemon started.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Whether a harness was last started or stopped by hand.
    pub intents: BTreeMap<HarnessName, bool>,
    /// The last claimed slot of each schedule, with the expression that it was a slot of.
    pub last_firings: BTreeMap<HarnessName, (String, Wall)>,
    /// The last ended run of each harness.
    pub last_runs: BTreeMap<HarnessName, Run>,
    /// The profile that was last used.
    pub profile: Option<String>,
}

/// What is known of a run once nothing of it is alive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// What its agent stated (RUN-0).
    pub report: Option<Report>,
    /// The commit that the working directory's repository is at now.
    pub git_after: Option<String>,
    /// Bytes of output that the log could not take.
    pub dropped_bytes: u64,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// The daemon has started; once, before everything else.
    Boot {
        /// The first configuration.
        configuration: Arc<Configuration>,
        /// What the store knew.
        remembered: Remembered,
    },
    /// A reload was accepted.
    Configure(Arc<Configuration>),
    /// Harnesses are to start.
    Start {
        /// Who asked.
        ticket: Ticket,
        /// Which.
        names: Vec<HarnessName>,
        /// Answer when they run (resident) or have ended (one-shot).
        wait: bool,
        /// In which session.
        session: Option<Wish>,
    },
    /// Harnesses are to stop.
    Stop {
        /// Who asked.
        ticket: Ticket,
        /// Which.
        names: Vec<HarnessName>,
        /// Answer when nothing of them is alive.
        wait: bool,
    },
    /// Harnesses are to stop and start.
    Restart {
        /// Who asked.
        ticket: Ticket,
        /// Which.
        names: Vec<HarnessName>,
        /// As for a start.
        wait: bool,
    },
    /// The members of a profile are to start.
    UseProfile {
        /// Who asked.
        ticket: Ticket,
        /// Which.
        profile: String,
        /// What other profiles name and this one does not is to stop.
        exclusive: bool,
        /// As for a start and a stop.
        wait: bool,
    },
    /// One run in the foreground of a client.
    Once {
        /// Who asked; it is answered with the final run.
        ticket: Ticket,
        /// Which.
        name: HarnessName,
    },
    /// The client is gone: nobody waits for an answer any more.
    Forget(Ticket),
    /// A launch succeeded.
    Spawned {
        /// The run.
        run: RunId,
        /// What is known of it now.
        facts: Launched,
    },
    /// A launch failed, or was cancelled in time.
    NotSpawned {
        /// The run.
        run: RunId,
        /// Why.
        cause: String,
        /// For those who wait for it; `already_running`: another process runs the harness.
        code: ErrorCode,
    },
    /// The main process was reaped.
    Exited {
        /// The run.
        run: RunId,
        /// How it ended.
        status: ExitStatus,
    },
    /// The run has written something; told for runs whose harness bounds the silence.
    Output {
        /// The run.
        run: RunId,
    },
    /// The run has used more than it may (USE-5).
    Overspent {
        /// The run.
        run: RunId,
        /// Of what, and how much.
        overspent: Overspent,
    },
    /// The agent has stated its result while its process still runs (RUN-8).
    Reported {
        /// The run.
        run: RunId,
        /// What it states.
        report: Report,
    },
    /// The agent goes on after it had stated its result: what it stated was not its end.
    Resumed {
        /// The run.
        run: RunId,
    },
    /// Nothing of the run is alive and its output is drained; comes after [`Event::Exited`],
    /// and once more after a check.
    Emptied {
        /// The run.
        run: RunId,
        /// What is known of it at its end.
        rest: Rest,
    },
    /// The check could not be started; answers [`Effect::Check`].
    CheckRefused {
        /// The run.
        run: RunId,
        /// Why.
        cause: String,
    },
    /// The version of the agent's program became known.
    Version {
        /// The run that asked for it.
        run: RunId,
        /// What the program says.
        version: String,
    },
    /// The files that hold the login of a parked harness's agent have changed.
    LoginChanged {
        /// The harness.
        harness: HarnessName,
    },
    /// A deadline has passed.
    Tick,
    /// Everything is to end.
    Shutdown {
        /// Without grace.
        at_once: bool,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Prepare and execute; answered by [`Event::Spawned`] or [`Event::NotSpawned`].
    Launch {
        /// The run.
        run: RunId,
        /// The definition to start.
        harness: Arc<Harness>,
        /// Why.
        trigger: Trigger,
        /// 1 for a first try, more for retries.
        attempt: u32,
        /// In which session.
        session: Option<Wish>,
    },
    /// Take a launch back: answered by [`Event::NotSpawned`], or [`Event::Spawned`] if it is too late.
    Cancel {
        /// The run.
        run: RunId,
    },
    /// Send the stop signal: to the main process's group, or to all leftovers once it is gone.
    StopTree {
        /// The run.
        run: RunId,
    },
    /// Kill everything of the run.
    KillTree {
        /// The run.
        run: RunId,
    },
    /// Start the check of a run in the run's environment, workdir and log; told as the run's own
    /// process by [`Event::Exited`] and [`Event::Emptied`], or [`Event::CheckRefused`].
    Check {
        /// The run.
        run: RunId,
        /// Whose it is, as the file says now; its check is the one that the run was started with.
        harness: Arc<Harness>,
    },
    /// The harness is parked (or its definition is another one while it is): its login files are to be watched ([`Event::LoginChanged`]).
    Park {
        /// The harness.
        harness: Arc<Harness>,
    },
    /// The harness is parked no more.
    Unpark {
        /// The harness.
        harness: HarnessName,
    },
    /// Somebody wants to hear of the end of this run (RUN-5).
    Notify {
        /// By which command.
        notify: Arc<Notify>,
        /// The run.
        run: Box<Run>,
    },
    /// To be committed before any launch of the same turn is executed.
    Record(Record),
    /// To be told to subscribers.
    Emit(EventKind),
    /// The answer to a client.
    Reply {
        /// Who asked.
        ticket: Ticket,
        /// What the answer is.
        result: Result<Value, ErrorBody>,
    },
}
