//! What the supervisor asks the store to remember.
//!
//! Invariant: one turn's records, in order, are one transaction; a record
//! carries all that it changes, so applying it needs no earlier reading.

use super::view::{Run, RunSkill};
use crate::base::{HarnessName, RunId, Wall};

/// One fact for the state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A start was decided; committed before the program is executed (LIF-9).
    RunStarted(Run),
    /// The program runs. What is absent here stays as the start recorded it.
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
    /// A run whose supervisor went away: closed if it is still open, else left as it ended.
    RunLost(Run),
    /// A slot fell due and was not run.
    Skipped(Run),
    /// A slot of a schedule is claimed: it must never be claimed again, not even after a power cut.
    Fired {
        /// The harness.
        harness: HarnessName,
        /// Its expression, as written.
        expression: String,
        /// The slot.
        at: Wall,
    },
    /// Whether a resident harness is meant to run (LIF-2).
    Intent {
        /// The harness.
        harness: HarnessName,
        /// Meant to run.
        wanted: bool,
    },
}
