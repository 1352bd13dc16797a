//! Performing what the core decided, with the records first (LIF-9).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::error::DaemonError;
use super::output::Output;
use super::state::{Asker, Daemon, Live, Main};
use crate::base::{HarnessName, Outcome, RunId, Trigger};
use crate::config::Harness;
use crate::host::logs::{self, LogWriter};
use crate::host::process::{SpawnError, spawn_into};
use crate::host::run_lock::RunLockError;
use crate::launch::{LaunchError, Prepared, is_quick, log_file, prepare};
use crate::supervisor::{Effect, Event, Ticket};
use crate::wire::{self, ErrorBody, ErrorCode, EventKind, Launched, Record, Reply, Run};

/// How long records that could not be stored are tried again when the daemon ends.
const LAST_TRIES: Duration = Duration::from_secs(5);

/// Starts in one turn.
const STARTS: usize = 32;
/// Why a start that a stop overtook was none.
const CANCELLED: &str = "stopped before it was started";

/// A start that was decided and recorded.
#[derive(Debug)]
pub(super) struct Start {
    run: RunId,
    harness: Arc<Harness>,
    trigger: Trigger,
}

impl Daemon {
    /// Performs effects until none is left. Each batch is one transaction, committed before
    /// the starts of that batch; their pids are in the next one. Starts beyond [`STARTS`] wait
    /// for the next turn, so that a large fleet's start or mass death leaves the daemon answering.
    pub(super) fn settle(&mut self) {
        let mut ended = Vec::new();
        let mut starts = 0;
        loop {
            let batch = std::mem::take(&mut self.effects);
            self.unrest += batch.len();
            let mut records = Vec::new();
            let mut rest = Vec::new();
            for effect in batch {
                match effect {
                    Effect::Record(record) => records.push(record),
                    other => rest.push(other),
                }
            }
            ended.extend(records.iter().filter_map(|record| match record {
                Record::RunEnded(run) | Record::Skipped(run) => Some(run.harness.clone()),
                _ => None,
            }));
            self.commit(records);
            for effect in rest {
                self.perform(effect);
            }
            while starts < STARTS
                && let Some(start) = self.carried.pop_front()
            {
                starts += 1;
                self.launch(start);
            }
            if self.effects.is_empty() {
                break;
            }
        }
        // After the starts, none of which has to wait for it.
        for harness in ended {
            self.prune(&harness);
        }
    }

    /// Commits records, those of earlier failures first; what fails is kept and said.
    pub(super) fn commit(&mut self, records: Vec<Record>) {
        self.backlog.extend(records);
        if self.backlog.is_empty() {
            return;
        }
        match self.store.commit(&self.backlog) {
            Ok(()) => {
                if self.store_trouble.take().is_some() {
                    info!(records = self.backlog.len(), "the state store can be written again");
                }
                self.backlog = Vec::new();
            }
            Err(cause) => {
                let cause = cause.to_string();
                if self.store_trouble.as_ref() != Some(&cause) {
                    error!(%cause, kept = self.backlog.len(), "records are kept in memory until the state store can be written");
                }
                self.store_trouble = Some(cause);
            }
        }
    }

    /// The last tries to store what could not be stored; what is lost for good is said, one by one.
    pub(super) fn write_backlog(&mut self) -> Result<(), DaemonError> {
        let start = Instant::now();
        self.commit(Vec::new());
        while !self.backlog.is_empty() && start.elapsed() < LAST_TRIES {
            thread::sleep(Duration::from_millis(50));
            self.commit(Vec::new());
        }
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

    fn prune(&mut self, name: &HarnessName) {
        let Some(keep) = self.supervisor.harness(name).map(|harness| harness.keep_runs) else { return };
        match self.store.prune(name, keep) {
            Ok(pruned) => {
                for log in pruned.iter().filter_map(|run| run.log.as_deref()) {
                    if let Err(cause) = logs::remove(log.into()) {
                        warn!(harness = %name, log, %cause, "the log of a pruned run cannot be removed");
                    }
                }
            }
            Err(cause) => warn!(harness = %name, %cause, "old runs cannot be pruned"),
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Record(record) => self.commit(vec![record]),
            Effect::Launch { run, harness, trigger, .. } => {
                self.carried.push_back(Start { run, harness, trigger });
            }
            Effect::Cancel { run } => self.cancel(run),
            Effect::StopTree { run } => self.stop_tree(run),
            Effect::KillTree { run } => self.kill_tree(run),
            Effect::Check { run, .. } => {
                let cause = "checks cannot be run yet".to_owned();
                self.feed(Event::CheckRefused { run, cause });
            }
            Effect::Park { .. } | Effect::Unpark { .. } | Effect::Notify { .. } => {}
            Effect::Emit(kind) => self.emit(kind),
            Effect::Reply { ticket, result } => self.reply(ticket, result),
        }
    }

    fn launch(&mut self, Start { run, harness, trigger }: Start) {
        // A paid prompt may run twice after a crash if its slot is not on the disk.
        if let (Trigger::Schedule, Some(trouble)) = (trigger, &self.store_trouble) {
            let cause = format!("its slot cannot be claimed: {trouble}");
            return self.feed(Event::NotSpawned { run, cause, code: ErrorCode::Internal });
        }
        if let Err(cause) = self.locks.acquire(&harness.name) {
            let code = match cause {
                RunLockError::Held { .. } => ErrorCode::AlreadyRunning,
                RunLockError::Unusable(_) => ErrorCode::Internal,
            };
            return self.feed(Event::NotSpawned { run, cause: cause.to_string(), code });
        }
        let live = Live { harness: Arc::clone(&harness), main: Main::Preparing, ending: None, output: None };
        self.live.insert(run, live);
        let stale = self.stale_runs(run, &harness.name);
        if stale.is_empty() && is_quick(&harness) {
            let prepared = prepare(&harness, run, &self.around);
            self.start(run, prepared);
        } else {
            self.workers.prepare(run, stale, harness, Arc::clone(&self.around));
        }
    }

    /// Runs of the harness that are open although we hold its lock: whoever ran them went away.
    fn stale_runs(&self, run: RunId, harness: &HarnessName) -> Vec<Run> {
        if self.store_trouble.is_some() {
            // The end of our own last run may be among the records that wait.
            return Vec::new();
        }
        match self.store.open_runs_of(harness) {
            Ok(open) => open.into_iter().filter(|one| one.id != run).collect(),
            Err(cause) => {
                warn!(%harness, %cause, "it cannot be told whether an earlier run is still open");
                Vec::new()
            }
        }
    }

    /// Starts what was prepared, unless a stop came first.
    pub(super) fn start(&mut self, run: RunId, prepared: Result<Prepared, LaunchError>) {
        let Some(live) = self.live.get(&run) else { return };
        let harness = Arc::clone(&live.harness);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(cause) => return self.not_spawned(run, cause.code(), cause.to_string()),
        };
        for warning in &prepared.warnings {
            warn!(harness = %harness.name, %run, "{warning}");
        }
        let group = match self.group_for(run, &harness) {
            Ok(group) => group,
            Err(cause) => return self.not_spawned(run, ErrorCode::SpawnFailed, cause),
        };
        let path = log_file(&self.around.state, &harness.name, run);
        let log = LogWriter::open(&path, harness.log_max_bytes);
        match spawn_into(&prepared.spec, group.as_ref()) {
            Ok(spawned) => {
                if let Some(cause) = &spawned.outside {
                    warn!(harness = %harness.name, %run, %cause, "it runs outside of its control group");
                }
                let output = Output::new(run, spawned.output, log, harness.tty);
                self.watch_output(run, output);
                self.family.started(run, spawned.pid, spawned.start_time);
                if let Some(live) = self.live.get_mut(&run) {
                    live.main = Main::Alive(spawned.pid);
                }
                info!(harness = %harness.name, %run, pid = spawned.pid, "started");
                self.feed(Event::Spawned {
                    run,
                    facts: Launched {
                        pid: spawned.pid,
                        process_start: spawned.start_time,
                        command: prepared.shown,
                        workdir: Some(prepared.workdir.into_string()),
                        log: Some(path.into_string()),
                        skills: prepared.skills,
                        report: None,
                        git_before: None,
                    },
                });
            }
            Err(cause) => {
                drop((log, group));
                self.remove_group(run);
                self.spawn_refused(run, &harness, &cause);
            }
        }
    }

    fn spawn_refused(&mut self, run: RunId, harness: &Harness, cause: &SpawnError) {
        let path = log_file(&self.around.state, &harness.name, run);
        if let Err(cause) = logs::remove(&path) {
            warn!(harness = %harness.name, %run, %cause, "the empty log cannot be removed");
        }
        self.not_spawned(run, ErrorCode::SpawnFailed, cause.to_string());
    }

    fn not_spawned(&mut self, run: RunId, code: ErrorCode, cause: String) {
        if let Some(live) = self.live.remove(&run) {
            self.unlock(&live.harness.name);
        }
        self.feed(Event::NotSpawned { run, cause, code });
    }

    /// Gives the lock of a harness up; one that stays only keeps `once` out until the daemon ends.
    pub(super) fn unlock(&mut self, harness: &HarnessName) {
        if let Err(cause) = self.locks.release(harness) {
            warn!(%harness, %cause, "the lock of its run cannot be given up");
        }
    }

    /// A stop that came while a worker prepares: the answer is dropped when it comes.
    fn cancel(&mut self, run: RunId) {
        let waiting = self.carried.len();
        self.carried.retain(|start| start.run != run);
        if self.carried.len() < waiting {
            let cause = CANCELLED.to_owned();
            return self.feed(Event::NotSpawned { run, cause, code: ErrorCode::SpawnFailed });
        }
        if self.live.get(&run).is_some_and(|live| live.main == Main::Preparing) {
            self.not_spawned(run, ErrorCode::SpawnFailed, CANCELLED.to_owned());
        }
    }

    fn emit(&mut self, kind: EventKind) {
        log_event(&kind);
        self.next_event += 1;
        let event = wire::Event { seq: self.next_event, at: Self::now().wall, kind };
        self.clients.broadcast(&self.handle, &event);
    }

    /// An event of the shell's own, in the same stream as those of the core.
    pub(super) fn announce(&mut self, kind: EventKind) {
        self.effects.push(Effect::Emit(kind));
    }

    pub(super) fn reply(&mut self, ticket: Ticket, result: Result<serde_json::Value, ErrorBody>) {
        match self.tickets.remove(&ticket.0) {
            Some(Asker::Client { client, request }) => {
                let reply = match result {
                    Ok(value) => Reply::ok(request, value),
                    Err(error) => Reply::error(request, error),
                };
                self.clients.send(&self.handle, client, &reply);
            }
            Some(Asker::Foreground) => self.foreground_reply = Some(result),
            // The client went away while it waited.
            None => {}
        }
    }
}

fn log_event(kind: &EventKind) {
    match kind {
        EventKind::RunEnded { run } => {
            let (harness, id) = (&run.harness, run.id);
            let (outcome, cause) = (run.outcome.map(Outcome::as_str), run.cause.as_deref());
            match run.outcome {
                // The skipped firing is logged.
                Some(Outcome::Skipped) if run.trigger == Trigger::Schedule => {}
                Some(Outcome::Ok | Outcome::Stopped | Outcome::Replaced | Outcome::Skipped) => {
                    info!(%harness, run = %id, outcome, cause, "ended");
                }
                _ => warn!(%harness, run = %id, outcome, cause, "ended"),
            }
        }
        EventKind::FiringSkipped { run } => {
            info!(harness = %run.harness, cause = run.cause.as_deref(), "firing skipped");
        }
        EventKind::Flapping { harness, exits } => warn!(%harness, exits, "in a crash loop"),
        EventKind::StateChanged { .. }
        | EventKind::RunStarted { .. }
        | EventKind::ConfigReloaded { .. }
        | EventKind::ConfigRejected { .. } => {}
    }
}
