//! What the fleet knows that a store should hold, for one that has to be made anew.
//!
//! Invariant: applied to an empty store in this order, a daemon that starts from it goes on as this one would.

use super::Supervisor;
use crate::wire::Record;

impl Supervisor {
    /// Open runs, slots that wait, the last ended run of each harness, claims, intents and the profile in use.
    #[must_use]
    pub fn known(&self) -> Vec<Record> {
        let live = self.slots.values().filter_map(|slot| slot.live.as_ref()).map(|live| live.run.clone());
        let mut records: Vec<Record> = live
            .map(
                |run| if run.started_at.is_some() { Record::RunStarted(run) } else { Record::RunQueued(run) },
            )
            .collect();
        let awaited = self.slots.values().filter_map(|slot| slot.awaited.clone());
        records.extend(awaited.map(Record::RunQueued));
        let ended = self.slots.values().filter_map(|slot| slot.last_run.clone());
        records.extend(ended.map(Record::RunEnded));
        records.extend(self.firings.iter().map(|(harness, (expression, at))| Record::Fired {
            harness: harness.clone(),
            expression: expression.clone(),
            at: *at,
        }));
        let intents = self.intents.iter();
        records.extend(
            intents.map(|(harness, wanted)| Record::Intent { harness: harness.clone(), wanted: *wanted }),
        );
        records.extend(self.profile.iter().map(|name| Record::Profile { name: name.clone() }));
        records
    }
}
