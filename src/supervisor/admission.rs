//! From a decided launch to the start: one-shots pass through the queue (SCH-9, SCH-12).
//!
//! Invariant: a run that waits at the end of the turn in which it was decided has its row, and a run
//! is launched in the turn in which it is admitted, after its record.

use super::queue::Place;
use super::slot::{Live, Terms};
use super::{Supervisor, Turn};
use crate::base::{HarnessName, RunId, Trigger};
use crate::lifecycle::{Event as Order, Request};
use crate::wire::{EventKind, Record};

use super::message::Effect;

/// The answer to a launch that was taken back while it waited.
const WITHDRAWN: &str = "stopped before it was started";

impl Supervisor {
    /// A machine wants a run: residents and foreground runs begin at once, the others when it is their turn.
    pub(super) fn launch(
        &mut self,
        name: &HarnessName,
        id: RunId,
        request: Request,
        attempt: u32,
        turn: &mut Turn,
    ) {
        let Some(run) = self.row(name, id, request, attempt) else { return };
        let Some(slot) = self.slots.get_mut(name) else { return };
        for waiter in &mut slot.waiters {
            waiter.run.get_or_insert(id);
        }
        let harness = slot.harness.clone();
        // A slot that has waited for the run before it has its row already.
        let declared = slot.awaited.take().is_some_and(|row| row.id == id);
        let session = slot.take_session(request.trigger);
        slot.live = Some(Live { run, terms: Terms::of(&harness), refusal: None, session });
        self.runs.insert(id, name.clone());
        if harness.oneshot() && request.trigger != Trigger::Once {
            self.queue.join(id, request.planned_at.unwrap_or(turn.now.wall), Place::of(&harness));
            if !declared {
                turn.joined.push(id);
            }
        } else {
            self.begin(id, turn);
        }
    }

    /// A launch is taken back: by the shell, unless it waits here.
    pub(super) fn cancel(&mut self, run: RunId, turn: &mut Turn) {
        if self.queue.withdraw(run).is_none() {
            return turn.effects.push(Effect::Cancel { run });
        }
        if turn.joined.contains(&run) {
            self.declare(run, turn);
        }
        turn.withdrawn.push(run);
    }

    /// What is left to do at the end of a turn: answer launches that were taken back, go on with what
    /// is owed, and admit whoever may go on now.
    pub(super) fn finish(&mut self, turn: &mut Turn) {
        loop {
            if let Some(run) = turn.withdrawn.pop() {
                self.of_run(
                    run,
                    Order::NotSpawned { run, cause: WITHDRAWN.to_owned(), blameless: false },
                    turn,
                );
            } else if let Some(name) = turn.idle.pop() {
                if self.owes(&name) {
                    self.fire(&name, turn);
                }
            } else {
                break;
            }
        }
        while let Some(run) = self.queue.next() {
            self.begin(run, turn);
        }
        for run in std::mem::take(&mut turn.joined) {
            if self.queue.reason(run).is_some() {
                self.declare(run, turn);
            }
        }
    }

    /// A definition has changed: what waits will be started with the new one.
    pub(super) fn requeue(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let (harness, Some(live)) = (slot.harness.clone(), slot.live.as_mut()) else { return };
        let Some(since) = self.queue.withdraw(live.run.id) else { return };
        let run = live.run.id;
        live.terms = Terms::of(&harness);
        if harness.oneshot() {
            self.queue.join(run, since, Place::of(&harness));
        } else {
            self.begin(run, turn);
        }
    }

    /// Records a run that waits.
    fn declare(&self, run: RunId, turn: &mut Turn) {
        let live = self.runs.get(&run).and_then(|name| self.slots.get(name)?.live.as_ref());
        turn.effects.extend(live.map(|live| Effect::Record(Record::RunQueued(live.run.clone()))));
    }

    /// Records and launches a run.
    fn begin(&mut self, id: RunId, turn: &mut Turn) {
        let Some(slot) = self.runs.get(&id).and_then(|name| self.slots.get_mut(name)) else { return };
        let (harness, Some(live)) = (slot.harness.clone(), slot.live.as_mut()) else { return };
        live.run.started_at = Some(turn.now.wall);
        harness.adapter.id().clone_into(&mut live.run.adapter);
        live.run.definition_hash.clone_from(&harness.definition_hash);
        let run = live.run.clone();
        let (trigger, attempt, session) = (run.trigger, run.attempt, live.session.clone());
        turn.effects.extend([
            Effect::Record(Record::RunStarted(run.clone())),
            Effect::Emit(EventKind::RunStarted { run }),
            Effect::Launch { run: id, harness, trigger, attempt, session },
        ]);
    }
}
