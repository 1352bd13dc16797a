//! What the supervisor asks the store to remember.
//!
//! Invariant: one turn's records, in order, are one transaction; a record
//! carries all that it changes, so applying it needs no earlier reading.

use super::trail::Trail;
use super::view::{Run, RunSkill};
use crate::base::{HarnessName, RunId, Wall};

/// What is known of a run once its program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launched {
    /// Its main process.
    pub pid: i32,
    /// When that started, in clock ticks since boot; 0: unknown.
    pub process_start: u64,
    /// The argument vector without the prompt.
    pub command: Vec<String>,
    /// The working directory.
    pub workdir: Option<String>,
    /// The log file.
    pub log: Option<String>,
    /// The skills in force.
    pub skills: Vec<RunSkill>,
    /// The format of the machine-readable output.
    pub report: Option<String>,
    /// The commit that the working directory's repository is at.
    pub git_before: Option<String>,
    /// Where its transcripts are to be found.
    pub trail: Option<Trail>,
}

/// One fact for the state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A start was decided; committed before the program is executed (LIF-9).
    RunStarted(Run),
    /// A run that waits for its turn: recorded when its slot is claimed; a [`Record::RunStarted`] follows.
    RunQueued(Run),
    /// The program runs. What is absent here stays as the start recorded it.
    RunSpawned {
        /// The run.
        id: RunId,
        /// What is known of it now.
        facts: Launched,
    },
    /// The version of the agent's program became known while the run went on.
    RunVersion {
        /// The run.
        id: RunId,
        /// What the program says.
        version: String,
    },
    /// A run ended: its whole final row, which replaces what is there of it.
    RunEnded(Run),
    /// A run whose supervisor went away: closed if it is still open, else left as it ended.
    RunLost(Run),
    /// A slot fell due and was not run, or a stretch of slots was missed.
    Skipped(Run),
    /// A slot of a schedule is claimed, and each before it: none may ever be claimed again, not even
    /// after a power cut.
    Fired {
        /// The harness.
        harness: HarnessName,
        /// Its expression, with its zone where that matters.
        expression: String,
        /// The slot; or when the schedule was armed: slots until then are none of its.
        at: Wall,
    },
    /// A schedule is gone from the configuration: should it come back, it has missed nothing.
    Disarmed {
        /// The harness.
        harness: HarnessName,
    },
    /// Whether a resident harness is meant to run (LIF-2).
    Intent {
        /// The harness.
        harness: HarnessName,
        /// Meant to run.
        wanted: bool,
    },
    /// The profile that is in use from now on.
    Profile {
        /// Its name.
        name: String,
    },
}
