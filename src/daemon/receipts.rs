//! The last receipt of a run: the commit that its repository is at once nothing of it is alive (RUN-1).
//!
//! Invariant: a worker reads it, since a file system may hang; the run's end waits for the answer, and
//! not for long.

use std::time::Duration;

use tracing::warn;

use super::state::Daemon;
use crate::base::{Mono, RunId};

/// How long the end of a run waits.
const PATIENCE: Duration = Duration::from_secs(2);

impl Daemon {
    /// Asks for the commit where the run was started in a repository. True: the run's end waits for it.
    pub(super) fn ask_head(&mut self, run: RunId) -> bool {
        if self.heads.contains_key(&run) {
            return true;
        }
        let Some(dir) = self.live.get(&run).and_then(|live| live.repository.clone()) else { return false };
        self.heads.insert(run, Self::now().mono + PATIENCE);
        self.workers.head(run, dir);
        true
    }

    /// A worker has answered, for a run that may not wait any more.
    pub(super) fn head_read(&mut self, run: RunId, commit: Option<String>) {
        if self.heads.remove(&run).is_some() {
            self.empty(run, commit);
        }
    }

    /// Lets runs end that have waited until `now`; none: all of them.
    pub(super) fn give_up_heads(&mut self, now: Option<Mono>) {
        let late = self.heads.iter().filter(|(_, until)| now.is_none_or(|now| **until <= now));
        let late: Vec<RunId> = late.map(|(run, _)| *run).collect();
        for run in late {
            warn!(%run, "the commit that it left its repository at cannot be read in time");
            self.head_read(run, None);
        }
    }
}
