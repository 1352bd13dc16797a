//! Looking again and again at the stores of runs, and reading what is new.

use camino::Utf8Path;

use crate::base::{HarnessName, RunId, Wall};
use crate::store::Progress;
use crate::trajectory::{Event, Needs};
use crate::wire::Trail;

/// A run whose transcripts are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The run.
    pub run: RunId,
    /// Its harness.
    pub harness: HarnessName,
    /// Where to look.
    pub trail: Trail,
    /// Its start.
    pub from: Wall,
    /// Its end; none: it runs. With an end this is the last look: all of the store is searched, what is held
    /// back is told, and the run is settled.
    pub to: Option<Wall>,
    /// The processes of its tree that are alive, for evidence.
    pub processes: Vec<i32>,
    /// How much is wanted: [`Needs::Everything`] gives events.
    pub needs: Needs,
}

/// What could not be read, or was odd.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// The file, directory or database.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// What one look brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// For the account: one transaction.
    pub progress: Progress,
    /// New events of the subjects that want them, with the native id of their session. Each is told once,
    /// provided that the progress is committed.
    pub events: Vec<(RunId, String, Event)>,
    /// What was odd, each once a follower.
    pub warnings: Vec<Warning>,
}

/// Looks at stores, and remembers what it saw, so that an unchanged store costs little.
#[derive(Debug, Default)]
pub struct Follower {}

impl Follower {
    /// A follower that takes up where the account in `state` says that reading stopped.
    #[must_use]
    pub fn new(_state: &Utf8Path) -> Self {
        Self {}
    }

    /// Looks at the stores of these runs. If its progress could not be committed the follower is to be
    /// thrown away: a new one begins at what the account says.
    pub fn look(&mut self, _subjects: &[Subject], _now: Wall) -> Look {
        Look::default()
    }
}
