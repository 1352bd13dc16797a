//! Performing what the core decided, with the records first (LIF-9).

use std::sync::Arc;

use tracing::{info, warn};

use super::output::Output;
use super::state::{Asker, Daemon, Live, Main};
use crate::base::{HarnessName, Outcome, RunId, Trigger, Wall};
use crate::config::Harness;
use crate::host::logs::{self, LogWriter};
use crate::host::process::{SpawnError, spawn_into};
use crate::host::run_lock::RunLockError;
use crate::launch::{Chosen, Conditions, LaunchError, Prepared, is_quick, log_file, prepare};
use crate::supervisor::{Effect, Event, Ticket, Wish};
use crate::wire::{self, ErrorBody, ErrorCode, EventKind, Launched, Record, Reply, Run};

/// Starts in one turn.
const STARTS: usize = 32;
/// Why a start that a stop overtook was none.
const CANCELLED: &str = "stopped before it was started";

/// A start that was decided and recorded.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) run: RunId,
    pub(super) harness: Arc<Harness>,
    pub(super) trigger: Trigger,
    pub(super) session: Option<Wish>,
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
            let over = ends(&records);
            ended.extend(records.iter().filter_map(|record| match record {
                Record::RunEnded(run) | Record::Skipped(run) => Some(run.harness.clone()),
                _ => None,
            }));
            self.commit(records);
            if !over.is_empty() {
                self.transcripts_end(&over);
            }
            for effect in rest {
                self.perform(effect);
            }
            while starts < STARTS
                && !self.holds_starts()
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
            self.forget(&harness);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Record(record) => self.commit(vec![record]),
            Effect::Launch { run, harness, trigger, session, attempt: _ } => {
                self.carried.push_back(Start { run, harness, trigger, session });
            }
            Effect::Cancel { run } => self.cancel(run),
            Effect::StopTree { run } => self.stop_tree(run),
            Effect::KillTree { run } => self.kill_tree(run),
            Effect::Check { run, .. } => self.check(run),
            Effect::Park { harness } => self.park(&harness),
            Effect::Unpark { harness } => self.unpark(&harness),
            Effect::Notify { notify, run } => self.notify(&notify, &run),
            Effect::Emit(kind) => self.emit(kind),
            Effect::Reply { ticket, result } => self.reply(ticket, result),
        }
    }

    fn launch(&mut self, Start { run, harness, trigger, session }: Start) {
        // A paid prompt may run twice after a crash if its slot is not on the disk.
        if let (Trigger::Schedule | Trigger::CatchUp, Some(trouble)) = (trigger, &self.store_trouble) {
            let cause = format!("its slot cannot be claimed: {trouble}");
            return self.feed(Event::NotSpawned { run, cause, code: ErrorCode::Internal });
        }
        // Alone nobody would hear of it: a run that is not recorded may have been paid for in vain.
        if self.foreground && self.store_trouble.is_some() {
            self.try_to_store();
        }
        if let (true, Some(trouble)) = (self.foreground, &self.store_trouble) {
            let cause = format!("its start cannot be recorded: {trouble}");
            return self.feed(Event::NotSpawned { run, cause, code: ErrorCode::Internal });
        }
        if let Err(cause) = self.locks.acquire(&harness.name) {
            let code = match cause {
                RunLockError::Held { .. } => ErrorCode::AlreadyRunning,
                RunLockError::Unusable(_) => ErrorCode::Internal,
            };
            return self.feed(Event::NotSpawned { run, cause: cause.to_string(), code });
        }
        self.live.insert(run, Live::preparing(Arc::clone(&harness)));
        let stale = self.stale_runs(run, &harness.name);
        if stale.is_empty() && session.is_none() && is_quick(&harness) {
            let prepared = prepare(&harness, run, &self.around, Chosen::Fresh);
            self.start(run, prepared);
        } else {
            self.workers.prepare(run, stale, harness, session, Arc::clone(&self.around));
        }
    }

    /// Runs of the harness that are open although we hold its lock: whoever ran them went away.
    fn stale_runs(&self, run: RunId, harness: &HarnessName) -> Vec<Run> {
        if self.store_trouble.is_some() {
            // The end of our own last run may be among the records that wait.
            return Vec::new();
        }
        match self.store.open_runs_of(harness) {
            // One that was never started waits in its daemon's queue, which may be there: the lock is a run's.
            Ok(open) => open.into_iter().filter(|one| one.id != run && one.started_at.is_some()).collect(),
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
        let mut log = LogWriter::open(&path, harness.log_max_bytes);
        match spawn_into(&prepared.spec, group.as_ref()) {
            Ok(spawned) => {
                if let Some(cause) = &spawned.outside {
                    warn!(harness = %harness.name, %run, %cause, "it runs outside of its control group");
                }
                for warning in &prepared.warnings {
                    log.note(warning);
                }
                let shown = self.echo.is_some();
                let format = prepared.report.as_deref();
                let output = Output::new(run, spawned.output, log, &harness, format, shown);
                self.watch_output(run, output);
                self.family.started(run, spawned.pid, spawned.start_time);
                if let Some(live) = self.live.get_mut(&run) {
                    live.main = Main::Alive(spawned.pid);
                    live.repository = prepared.repository.map(|_| prepared.workdir.clone());
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
                        report: prepared.report,
                        git_before: prepared.git_before,
                        trail: Some(prepared.trail.clone()),
                    },
                });
                let now = Self::now();
                self.following.begin(run, harness.name.clone(), prepared.trail, now.wall, now.mono);
                self.ask_version(run, &harness, &prepared.spec);
                let check = harness.watch().and_then(|watch| watch.check.as_ref());
                if let (Some(check), Some(live)) = (check, self.live.get_mut(&run)) {
                    // As it is now: a reload or a successor may have another one for the next run.
                    live.conditions = Some(Conditions::of(prepared.spec, check.command.clone()));
                }
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
        let code = if cause.is_shortage() { ErrorCode::Internal } else { ErrorCode::SpawnFailed };
        self.not_spawned(run, code, cause.to_string());
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
        self.tell_subscribers(Self::now().wall, kind);
    }

    /// Tells what happened at some time, in the one order of all events.
    pub(super) fn tell_subscribers(&mut self, at: Wall, kind: EventKind) {
        self.next_event += 1;
        self.clients.broadcast(&self.handle, &wire::Event { seq: self.next_event, at, kind });
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

/// The runs that are over, whose transcripts are looked at once more.
pub(super) fn ends(records: &[Record]) -> Vec<(RunId, Wall)> {
    let end = |record: &Record| match record {
        Record::RunEnded(run) | Record::RunLost(run) => {
            run.started_at.and(run.ended_at).map(|at| (run.id, at))
        }
        _ => None,
    };
    records.iter().filter_map(end).collect()
}

fn log_event(kind: &EventKind) {
    match kind {
        EventKind::RunEnded { run } => {
            let (harness, id) = (&run.harness, run.id);
            let (outcome, cause) = (run.outcome.map(Outcome::as_str), run.cause.as_deref());
            match run.outcome {
                // The skipped firing is logged.
                Some(Outcome::Skipped) if matches!(run.trigger, Trigger::Schedule | Trigger::CatchUp) => {}
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
        | EventKind::TrajectoryEvent(_)
        | EventKind::RunStarted { .. }
        | EventKind::ConfigReloaded { .. }
        | EventKind::ConfigRejected { .. } => {}
    }
}
