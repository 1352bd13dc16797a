//! Runs that an earlier daemon left open: what is alive of them is ended, and they are
//! closed as `lost` (LIF-9, trap 20).

use std::time::Duration;

use camino::Utf8Path;
use tracing::warn;

use super::containment::{Groups, end_lost};
use super::error::DaemonError;
use crate::base::{HarnessName, Outcome};
use crate::host::clock;
use crate::host::logs;
use crate::host::run_lock::RunLocks;
use crate::host::tree::{self, Remnant};
use crate::store::Store;
use crate::wire::{Record, Run};

/// How long leftovers have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);

/// Ends what is alive of open runs; the records that close them. A run whose harness is locked is alive
/// in another process (`harnessd once`) and is left alone; one that waited for its turn was in the hands
/// of the daemon alone.
pub(super) fn close_lost(
    store: &Store,
    locks: &mut RunLocks,
    groups: &Groups,
) -> Result<Vec<Record>, DaemonError> {
    let mut lost = Vec::new();
    for run in store.open_runs()? {
        // Held while the run is ended, so that nobody starts the harness meanwhile.
        if locks.acquire(&run.harness).is_ok() || run.started_at.is_none() {
            lost.push(run);
        }
    }
    end(&lost, "runs of an earlier daemon are closed as lost");
    // At every start: groups of runs that are over are removed too.
    end_lost(groups, &lost.iter().map(|run| run.id).collect());
    for run in &lost {
        locks.release(&run.harness).map_err(DaemonError::system("run locks"))?;
    }
    Ok(lost.into_iter().map(closed).collect())
}

/// The record that closes a run whose supervisor went away.
pub(super) fn closed(run: Run) -> Record {
    let cause = match run.started_at {
        Some(_) => "the daemon went away while it ran",
        None => "the daemon went away before it was started",
    };
    Record::RunLost(Run {
        ended_at: Some(clock::now().wall),
        outcome: Some(Outcome::Lost),
        cause: Some(cause.to_owned()),
        ..run
    })
}

/// Ends what is alive of runs of one harness; for a worker, since it may take the grace.
pub(super) fn end_stale(stale: &[Run]) {
    end(stale, "runs that nobody supervises are closed as lost");
}

/// Ends what is alive of runs of which only a log is left, because the store that knew of them is gone.
/// Without that their harnesses would be started beside them.
pub(super) fn end_forgotten(
    state: &Utf8Path,
    store: &Store,
    locks: &RunLocks,
    groups: &Groups,
) -> Result<(), DaemonError> {
    let known = store.recorded()?.ids;
    let logs = logs::all(&logs::directory(state)).map_err(DaemonError::system("directory of logs"))?;
    let elsewhere = |harness: &HarnessName| locks.holder(harness).is_some();
    let forgotten = logs.into_iter().filter(|log| !known.contains(&log.run) && !elsewhere(&log.harness));
    let runs: Vec<Remnant> =
        forgotten.map(|log| Remnant { run: log.run, pid: None, start_time: None }).collect();
    let ended = tree::end_runs(&runs, GRACE);
    end_lost(groups, &runs.iter().map(|remnant| remnant.run).collect());
    if ended > 0 {
        warn!(processes = ended, "processes of runs that are recorded no more are ended");
    }
    Ok(())
}

fn end(lost: &[Run], what: &'static str) {
    if lost.is_empty() {
        return;
    }
    let remnant = |run: &Run| Remnant { run: run.id, pid: run.pid, start_time: run.process_start };
    let ended = tree::end_runs(&lost.iter().map(remnant).collect::<Vec<_>>(), GRACE);
    warn!(runs = lost.len(), processes = ended, "{what}");
}
