//! What people are shown of the fleet.

use super::Supervisor;
use super::firing::Timer;
use super::slot::Slot;
use crate::base::{HarnessName, State};
use crate::lifecycle::Wait;
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
            waiting: self.machine.waits().map(waiting),
            changed: self.changed(),
            changed_since_up: None,
            description: harness.description.clone(),
            last_run: self.last_run.clone(),
        }
    }

    fn trouble(&self) -> Option<String> {
        let ended = self.last_run.as_ref().and_then(|run| Some((run.outcome?, run.cause.as_deref())));
        let cause = ended.and_then(|(_, cause)| cause).unwrap_or("no cause is known");
        match (self.machine.waits(), self.machine.state()) {
            (Some(Wait::Login), _) => {
                return Some(format!("parked until its agent is logged in, or it is started: {cause}"));
            }
            (Some(Wait::Limit(until)), _) => {
                return Some(format!("waits for the end of a limit until {}: {cause}", until.rfc3339()));
            }
            (_, State::Failed) if self.machine.failures() > 1 => {
                return Some(format!("given up after {} failed attempts: {cause}", self.machine.failures()));
            }
            (_, State::Failed) => return Some(format!("failed: {cause}")),
            (_, State::Degraded) => return Some(format!("in a crash loop: {cause}")),
            _ => {}
        }
        if self.timer.as_ref().is_some_and(Timer::is_broken) {
            return Some("its schedule cannot be evaluated".to_owned());
        }
        if self.changed() {
            return Some("changed: restart to apply".to_owned());
        }
        let rests = matches!(self.machine.state(), State::Stopped | State::Backoff);
        let outcome = ended.map(|(outcome, _)| outcome).filter(|outcome| rests && outcome.is_failure())?;
        Some(format!("its last run ended `{outcome}`: {cause}"))
    }
}

fn waiting(wait: Wait) -> Waiting {
    let (reason, until) = match wait {
        Wait::Backoff(until) => (WaitingReason::Backoff, Some(until)),
        Wait::Limit(until) => (WaitingReason::Limit, Some(until)),
        Wait::Login => (WaitingReason::Login, None),
    };
    Waiting { reason, until }
}
