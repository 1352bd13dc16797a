//! Boot and reload (LIF-2, CFG-10).
//!
//! Invariant: a reload never touches a process of a harness that stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::message::{Effect, Remembered};
use super::slot::Slot;
use super::{Supervisor, Turn};
use crate::base::{HarnessName, Outcome, Trigger};
use crate::config::{Configuration, Harness};
use crate::lifecycle::{Event as Order, Request, RestartPolicy, StopReason};
use crate::wire::{EventKind, Run};

const BOOT: Request = Request { trigger: Trigger::Boot, planned_at: None };

impl Supervisor {
    /// Takes the first configuration and starts what was intended, not what once ran.
    pub(super) fn boot(&mut self, first: &Configuration, remembered: Remembered, turn: &mut Turn) {
        let Remembered { intents, last_firings, mut last_runs, profile } = remembered;
        self.settings = Some(first.daemon.clone());
        self.notify.clone_from(&first.notify);
        self.regroup(&first.profiles);
        self.profile = profile;
        self.intents = intents;
        self.firings = last_firings;
        self.queue.set_bound(first.daemon.max_parallel_runs);
        for (name, harness) in &first.harnesses {
            let slot = Slot::new(harness.clone(), last_runs.remove(name));
            self.slots.insert(name.clone(), Box::new(slot));
            self.set_off(name, harness, turn);
        }
        if first.partial {
            self.late = Some(last_runs);
        } else {
            self.forget_gone_schedules(turn);
        }
    }

    /// The last runs of harnesses that still come as at boot, which do not cross a re-execution. They are asked
    /// for where there may be such harnesses, as a rule not at all.
    pub fn recall(&mut self, last_runs: impl FnOnce() -> BTreeMap<HarnessName, Run>) {
        if let Some(late) = &mut self.late {
            *late = last_runs();
        }
    }

    /// Starts a harness of which nothing goes on yet if that was intended, or parks it again.
    fn set_off(&mut self, name: &HarnessName, harness: &Harness, turn: &mut Turn) {
        self.arm(name, turn);
        if starts_at_boot(harness, self.is_enabled(harness), self.intents.get(name).copied()) {
            self.drive(name, Order::Start(BOOT), turn);
        } else if self.slots.get(name).is_some_and(|slot| was_parked(slot)) {
            self.drive(name, Order::Park, turn);
        }
    }

    fn forget_gone_schedules(&mut self, turn: &mut Turn) {
        let gone = self.firings.keys().filter(|name| !self.slots.contains_key(*name));
        for name in gone.cloned().collect::<Vec<_>>() {
            self.forget_schedule(&name, turn);
        }
    }

    /// Applies an accepted configuration by difference.
    pub(super) fn configure(&mut self, next: &Configuration, turn: &mut Turn) {
        if self.shutting_down {
            return;
        }
        self.settings = Some(next.daemon.clone());
        self.notify.clone_from(&next.notify);
        self.regroup(&next.profiles);
        self.queue.set_bound(next.daemon.max_parallel_runs);
        let present = self.slots.iter().filter(|(_, slot)| !slot.removed);
        let known: Vec<HarnessName> = present.map(|(name, _)| name.clone()).collect();
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for name in known {
            match next.harnesses.get(&name) {
                None => removed.push(name),
                Some(harness) if self.replace(&name, harness) => changed.push(name),
                Some(_) => {}
            }
        }
        let is_new = |name: &&HarnessName| self.slots.get(*name).is_none_or(|slot| slot.removed);
        added.extend(next.harnesses.keys().filter(is_new).cloned());
        turn.effects.push(Effect::Emit(EventKind::ConfigReloaded {
            added: added.clone(),
            removed: removed.clone(),
            changed: changed.clone(),
        }));
        for name in &removed {
            self.remove(name, turn);
        }
        for name in &changed {
            self.arm(name, turn);
            self.requeue(name, turn);
            self.drive(name, Order::Revised, turn);
        }
        for name in added {
            if let Some(harness) = next.harnesses.get(&name) {
                self.add(name, harness, turn);
            }
        }
        if !next.partial && self.late.take().is_some() {
            self.forget_gone_schedules(turn);
        }
    }

    /// Puts a definition in force; whether it differs in more than its place.
    fn replace(&mut self, name: &HarnessName, next: &Arc<Harness>) -> bool {
        let Some(slot) = self.slots.get_mut(name) else { return false };
        let before = std::mem::replace(&mut slot.harness, next.clone());
        before.definition_hash != next.definition_hash || before.launch_hash != next.launch_hash
    }

    /// A new harness, or one that comes back while it is still being stopped.
    fn add(&mut self, name: HarnessName, harness: &Arc<Harness>, turn: &mut Turn) {
        if !self.slots.contains_key(&name)
            && let Some(late) = &mut self.late
        {
            let slot = Slot::new(harness.clone(), late.remove(&name));
            self.slots.insert(name.clone(), Box::new(slot));
            return self.set_off(&name, harness, turn);
        }
        let slot =
            self.slots.entry(name.clone()).or_insert_with(|| Box::new(Slot::new(harness.clone(), None)));
        slot.harness = harness.clone();
        slot.removed = false;
        self.arm(&name, turn);
        if self.is_enabled(harness) {
            if harness.restart() == RestartPolicy::UnlessStopped && self.intents.get(&name) == Some(&false) {
                // Else the next boot would hold a stop against it that was given before it was removed.
                self.remember(&name, true, turn);
            }
            self.drive(&name, Order::Start(BOOT), turn);
        }
    }

    /// Stops a harness that is gone from the files; it is forgotten when it has stopped.
    fn remove(&mut self, name: &HarnessName, turn: &mut Turn) {
        if self.intents.get(name) == Some(&true) {
            self.remember(name, false, turn);
        }
        self.disarm(name);
        self.forget_schedule(name, turn);
        if let Some(slot) = self.slots.get_mut(name) {
            slot.removed = true;
        }
        self.drive(name, Order::Stop(StopReason::Removed), turn);
    }
}

/// Whether an earlier daemon has left a scheduled harness parked (RUN-0). One whose definition has
/// changed since may have got its login by that.
fn was_parked(slot: &Slot) -> bool {
    let unchanged = |run: &Run| run.definition_hash == slot.harness.definition_hash;
    let refused = |run: &Run| run.outcome == Some(Outcome::AuthRequired) && unchanged(run);
    slot.harness.timetable().is_some() && slot.last_run.as_ref().is_some_and(refused)
}

/// LIF-2: what is enabled (or a member of the profile that starts at boot), and what was started by hand and not stopped since. A
/// stop by hand outlives the daemon under `unless-stopped` only (LIF-3).
fn starts_at_boot(harness: &Harness, enabled: bool, intent: Option<bool>) -> bool {
    let stopped = intent == Some(false) && harness.restart() == RestartPolicy::UnlessStopped;
    let wanted = intent == Some(true) && !harness.oneshot();
    wanted || (enabled && !stopped)
}
