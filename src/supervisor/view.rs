//! What people are shown of the fleet.

use super::Supervisor;
use super::firing::Timer;
use super::slot::Slot;
use crate::base::{HarnessName, Outcome, State};
use crate::wire::{Attention, HarnessView, Waiting, WaitingReason};

impl Supervisor {
    /// One harness as `list` shows it.
    #[must_use]
    pub fn view(&self, name: &HarnessName) -> Option<HarnessView> {
        self.slots.get(name).map(|slot| self.shown(slot))
    }

    /// All harnesses by name.
    #[must_use]
    pub fn views(&self) -> Vec<HarnessView> {
        self.slots.values().map(|slot| self.shown(slot)).collect()
    }

    /// A harness, with what it waits for in the queue.
    fn shown(&self, slot: &Slot) -> HarnessView {
        let view = slot.view();
        let reason = view.run.and_then(|run| self.queue.reason(run));
        let queued = reason.map(|reason| Waiting { reason, until: None });
        HarnessView { waiting: view.waiting.or(queued), ..view }
    }

    /// Who needs a person.
    #[must_use]
    pub fn attention(&self) -> Vec<Attention> {
        let reasons = self.slots.iter().filter_map(|(name, slot)| Some((name, slot.trouble()?)));
        reasons.map(|(name, reason)| Attention { harness: name.clone(), reason }).collect()
    }
}

impl Slot {
    fn view(&self) -> HarnessView {
        let harness = &self.harness;
        let waits = |until| Waiting { reason: WaitingReason::Backoff, until: Some(until) };
        HarnessView {
            name: harness.name.clone(),
            project: harness.project.as_ref().map(|project| project.name.clone()),
            adapter: harness.adapter.id().to_owned(),
            state: self.machine.state(),
            enabled: harness.enabled,
            oneshot: harness.oneshot(),
            pid: self.live.as_ref().and_then(|live| live.run.pid),
            run: self.machine.run(),
            restarts: self.machine.restarts(),
            schedule: harness.timetable().map(|timetable| timetable.expression.as_str().to_owned()),
            next_firing: self.timer.as_ref().and_then(Timer::next),
            waiting: self.machine.waits_until().map(waits),
            changed: self.changed(),
            description: harness.description.clone(),
            last_run: self.last_run.clone(),
        }
    }

    fn trouble(&self) -> Option<String> {
        let ended = self.last_run.as_ref().and_then(|run| Some((run.outcome?, run.cause.as_deref())));
        let cause = ended.and_then(|(_, cause)| cause).unwrap_or("no cause is known");
        match self.machine.state() {
            State::Failed if self.machine.failures() > 1 => {
                Some(format!("given up after {} failed attempts: {cause}", self.machine.failures()))
            }
            State::Failed => Some(format!("failed: {cause}")),
            State::Degraded => Some(format!("in a crash loop: {cause}")),
            _ if self.timer.as_ref().is_some_and(Timer::is_broken) => {
                Some("its schedule cannot be evaluated".to_owned())
            }
            _ if self.changed() => Some("changed: restart to apply".to_owned()),
            State::Stopped | State::Backoff => match ended? {
                (
                    outcome @ (Outcome::Failed | Outcome::Timeout | Outcome::SpawnFailed | Outcome::Lost),
                    _,
                ) => Some(format!("its last run ended `{outcome}`: {cause}")),
                _ => None,
            },
            _ => None,
        }
    }
}
