//! What subscribers are told (LIF-10).

use serde::{Deserialize, Serialize};

use super::view::Run;
use crate::base::{HarnessName, State, Wall};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A harness went from one state to another.
    StateChanged {
        /// Which.
        harness: HarnessName,
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// A run began.
    RunStarted {
        /// The run.
        run: Run,
    },
    /// A run ended; nothing of it is alive.
    RunEnded {
        /// The run.
        run: Run,
    },
    /// A slot fell due and was not run.
    FiringSkipped {
        /// Its record.
        run: Run,
    },
    /// A configuration is in force.
    ConfigReloaded {
        /// Harnesses that are new.
        added: Vec<HarnessName>,
        /// Harnesses that are gone.
        removed: Vec<HarnessName>,
        /// Harnesses that differ.
        changed: Vec<HarnessName>,
    },
    /// A configuration was refused; the last good one stays.
    ConfigRejected {
        /// How many errors it has.
        errors: usize,
    },
    /// A harness is in a crash loop.
    Flapping {
        /// Which.
        harness: HarnessName,
        /// Exits inside the window.
        exits: u32,
    },
}

/// One event: a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Rises by one with each event of a daemon.
    pub seq: u64,
    /// When.
    pub at: Wall,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}
