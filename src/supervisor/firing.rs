//! When a harness is due.
//!
//! Invariants: a slot is claimed once, whatever the real-time clock does; a
//! schedule that cannot be evaluated parks its own harness's timer and no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Supervisor, Turn};
use crate::base::{HarnessName, Wall};
use crate::config::Timetable;
use crate::lifecycle::{Event as Order, Firing};
use crate::schedule::Overlap;
use crate::wire::Record;

use super::message::Effect;

/// An armed schedule.
#[derive(Debug)]
pub(super) struct Timer {
    timetable: Timetable,
    /// The phase of an interval: its last slot, or when it was armed.
    anchor: Wall,
    /// The last slot that was claimed.
    last: Option<Wall>,
    /// The next slot.
    next: Option<Wall>,
    /// Evaluating the expression panicked.
    broken: bool,
}

impl Timer {
    fn new(timetable: Timetable, last: Option<Wall>, now: Wall) -> Self {
        let anchor = last.unwrap_or(now);
        let mut timer = Self { timetable, anchor, last, next: None, broken: false };
        timer.plan(now);
        timer
    }

    /// Finds the next slot: after now, and after the last one though the clock went back.
    fn plan(&mut self, now: Wall) {
        let after = self.last.map_or(now, |last| last.max(now));
        let Timetable { expression, timezone, .. } = &self.timetable;
        match guarded(|| expression.next_after(after, *timezone, self.anchor)) {
            Ok(next) => self.next = next,
            Err(Broken) => (self.next, self.broken) = (None, true),
        }
    }

    /// Claims the slot that is due; one claim covers all that were missed until now.
    fn claim(&mut self, now: Wall) -> Option<Wall> {
        let slot = self.next.filter(|slot| *slot <= now)?;
        (self.last, self.anchor) = (Some(slot), slot);
        self.plan(now);
        Some(slot)
    }

    /// The phase of an interval that has not fired yet, for the store: it must outlive the daemon.
    pub(super) fn armed(&self, name: &HarnessName) -> Option<Effect> {
        let expression = &self.timetable.expression;
        (self.last.is_none() && expression.is_interval()).then(|| {
            let expression = expression.as_str().to_owned();
            Effect::Record(Record::Fired { harness: name.clone(), expression, at: self.anchor })
        })
    }

    pub(super) const fn next(&self) -> Option<Wall> {
        self.next
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }
}

/// An evaluation that panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// SCH-10: a panic in one harness's schedule is that harness's trouble alone.
pub(super) fn guarded(plan: impl FnOnce() -> Option<Wall>) -> Result<Option<Wall>, Broken> {
    catch_unwind(AssertUnwindSafe(plan)).map_err(|_| Broken)
}

impl Supervisor {
    /// Arms, keeps or disarms the timer of a harness as its definition says; an
    /// unchanged expression keeps its phase (SCH-7).
    pub(super) fn arm(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let before = slot.timer.as_ref().and_then(Timer::next);
        let wanted = slot.harness.timetable().cloned();
        slot.timer = match (slot.timer.take(), wanted) {
            (Some(mut timer), Some(wanted))
                if timer.timetable.expression == wanted.expression
                    && timer.timetable.timezone == wanted.timezone =>
            {
                timer.timetable = wanted;
                Some(timer)
            }
            (_, Some(wanted)) => {
                let text = wanted.expression.as_str();
                let known = self.firings.get(name).filter(|(of, _)| of == text).map(|(_, at)| *at);
                let timer = Timer::new(wanted, known, turn.now.wall);
                turn.effects.extend(timer.armed(name));
                Some(timer)
            }
            (_, None) => None,
        };
        let after = slot.timer.as_ref().and_then(Timer::next);
        self.alarms.set_wall(name, before, after);
    }

    pub(super) fn disarm(&mut self, name: &HarnessName) {
        let timer = self.slots.get_mut(name).and_then(|slot| slot.timer.take());
        self.alarms.set_wall(name, timer.and_then(|timer| timer.next), None);
    }

    /// The clock went back: what was not claimed yet is planned by the new time.
    pub(super) fn plan_anew(&mut self, turn: &mut Turn) {
        for (name, slot) in &mut self.slots {
            let Some(timer) = &mut slot.timer else { continue };
            let before = timer.next;
            if timer.last.is_none() && timer.anchor > turn.now.wall {
                timer.anchor = turn.now.wall;
                turn.effects.extend(timer.armed(name));
            }
            timer.plan(turn.now.wall);
            self.alarms.set_wall(name, before, timer.next);
        }
    }

    /// Claims the due slot of a harness and gives it to its machine.
    pub(super) fn fire(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(timer) = self.slots.get_mut(name).and_then(|slot| slot.timer.as_mut()) else { return };
        let before = timer.next;
        let Some(slot) = timer.claim(turn.now.wall) else { return };
        let (after, expression) = (timer.next, timer.timetable.expression.as_str().to_owned());
        let overlap = match timer.timetable.overlap {
            Overlap::Skip => Firing::Skip,
            Overlap::Queue => Firing::Queue,
            Overlap::Replace => Firing::Replace,
        };
        self.alarms.set_wall(name, before, after);
        self.firings.insert(name.clone(), (expression.clone(), slot));
        turn.effects.push(Effect::Record(Record::Fired { harness: name.clone(), expression, at: slot }));
        self.drive(name, Order::Fire { slot, overlap }, turn);
    }
}
