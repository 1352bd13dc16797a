//! Keeping records: in the store, or in memory until it can take them (LIF-9).
//!
//! Invariant: records reach the store in their order, and none is dropped without being said.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use tracing::{error, info, warn};

use super::boot::STORE_PATIENCE;
use super::error::DaemonError;
use super::state::Daemon;
use crate::base::{HarnessName, Wall};
use crate::host::logs;
use crate::store::{PrunedRun, Store, StoreError, StoreProblem};
use crate::wire::Record;

/// How long records that could not be stored are tried again when the daemon ends, or a foreground run begins.
const LAST_TRIES: Duration = Duration::from_secs(5);

impl Daemon {
    /// Commits records, those of earlier failures first; what fails is kept and said.
    pub(super) fn commit(&mut self, records: Vec<Record>) {
        self.backlog.extend(records);
        if self.backlog.is_empty() || self.store_trouble.is_some() && self.store.is_read_only() {
            // Until it can be opened for writing again, its trouble is what it was.
            return;
        }
        let done = match self.store.commit(&self.backlog) {
            Err(cause) if cause.problem == StoreProblem::Gone => self.replace_store(&cause),
            // Only the daemon has the lock of the state directory, and may move what lies in it.
            Err(cause) if cause.problem.is_damage() && !self.foreground => self.replace_store(&cause),
            Err(cause) if cause.problem.is_of_one_record() => self.commit_one_by_one(),
            done => done,
        };
        match done {
            Ok(()) => {
                if self.store_trouble.take().is_some() {
                    info!(records = self.backlog.len(), "the state store can be written again");
                }
                self.backlog = Vec::new();
            }
            Err(cause) => self.keep_waiting(&cause),
        }
    }

    /// Says why records wait, once for each cause.
    pub(super) fn keep_waiting(&mut self, cause: &StoreError) {
        let cause = cause.to_string();
        if self.store_trouble.as_ref() != Some(&cause) {
            error!(%cause, kept = self.backlog.len(), "records are kept in memory until the state store can be written");
        }
        self.store_trouble = Some(cause);
    }

    /// A record that no store can take must not keep out those behind it. It is a defect, and said.
    fn commit_one_by_one(&mut self) -> Result<(), StoreError> {
        while !self.backlog.is_empty() {
            match self.store.commit(&self.backlog[..1]) {
                Err(cause) if cause.problem.is_of_one_record() => {
                    error!(record = ?self.backlog[0], %cause, "this record is refused");
                }
                done => done?,
            }
            self.backlog.remove(0);
        }
        Ok(())
    }

    /// The store went away under us, or holds no longer what was written: what this daemon knows goes
    /// into a new one, with what can be read of a damaged one.
    fn replace_store(&mut self, cause: &StoreError) -> Result<(), StoreError> {
        let state = self.around.state.as_path();
        let (mut store, replaced) = match self.foreground {
            true => (Store::open(state)?, None),
            false => Store::open_or_replace(state)?,
        };
        store.set_patience(STORE_PATIENCE)?;
        // Of an open run the supervisor knows what the backlog tells and more. So it does of firings and
        // intents, but the backlog may speak of harnesses that are gone: it comes first, to be overruled.
        let (open, settled): (Vec<_>, Vec<_>) = self.supervisor.known().into_iter().partition(is_start);
        let later = self.backlog.iter().filter(|record| !is_start(record) && !is_progress(record)).cloned();
        let projects = self.config.registered.iter().cloned().map(Record::ProjectUp);
        let records = open.into_iter().chain(later).chain(settled).chain(projects).map(whole);
        let records: Vec<Record> = records.collect();
        store.commit(&records)?;
        self.store = store;
        let trails = self.following.start_over();
        if let Err(cause) = self.store.keep_trails(&trails) {
            warn!(%cause, "where agents keep their transcripts cannot be recorded");
        }
        let notice = match replaced {
            Some(replaced) => replaced.to_string(),
            None => format!("{cause}: the one that is there now holds what was still known"),
        };
        error!("{notice}");
        self.store_notices.push(notice);
        self.see(self.supervisor.names().cloned().collect());
        Ok(())
    }

    /// Has the store remember since when it knows these harnesses, which are all that are configured. Where
    /// it cannot, they count as known since a later time, which costs attributions and makes none wrong.
    pub(super) fn see(&mut self, configured: Vec<HarnessName>) {
        if let Err(cause) = self.store.see(&configured, Self::now().wall) {
            warn!(%cause, "since when harnesses are known cannot be recorded");
        }
    }

    /// Tries again and again to store what could not be stored, for a while.
    pub(super) fn try_to_store(&mut self) {
        let start = Instant::now();
        self.mend_store();
        self.commit(Vec::new());
        while !self.backlog.is_empty() && start.elapsed() < LAST_TRIES {
            thread::sleep(Duration::from_millis(50));
            self.mend_store();
            self.commit(Vec::new());
        }
    }

    /// The last tries to store what could not be stored; what is lost for good is said, one by one.
    pub(super) fn write_backlog(&mut self) -> Result<(), DaemonError> {
        self.try_to_store();
        for record in &self.backlog {
            error!(?record, "this record is lost");
        }
        match self.backlog.len() {
            0 => Ok(()),
            records => Err(DaemonError::RecordsLost {
                records,
                cause: self.store_trouble.clone().unwrap_or_default(),
            }),
        }
    }

    /// After a run: forgets what its harness has too much of, and once a day what is too old, which a daemon
    /// that lives for months would keep until its end.
    pub(super) fn forget(&mut self, name: &HarnessName) {
        self.prune(name);
        if self.store_trouble.is_none() {
            self.forget_old();
        }
    }

    /// Forgets what was read of transcripts that are too old.
    fn forget_old(&mut self) {
        if let Err(cause) = self.store.forget_old() {
            warn!(%cause, "old sessions cannot be forgotten");
        }
    }

    /// Forgets what a harness has too much of; one that a reload has just removed still says how much.
    fn prune(&mut self, name: &HarnessName) {
        let removed = || self.removed.iter().find(|harness| harness.name == *name);
        let Some(harness) = self.supervisor.harness(name).or_else(removed) else { return };
        let keep = harness.keep_runs;
        let pruned = self.store.prune(name, keep);
        remove_logs(name, pruned);
    }

    /// What bounds the past at a start: runs beyond `keep_runs`, which may have been lowered, and old runs
    /// of harnesses that are gone; what was read of transcripts of older ones; and logs that no run refers to,
    /// by a worker.
    pub(super) fn tidy(&mut self) {
        let recorded = match self.store.counts() {
            Ok(recorded) => recorded,
            Err(cause) => return warn!(%cause, "old runs cannot be pruned"),
        };
        for (name, count) in recorded {
            match self.supervisor.harness(&name) {
                Some(harness) if count > u64::from(harness.keep_runs) => self.prune(&name),
                Some(_) => {}
                None => {
                    let expired = self.store.expire(&name);
                    remove_logs(&name, expired);
                }
            }
        }
        self.forget_old();
        match logs::harnesses(&logs::directory(&self.around.state)) {
            Ok(with_logs) => {
                let elsewhere = with_logs.into_iter().filter(|name| self.locks.holder(name).is_some());
                self.workers.sweep(self.around.state.clone(), elsewhere.collect(), self.started_at);
            }
            Err(cause) => warn!(%cause, "the logs cannot be listed"),
        }
    }
}

/// Removes the logs of runs that were recorded and are no more: a crash between the two left them. Only
/// runs that this store must have known count, decided since it was made and before this daemon's start,
/// of harnesses that no other process runs.
pub(super) fn sweep(
    state: &Utf8Path,
    elsewhere: &BTreeSet<HarnessName>,
    before: Wall,
) -> Result<usize, String> {
    // The logs first: a run is recorded before its log is made.
    let found = logs::all(&logs::directory(state)).map_err(|cause| cause.to_string())?;
    let Some(store) = Store::open_read(state).map_err(|cause| cause.to_string())? else { return Ok(0) };
    let recorded = store.recorded().map_err(|cause| cause.to_string())?;
    let mut swept = 0;
    for log in found {
        let due = log.run.decided_at().is_some_and(|at| recorded.made_at < at && at < before);
        if due && !recorded.ids.contains(&log.run) && !elsewhere.contains(&log.harness) {
            logs::remove(&log.path).map_err(|cause| format!("{}: {cause}", log.path))?;
            swept += 1;
        }
    }
    Ok(swept)
}

fn remove_logs(harness: &HarnessName, pruned: Result<Vec<PrunedRun>, StoreError>) {
    match pruned {
        Ok(pruned) => {
            for log in pruned.iter().filter_map(|run| run.log.as_deref()) {
                if let Err(cause) = logs::remove(log.into()) {
                    warn!(%harness, log, %cause, "the log of a pruned run cannot be removed");
                }
            }
        }
        Err(cause) => warn!(%harness, %cause, "old runs cannot be pruned"),
    }
}

/// A row as it is to be, whether or not an older state of it could be read of the damaged store.
fn whole(record: Record) -> Record {
    match record {
        Record::RunStarted(run) | Record::RunQueued(run) | Record::Skipped(run) => Record::RunEnded(run),
        other => other,
    }
}

const fn is_start(record: &Record) -> bool {
    matches!(record, Record::RunStarted(_) | Record::RunQueued(_))
}

/// What is in the row of an open run by now, and in the final row of any other.
const fn is_progress(record: &Record) -> bool {
    matches!(record, Record::RunSpawned { .. } | Record::RunVersion { .. })
}
