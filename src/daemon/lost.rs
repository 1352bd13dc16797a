//! Runs that an earlier daemon left open: what is alive of them is ended, and they are
//! closed as `lost` (LIF-9, trap 20).

use std::collections::HashSet;
use std::time::Duration;

use tracing::warn;

use super::containment::{Groups, end_lost};
use super::error::DaemonError;
use crate::base::{Outcome, RunId};
use crate::host::clock;
use crate::host::run_lock::RunLocks;
use crate::host::tree;
use crate::store::Store;
use crate::wire::{Record, Run};

/// How long leftovers have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);

/// Ends what is alive of open runs and closes them. A run whose harness is locked is alive in
/// another process (`harnessd once`) and is left alone.
pub(super) fn close_lost(
    store: &mut Store,
    locks: &mut RunLocks,
    groups: &Groups,
) -> Result<(), DaemonError> {
    let mut lost = Vec::new();
    for run in store.open_runs()? {
        // Held while the run is ended and closed, so that nobody starts the harness meanwhile.
        if locks.acquire(&run.harness).is_ok() {
            lost.push(run);
        }
    }
    let ids: HashSet<RunId> = lost.iter().map(|run| run.id).collect();
    let ended = if ids.is_empty() { 0 } else { tree::end_runs(&ids, GRACE) };
    end_lost(groups, &ids);
    if lost.is_empty() {
        return Ok(());
    }
    warn!(runs = lost.len(), processes = ended, "runs of an earlier daemon are closed as lost");
    let closed = store.commit(&lost.iter().cloned().map(closed).collect::<Vec<_>>());
    for run in &lost {
        locks.release(&run.harness).map_err(DaemonError::system("run locks"))?;
    }
    Ok(closed?)
}

/// The record that closes a run whose supervisor went away.
pub(super) fn closed(run: Run) -> Record {
    Record::RunLost(Run {
        ended_at: Some(clock::now().wall),
        outcome: Some(Outcome::Lost),
        cause: Some("the daemon went away while it ran".to_owned()),
        ..run
    })
}

/// Ends what is alive of runs of one harness; for a worker, since it may take the grace.
pub(super) fn end_stale(stale: &[Run]) {
    if !stale.is_empty() {
        let ids: HashSet<RunId> = stale.iter().map(|run| run.id).collect();
        let ended = tree::end_runs(&ids, GRACE);
        warn!(runs = stale.len(), processes = ended, "runs that nobody supervises are closed as lost");
    }
}
