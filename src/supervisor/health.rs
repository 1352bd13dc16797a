//! Which jobs are not as they should be (SCH-11): for a health check that watches the watcher.
//!
//! Invariant: a job that does what its schedule and its policy say, and whose last run went well, is none.

use std::time::Duration;

use super::Supervisor;
use super::firing::LATE;
use crate::base::{HarnessName, Outcome, State, Wall, duration_text};
use crate::wire::Attention;

use super::slot::Slot;

impl Supervisor {
    /// Every harness that is late, parked or failed its last run, with the first of these that is true.
    #[must_use]
    pub fn problems(&self, now: Wall) -> Vec<Attention> {
        let all = self.slots.iter().filter(|(_, slot)| !slot.removed);
        let bad = all.filter_map(|(name, slot)| {
            Some(Attention { harness: name.clone(), reason: self.problem(name, slot, now)? })
        });
        bad.collect()
    }

    fn problem(&self, name: &HarnessName, slot: &Slot, now: Wall) -> Option<String> {
        if slot.parked() {
            return Some("parked: its agent has to be logged in".to_owned());
        }
        if slot.timer.as_ref().is_some_and(|timer| timer.is_broken()) {
            return Some("late: its schedule cannot be evaluated".to_owned());
        }
        self.late(name, slot, now).or_else(|| slot.failure())
    }

    fn late(&self, name: &HarnessName, slot: &Slot, now: Wall) -> Option<String> {
        let timer = slot.timer.as_ref()?;
        if let Some(missed) = timer.late(name, now) {
            return Some(format!("late: its slot of {} has not been run yet", missed.rfc3339()));
        }
        let run =
            slot.live.as_ref().map(|live| &live.run).filter(|run| self.queue.reason(run.id).is_some())?;
        let planned = run.planned_at?;
        let next = timer.following(planned)?;
        (now.since(next) > LATE).then(|| {
            let waited = Duration::from_secs(now.since(planned).as_secs());
            let planned = planned.rfc3339();
            format!(
                "late: its run of {planned} has been waiting for {}, past its next slot",
                duration_text(waited)
            )
        })
    }
}

impl Slot {
    /// How its last run failed, unless nothing of that matters any more.
    fn failure(&self) -> Option<String> {
        let last = self.last_run.as_ref()?;
        let outcome = last.outcome?;
        // What was missed is no failure of the job.
        let failed = outcome.is_failure() && outcome != Outcome::Missed;
        // A resident that runs again has got over it.
        let over = !self.harness.oneshot() && self.machine.state() == State::Running;
        let cause = last.cause.as_deref().unwrap_or("no cause is known");
        (failed && !over).then(|| format!("failed: its last run ended `{outcome}`: {cause}"))
    }
}
