//! Turning what machines decide into records, events, answers and work for the shell.
//!
//! Invariant: the record of a run's start stands before its launch, and its end
//! is recorded once.

use super::asks::{Answer, Row, line};
use super::message::{Effect, Rest};
use super::slot::{Goal, Live, Waiter};
use super::{Supervisor, Turn};
use crate::base::{ExitStatus, HarnessName, Outcome, RunId, Trigger, Wall};
use crate::lifecycle::{Effect as Decision, End, Event as Order, Request, Standing, signal_name};
use crate::wire::{ErrorBody, ErrorCode, EventKind, Launched, Record, Run, Stretch};

impl Supervisor {
    /// Gives an order to a harness's machine and performs what it decides.
    pub(super) fn drive(&mut self, name: &HarnessName, order: Order, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let policy = slot.policy(self.settings.as_ref());
        let revised = matches!(order, Order::Revised);
        let (mono, limit) = (slot.machine.deadline(), slot.machine.wall_deadline());
        let was_parked = slot.parked();
        let decisions = slot.machine.handle(order, &policy, turn.now, &mut self.chance);
        for decision in decisions {
            self.perform(name, decision, turn);
        }
        let Some(slot) = self.slots.get_mut(name) else { return };
        self.alarms.set_mono(name, mono, slot.machine.deadline());
        self.alarms.set_limit(name, limit, slot.machine.wall_deadline());
        let parked = slot.parked();
        if parked && revised {
            turn.effects.push(Effect::Park { harness: slot.harness.clone() });
        }
        if was_parked && !parked {
            turn.effects.push(Effect::Unpark { harness: name.clone() });
        }
        if matches!(slot.machine.standing(), Standing::Idle | Standing::Parked) && slot.timer.is_some() {
            turn.idle.push(name.clone());
        }
        if slot.is_over() {
            self.slots.remove(name);
            self.firings.remove(name);
        }
    }

    fn perform(&mut self, name: &HarnessName, decision: Decision, turn: &mut Turn) {
        match decision {
            Decision::Launch { run, request, attempt } => self.launch(name, run, request, attempt, turn),
            Decision::Cancel(run) => self.cancel(run, turn),
            Decision::StopTree(run) => turn.effects.push(Effect::StopTree { run }),
            Decision::KillTree(run) => turn.effects.push(Effect::KillTree { run }),
            Decision::Ended { run, end, status } => self.ended(name, run, end, status, turn),
            Decision::Check(run) => {
                let harness = self.harness(name).cloned();
                turn.effects.extend(harness.map(|harness| Effect::Check { run, harness }));
            }
            Decision::Parked => {
                let harness = self.harness(name).cloned();
                turn.effects.extend(harness.map(|harness| Effect::Park { harness }));
            }
            Decision::Changed { from, to } => {
                turn.effects.push(Effect::Emit(EventKind::StateChanged { harness: name.clone(), from, to }));
            }
            Decision::Flapping { exits } => {
                turn.effects.push(Effect::Emit(EventKind::Flapping { harness: name.clone(), exits }));
            }
            Decision::Awaits { run, request } => self.awaits(name, run, request, turn),
            Decision::Skipped { slot, cause } => self.skipped(name, slot, cause, turn),
            Decision::Dropped => self.dropped(name, turn),
        }
    }

    pub(super) fn row(&self, name: &HarnessName, id: RunId, request: Request, attempt: u32) -> Option<Run> {
        let harness = self.harness(name)?;
        let (adapter, hash) = (harness.adapter.id().to_owned(), harness.definition_hash.clone());
        let run = Run::new(id, name.clone(), request.trigger, adapter, hash);
        Some(Run { attempt, planned_at: request.planned_at, ..run })
    }

    fn awaits(&mut self, name: &HarnessName, id: RunId, request: Request, turn: &mut Turn) {
        let row = self.row(name, id, request, 1);
        let Some(slot) = self.slots.get_mut(name) else { return };
        slot.awaited.clone_from(&row);
        turn.effects.extend(row.map(|row| Effect::Record(Record::RunQueued(row))));
    }

    fn skipped(&mut self, name: &HarnessName, slot: Wall, cause: String, turn: &mut Turn) {
        let known = self.slots.get_mut(name);
        let awaited = known.and_then(|known| known.awaited.take_if(|row| row.planned_at == Some(slot)));
        if let Some(row) = awaited {
            let (outcome, ended_at) = (Some(Outcome::Skipped), Some(turn.now.wall));
            let run = Run { outcome, ended_at, cause: Some(cause), ..row };
            turn.effects.push(Effect::Record(Record::RunEnded(run.clone())));
            self.notify(&run, turn);
            turn.effects.push(Effect::Emit(EventKind::FiringSkipped { run }));
            return;
        }
        let id = self.chance.run_id(turn.now.wall);
        let request = Request { trigger: Trigger::Schedule, planned_at: Some(slot) };
        let Some(row) = self.row(name, id, request, 1) else { return };
        let run = Run { outcome: Some(Outcome::Skipped), cause: Some(cause), ..row };
        turn.effects.push(Effect::Record(Record::Skipped(run.clone())));
        // What it is parked for was told with the run that it is parked for.
        let parked = self.slots.get(name).is_some_and(|slot| slot.parked());
        if !parked {
            self.notify(&run, turn);
        }
        turn.effects.push(Effect::Emit(EventKind::FiringSkipped { run }));
    }

    /// A stretch of slots that nobody ran (SCH-11).
    pub(super) fn missed(&mut self, name: &HarnessName, stretch: Stretch, cause: &str, turn: &mut Turn) {
        let id = self.chance.run_id(turn.now.wall);
        let request = Request { trigger: Trigger::Schedule, planned_at: Some(stretch.last) };
        let Some(row) = self.row(name, id, request, 1) else { return };
        let (outcome, cause) = (Some(Outcome::Missed), Some(cause.to_owned()));
        let run = Run { outcome, cause, missed: Some(stretch), ..row };
        turn.effects.push(Effect::Record(Record::Skipped(run.clone())));
        self.notify(&run, turn);
        turn.effects.push(Effect::Emit(EventKind::FiringSkipped { run }));
    }

    fn ended(
        &mut self,
        name: &HarnessName,
        id: RunId,
        end: End,
        status: Option<ExitStatus>,
        turn: &mut Turn,
    ) {
        self.runs.remove(&id);
        self.queue.release(id);
        let Some(slot) = self.slots.get_mut(name) else { return };
        let Some(Live { mut run, refusal, .. }) = slot.live.take() else { return };
        run.ended_at = Some(turn.now.wall);
        run.outcome = Some(end.outcome);
        run.cause = end.cause;
        run.until = end.until;
        run.lingered = end.lingered;
        match status {
            Some(ExitStatus::Code(code)) => run.exit_code = Some(code),
            Some(ExitStatus::Signal(number)) => run.signal = Some(signal_name(number)),
            None => {}
        }
        let skipped = end.outcome == Outcome::Skipped;
        if !skipped {
            slot.last_run = Some(run.clone());
        }
        let waiters = slot.take_waiters(|waiter| waiter.run == Some(id));
        turn.effects.push(Effect::Record(Record::RunEnded(run.clone())));
        self.notify(&run, turn);
        turn.effects.push(Effect::Emit(EventKind::RunEnded { run: run.clone() }));
        if skipped && matches!(run.trigger, Trigger::Schedule | Trigger::CatchUp) {
            turn.effects.push(Effect::Emit(EventKind::FiringSkipped { run: run.clone() }));
        }
        for waiter in waiters {
            let answer = at_end(&waiter, &run, refusal);
            turn.effects.extend(self.asks.answer(waiter.ticket, name, answer));
        }
    }

    /// Lets those know of a run that is over who want to (RUN-5).
    pub(super) fn notify(&self, run: &Run, turn: &mut Turn) {
        let Some(notify) = &self.notify else { return };
        if run.outcome.is_some_and(|outcome| notify.on.contains(&outcome)) {
            turn.effects.push(Effect::Notify { notify: notify.clone(), run: Box::new(run.clone()) });
        }
    }

    /// The start that was to follow does not: those who wait for it hear so.
    fn dropped(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        slot.session = None;
        let (code, why) = match slot.machine.standing() {
            Standing::Parked => (ErrorCode::RunFailed, "is parked: its agent is not logged in"),
            _ => (ErrorCode::AlreadyStopping, "was stopped before it could start again"),
        };
        for waiter in slot.take_waiters(|waiter| waiter.run.is_none()) {
            let error = ErrorBody::new(code, format!("`{name}` {why}"));
            turn.effects.extend(self.asks.answer(waiter.ticket, name, Err(error)));
        }
    }

    pub(super) fn spawned(&mut self, run: RunId, facts: Launched, turn: &mut Turn) {
        let Some(name) = self.runs.get(&run).cloned() else { return };
        if let Some(live) = self.slots.get_mut(&name).and_then(|slot| slot.live.as_mut()) {
            let row = &mut live.run;
            row.pid = Some(facts.pid);
            row.process_start = (facts.process_start != 0).then_some(facts.process_start);
            row.command.clone_from(&facts.command);
            row.workdir.clone_from(&facts.workdir);
            row.log.clone_from(&facts.log);
            row.skills.clone_from(&facts.skills);
            row.report.clone_from(&facts.report);
            row.git_before.clone_from(&facts.git_before);
        }
        turn.effects.push(Effect::Record(Record::RunSpawned { id: run, facts }));
        self.drive(&name, Order::Spawned(run), turn);
        let Some(slot) = self.slots.get_mut(&name) else { return };
        if slot.machine.standing() != Standing::Running(run) {
            return;
        }
        for waiter in slot.take_waiters(|waiter| waiter.run == Some(run) && waiter.goal == Goal::Runs) {
            let answer = Ok(line(&name, &waiter.result, Some(run)));
            turn.effects.extend(self.asks.answer(waiter.ticket, &name, answer));
        }
    }

    /// Nothing of the run is alive: what became known at its end goes into its row first.
    pub(super) fn emptied(&mut self, run: RunId, rest: Rest, turn: &mut Turn) {
        let Some(name) = self.runs.get(&run).cloned() else { return };
        if let Some(live) = self.slots.get_mut(&name).and_then(|slot| slot.live.as_mut()) {
            live.run.git_after = rest.git_after;
            live.run.dropped_bytes = rest.dropped_bytes;
        }
        self.drive(&name, Order::Emptied { run, report: rest.report }, turn);
    }

    /// The version of the program that a run executes.
    pub(super) fn version(&mut self, run: RunId, version: String, turn: &mut Turn) {
        let Some(slot) = self.runs.get(&run).and_then(|name| self.slots.get_mut(name)) else { return };
        if let Some(live) = &mut slot.live {
            live.run.agent_version = Some(version.clone());
            turn.effects.push(Effect::Record(Record::RunVersion { id: run, version }));
        }
    }

    pub(super) fn not_spawned(&mut self, run: RunId, cause: String, code: ErrorCode, turn: &mut Turn) {
        let Some(name) = self.runs.get(&run).cloned() else { return };
        if let Some(live) = self.slots.get_mut(&name).and_then(|slot| slot.live.as_mut()) {
            live.refusal = Some(code);
        }
        let order = match code {
            ErrorCode::AlreadyRunning => Order::Busy { run, cause },
            _ => Order::NotSpawned { run, cause, blameless: code == ErrorCode::Internal },
        };
        self.drive(&name, order, turn);
    }
}

/// What somebody hears when the run that he waits for is over.
fn at_end(waiter: &Waiter, run: &Run, refusal: Option<ErrorCode>) -> Answer {
    let good = || Ok(line(&run.harness, &waiter.result, Some(run.id)));
    match (waiter.goal, run.outcome) {
        (Goal::Row, _) => Ok(Row::Run(Box::new(run.clone()))),
        (Goal::Gone, _) | (Goal::Ends, Some(Outcome::Ok)) => good(),
        (Goal::Runs | Goal::Ends, outcome) => {
            let (name, cause) = (&run.harness, run.cause.as_deref().unwrap_or("it ended"));
            Err(match (outcome, refusal) {
                (Some(Outcome::SpawnFailed | Outcome::Skipped), code) => ErrorBody::new(
                    code.unwrap_or(ErrorCode::SpawnFailed),
                    format!("harness `{name}` could not be started: {cause}"),
                ),
                (Some(outcome), _) => ErrorBody::new(
                    ErrorCode::RunFailed,
                    format!("the run of harness `{name}` ended `{outcome}`: {cause}"),
                ),
                (None, _) => {
                    ErrorBody::new(ErrorCode::Internal, format!("the run of harness `{name}` has no outcome"))
                }
            })
        }
    }
}
