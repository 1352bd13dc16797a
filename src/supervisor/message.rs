//! What the shell tells the supervisor, and what it is told to do.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::base::{ExitStatus, HarnessName, RunId, Trigger, Wall};
use crate::config::{Configuration, Harness};
use crate::wire::{ErrorBody, ErrorCode, EventKind, Record, Run, RunSkill};

/// Who asked: the shell maps it to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What the store knew when the daemon started.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Whether a harness was last started or stopped by hand.
    pub intents: BTreeMap<HarnessName, bool>,
    /// The last claimed slot of each schedule, with the expression that it was a slot of.
    pub last_firings: BTreeMap<HarnessName, (String, Wall)>,
    /// The last ended run of each harness.
    pub last_runs: BTreeMap<HarnessName, Run>,
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
        /// Its main process.
        pid: i32,
        /// The argument vector without the prompt.
        command: Vec<String>,
        /// The working directory.
        workdir: Option<String>,
        /// The log file.
        log: Option<String>,
        /// The skills in force.
        skills: Vec<RunSkill>,
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
    /// Nothing of the run is alive and its output is drained; comes after [`Event::Exited`].
    Emptied {
        /// The run.
        run: RunId,
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
