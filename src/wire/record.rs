//! What the store must remember.
//!
//! Invariant: a record says everything that its row needs; applying the
//! records of a turn in their order gives the state after the turn.

use super::view::{Run, RunSkill};
use crate::base::{HarnessName, RunId, Wall};

/// One thing to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A start was decided; committed before the program is executed.
    RunStarted(Run),
    /// The program runs.
    RunSpawned {
        /// The run.
        id: RunId,
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
    /// A run ended: its whole final row.
    RunEnded(Run),
    /// A slot of a schedule that was not run: its whole row.
    Skipped(Run),
    /// A slot of a schedule was claimed.
    Fired {
        /// Whose schedule.
        harness: HarnessName,
        /// The expression as written: another one has another phase.
        expression: String,
        /// The slot.
        at: Wall,
    },
    /// Somebody started or stopped a harness, to be remembered over a restart
    /// of the daemon.
    Intent {
        /// Which.
        harness: HarnessName,
        /// Started (true) or stopped.
        wanted: bool,
    },
}
