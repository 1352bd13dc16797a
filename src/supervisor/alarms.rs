//! All deadlines of the fleet, sorted.
//!
//! Invariant: a harness stands in each set at most once, at the instant that
//! its machine or its timer wants.

use std::collections::BTreeSet;

use crate::base::{HarnessName, Mono, Wall};

/// The deadlines by both clocks.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    mono: BTreeSet<(Mono, HarnessName)>,
    wall: BTreeSet<(Wall, HarnessName)>,
    /// The ends of limits by the real-time clock: beside a slot of its schedule a harness may wait for one.
    limits: BTreeSet<(Wall, HarnessName)>,
}

impl Alarms {
    pub(super) fn mono(&self) -> Option<Mono> {
        self.mono.first().map(|(at, _)| *at)
    }

    pub(super) fn wall(&self) -> Option<Wall> {
        self.wall.first().into_iter().chain(self.limits.first()).map(|(at, _)| *at).min()
    }

    pub(super) fn set_mono(&mut self, name: &HarnessName, before: Option<Mono>, after: Option<Mono>) {
        replace(&mut self.mono, name, before, after);
    }

    pub(super) fn set_wall(&mut self, name: &HarnessName, before: Option<Wall>, after: Option<Wall>) {
        replace(&mut self.wall, name, before, after);
    }

    pub(super) fn set_limit(&mut self, name: &HarnessName, before: Option<Wall>, after: Option<Wall>) {
        replace(&mut self.limits, name, before, after);
    }

    /// Whose monotonic deadline has passed, earliest first.
    pub(super) fn due_by_mono(&self, now: Mono) -> Vec<HarnessName> {
        self.mono.iter().take_while(|(at, _)| *at <= now).map(|(_, name)| name.clone()).collect()
    }

    /// Whose slot has come, earliest first.
    pub(super) fn due_by_wall(&self, now: Wall) -> Vec<HarnessName> {
        self.wall.iter().take_while(|(at, _)| *at <= now).map(|(_, name)| name.clone()).collect()
    }

    /// Whose limit is over by the real-time clock, earliest first.
    pub(super) fn limits_over(&self, now: Wall) -> Vec<HarnessName> {
        self.limits.iter().take_while(|(at, _)| *at <= now).map(|(_, name)| name.clone()).collect()
    }
}

fn replace<T: Ord + Copy>(
    set: &mut BTreeSet<(T, HarnessName)>,
    name: &HarnessName,
    before: Option<T>,
    after: Option<T>,
) {
    if before == after {
        return;
    }
    if let Some(at) = before {
        set.remove(&(at, name.clone()));
    }
    if let Some(at) = after {
        set.insert((at, name.clone()));
    }
}
