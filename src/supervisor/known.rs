//! What the fleet knows that a store should hold, for one that has to be made anew.
//!
//! Invariant: applied to an empty store in this order, a daemon that starts from it goes on as this one would.

use super::Supervisor;
use super::firing::Timer;
use super::message::Effect;
use crate::wire::Record;

impl Supervisor {
    /// Open runs, the last ended run of each harness, claims, phases of intervals and intents.
    #[must_use]
    pub fn known(&self) -> Vec<Record> {
        let live = self.slots.values().filter_map(|slot| slot.live.as_ref()).map(|live| live.run.clone());
        let mut records: Vec<Record> = live
            .map(
                |run| if run.started_at.is_some() { Record::RunStarted(run) } else { Record::RunQueued(run) },
            )
            .collect();
        let ended = self.slots.values().filter_map(|slot| slot.last_run.clone());
        records.extend(ended.map(Record::RunEnded));
        let phases = self.slots.iter().filter_map(|(name, slot)| {
            match slot.timer.as_ref().and_then(|timer: &Timer| timer.armed(name)) {
                Some(Effect::Record(record)) => Some(record),
                _ => None,
            }
        });
        records.extend(phases);
        records.extend(self.firings.iter().map(|(harness, (expression, at))| Record::Fired {
            harness: harness.clone(),
            expression: expression.clone(),
            at: *at,
        }));
        let intents = self.intents.iter();
        records.extend(
            intents.map(|(harness, wanted)| Record::Intent { harness: harness.clone(), wanted: *wanted }),
        );
        records
    }
}
