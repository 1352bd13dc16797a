//! The fleet on its way to a successor (CTL-11).
//!
//! Invariants: what was decided crosses unchanged, instants to the microsecond; definitions do not
//! cross, the successor reads its own. A field that is added later has a default, so that versions of one
//! minor version understand each other in both directions.

pub(super) mod exact;
mod remnant;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::asks::Asks;
use super::firing::HandedTimer;
use super::message::Wish;
use super::queue::HandedQueue;
use super::slot::{Live, Slot, Waiter};
use crate::base::{HarnessName, Wall};
use crate::config::{Configuration, Harness};
use crate::lifecycle::{Chance, Machine};
use crate::wire::Run;

pub use remnant::Remnant;

/// Everything that a fleet knows and its configuration does not say.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    chance: Option<Chance>,
    slots: Vec<HandedSlot>,
    asks: Asks,
    queue: HandedQueue,
    intents: BTreeMap<HarnessName, bool>,
    /// The last claimed slots, in microseconds.
    firings: BTreeMap<HarnessName, (String, i64)>,
    offset: Option<i64>,
    /// The profile that was last used.
    profile: Option<String>,
    /// Harnesses that were kept out of the first configuration still come as at boot.
    late: bool,
}

/// See [`Slot`].
#[derive(Debug, Clone, Serialize, Deserialize)]
struct HandedSlot {
    definition: Remnant,
    #[serde(default)]
    machine: Machine,
    #[serde(default)]
    live: Option<Live>,
    #[serde(default, with = "exact::option")]
    awaited: Option<Run>,
    #[serde(default)]
    timer: Option<HandedTimer>,
    #[serde(default)]
    waiters: Vec<Waiter>,
    #[serde(default, with = "exact::option")]
    last_run: Option<Run>,
    #[serde(default)]
    session: Option<Wish>,
    #[serde(default)]
    removed: bool,
}

impl Supervisor {
    /// The fleet as a successor needs it.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            chance: Some(self.chance.clone()),
            slots: self.slots.values().map(|slot| HandedSlot::of(slot)).collect(),
            asks: self.asks.clone(),
            queue: HandedQueue::of(&self.queue),
            intents: self.intents.clone(),
            firings: self
                .firings
                .iter()
                .map(|(name, (text, at))| (name.clone(), (text.clone(), at.0)))
                .collect(),
            offset: self.offset,
            profile: self.profile.clone(),
            late: self.late.is_some(),
        }
    }

    /// The fleet of a predecessor. Harnesses that `configuration` does not declare as they were keep what
    /// is left of their definition until it is applied to them by [`Event::Configure`](super::Event).
    #[must_use]
    pub fn restore(snapshot: Snapshot, configuration: &Configuration, seed: u64) -> Self {
        let mut fleet = Self::new(seed);
        if let Some(chance) = snapshot.chance {
            fleet.chance = chance;
        }
        fleet.settings = Some(configuration.daemon.clone());
        fleet.notify.clone_from(&configuration.notify);
        fleet.regroup(&configuration.profiles);
        fleet.profile = snapshot.profile;
        fleet.asks = snapshot.asks;
        fleet.queue = snapshot.queue.resume(configuration.daemon.max_parallel_runs);
        fleet.intents = snapshot.intents;
        fleet.firings =
            snapshot.firings.into_iter().map(|(name, (text, at))| (name, (text, Wall(at)))).collect();
        fleet.offset = snapshot.offset;
        fleet.late = snapshot.late.then(BTreeMap::new);
        for handed in snapshot.slots {
            fleet.take_in(handed.revive(configuration));
        }
        fleet
    }

    /// The harnesses that wait for somebody to log their agents in: the shell watches for that.
    #[must_use]
    pub fn parked(&self) -> Vec<Arc<Harness>> {
        self.slots.values().filter(|slot| slot.parked()).map(|slot| Arc::clone(&slot.harness)).collect()
    }

    /// Whether a configuration declares exactly the present harnesses, each as it is in force.
    #[must_use]
    pub fn agrees_with(&self, configuration: &Configuration) -> bool {
        let present = self.slots.iter().filter(|(_, slot)| !slot.removed);
        let hashes = |harness: &Harness| (harness.definition_hash.clone(), harness.launch_hash.clone());
        let present = present.map(|(name, slot)| (name, hashes(&slot.harness)));
        present.eq(configuration.harnesses.iter().map(|(name, harness)| (name, hashes(harness))))
    }

    fn take_in(&mut self, slot: Slot) {
        let name = slot.harness.name.clone();
        if let Some(live) = &slot.live {
            self.runs.insert(live.run.id, name.clone());
        }
        self.alarms.set_mono(&name, None, slot.machine.deadline());
        self.alarms.set_limit(&name, None, slot.machine.wall_deadline());
        self.alarms.set_wall(&name, None, slot.timer.as_ref().and_then(|timer| timer.next()));
        self.slots.insert(name, Box::new(slot));
    }
}

impl HandedSlot {
    fn of(slot: &Slot) -> Self {
        Self {
            definition: Remnant::of(&slot.harness),
            machine: slot.machine.clone(),
            live: slot.live.clone(),
            awaited: slot.awaited.clone(),
            timer: slot.timer.as_ref().map(HandedTimer::of),
            waiters: slot.waiters.clone(),
            last_run: slot.last_run.clone(),
            session: slot.session.clone(),
            removed: slot.removed,
        }
    }

    fn revive(mut self, configuration: &Configuration) -> Slot {
        let present = configuration.harnesses.get(self.definition.name());
        let timetable = present.and_then(|harness| harness.timetable());
        let timer = self.timer.zip(timetable).and_then(|(timer, timetable)| timer.resume(timetable));
        if timetable.is_some() && timer.is_none() && !self.removed {
            // It is not known when it is due: then it is a changed harness, whose timer is armed.
            self.definition.forget();
        }
        Slot {
            harness: self.definition.revive(configuration),
            machine: self.machine,
            live: self.live,
            awaited: self.awaited,
            timer,
            waiters: self.waiters,
            last_run: self.last_run,
            session: self.session,
            removed: self.removed,
        }
    }
}
