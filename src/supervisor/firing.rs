//! When a harness is due, and what becomes of slots that nobody ran in time (SCH-5).
//!
//! Invariants: each slot up to `settled` has exactly one record, and none after it has one; the
//! claim that moves `settled` is of the same turn as those records, so whatever the real-time clock
//! does and wherever the daemon goes away, no slot is run twice and none is forgotten. A schedule
//! that cannot be evaluated parks its own harness's timer and no other.

mod handed;
mod upcoming;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Supervisor, Turn};
use crate::base::{HarnessName, Wall};
use crate::config::Timetable;
use crate::lifecycle::{Event as Order, Firing, Standing};
use crate::schedule::{CatchUp, Overlap, jitter};
use crate::wire::{Record, Stretch};

use super::message::Effect;
pub(super) use handed::HandedTimer;
pub use upcoming::upcoming;

/// A slot that is taken longer than this after it was due was missed: timers fire within
/// milliseconds, and a busy daemon's turn takes seconds at worst.
pub(super) const LATE: Duration = Duration::from_secs(60);
/// So many missed slots are made up for under `catch_up = "all"`.
const OWED: usize = 10;

const DOWN: &str = "the daemon was down when it was due";
const AWAY: &str =
    "it was not run in time: the machine slept, its clock was set forward or the daemon was busy";
const LET_GO: &str = "asked to stop before it was made up for";

/// Until when everything is settled of each schedule, and of which expression.
type Claims = BTreeMap<HarnessName, (String, Wall)>;

/// An armed schedule.
#[derive(Debug)]
pub(super) struct Timer {
    timetable: Timetable,
    /// Every slot until then has its record; also the phase of an interval.
    settled: Wall,
    /// Whether `settled` may be a slot; else it is when the schedule was armed.
    fired: bool,
    /// The next slot, and when its delay is over.
    next: Option<(Wall, Wall)>,
    /// Slots that fell due wait for the run before them, to be made up for one after the other.
    owes: bool,
    /// When the daemon started a slot was due already, and nothing was settled since.
    absent: bool,
    /// Evaluating the expression panicked.
    broken: bool,
}

/// What is settled at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Taken {
    /// Slots that are not run.
    missed: Option<Stretch>,
    /// The slot that is run, and whether it was missed.
    run: Option<(Wall, bool)>,
    /// Whether more are owed.
    owes: bool,
}

impl Timer {
    fn new(name: &HarnessName, timetable: Timetable, known: Option<Wall>, now: Wall) -> Self {
        let (next, owes, broken) = (None, false, false);
        let settled = known.unwrap_or(now);
        let mut timer =
            Self { timetable, settled, fired: known.is_some(), next, owes, absent: false, broken };
        // By a clock that was ahead it may have been armed in what is the future: no slot was claimed there.
        if timer.settled > now && !timer.is_slot(timer.settled) {
            (timer.settled, timer.fired) = (now, false);
        }
        timer.plan(name, now);
        timer.absent = known.is_some() && timer.next().is_some_and(|due| due <= now);
        timer
    }

    /// Whether it is one; of an interval any instant may be.
    fn is_slot(&self, at: Wall) -> bool {
        let Timetable { expression, timezone, .. } = &self.timetable;
        let before = at - Duration::from_micros(1);
        guarded(|| expression.next_after(before, *timezone, at)).is_ok_and(|next| next == Some(at))
    }

    /// Finds the next slot: the first that is not settled, or that is not owed yet.
    fn plan(&mut self, name: &HarnessName, now: Wall) {
        let planned = guarded(|| {
            if !self.owes {
                return self.after(self.settled).map(|slot| (slot, self.due(name, slot)));
            }
            let delayed = self.latest(now, 1).pop().map(|slot| (slot, self.due(name, slot)));
            let after = || self.after(self.settled.max(now)).map(|slot| (slot, self.due(name, slot)));
            delayed.filter(|(_, due)| *due > now).or_else(after)
        });
        match planned {
            Ok(next) => (self.next, self.broken) = (next, false),
            Err(Broken) => self.park(),
        }
    }

    fn park(&mut self) {
        (self.next, self.owes, self.broken) = (None, false, true);
    }

    fn after(&self, slot: Wall) -> Option<Wall> {
        let Timetable { expression, timezone, .. } = &self.timetable;
        expression.next_after(slot, *timezone, self.settled)
    }

    /// The last slots until now that are not settled.
    fn latest(&self, now: Wall, n: usize) -> Vec<Wall> {
        let Timetable { expression, timezone, .. } = &self.timetable;
        expression.last(self.settled, now, *timezone, self.settled, n)
    }

    /// When the delay of a slot is over (SCH-6): before the next slot, so that their order stays.
    fn due(&self, name: &HarnessName, slot: Wall) -> Wall {
        let bound = self.timetable.jitter;
        if bound.is_zero() {
            return slot;
        }
        let gap = self.after(slot).map_or(Duration::MAX, |next| next.since(slot));
        slot + jitter(name.as_str(), slot, bound.min(gap))
    }

    /// Settles what is due, as far as that can be done now. `free`: no run is active.
    fn take(&mut self, name: &HarnessName, now: Wall, free: bool) -> Option<Taken> {
        let taken = match guarded(|| self.find(name, now, free)) {
            Ok(taken) => taken,
            Err(Broken) => {
                self.park();
                return None;
            }
        };
        self.owes = taken.as_ref().is_some_and(|taken| taken.owes);
        let until = taken.as_ref().and_then(Taken::settled);
        if let Some(until) = until {
            (self.settled, self.fired) = (until, true);
        }
        self.plan(name, now);
        taken.filter(|_| until.is_some())
    }

    fn find(&self, name: &HarnessName, now: Wall, free: bool) -> Option<Taken> {
        // The missed ones and one more, one that is just due, and one whose delay is not over.
        let mut slots = self.latest(now, OWED + 3);
        let Timetable { expression, timezone, catch_up, catch_up_window, .. } = &self.timetable;
        let all = || expression.count(self.settled, now, *timezone, self.settled);
        let mut count = if slots.len() < OWED + 3 { slots.len() as u64 } else { all() };
        let mut take_last = |slots: &mut Vec<Wall>, fits: &dyn Fn(Wall) -> bool| {
            let last = slots.pop_if(|slot| fits(*slot));
            count -= u64::from(last.is_some());
            last
        };
        take_last(&mut slots, &|slot| self.due(name, slot) > now);
        let fresh = take_last(&mut slots, &|slot| now.since(self.due(name, slot)) <= LATE);
        let recent = |slot: &&Wall| now.since(**slot) <= *catch_up_window;
        let owed = match catch_up {
            CatchUp::None => 0,
            // The slot that is just due stands for those before it.
            CatchUp::One => usize::from(fresh.is_none() && slots.last().as_ref().is_some_and(recent)),
            CatchUp::All => slots.iter().rev().take(OWED).take_while(recent).count(),
        };
        let owed = slots.split_off(slots.len() - owed);
        let missed = match (self.after(self.settled), slots.last()) {
            (Some(first), Some(last)) => {
                Some(Stretch { first, last: *last, count: count - owed.len() as u64 })
            }
            _ => None,
        };
        let in_line = owed.len() + usize::from(fresh.is_some());
        let first = owed.first().map(|slot| (*slot, true)).or_else(|| fresh.map(|slot| (slot, false)));
        let waits = *catch_up == CatchUp::All && !owed.is_empty() && !free;
        let taken = match first {
            Some(_) if waits => Taken { missed, run: None, owes: true },
            run => Taken { missed, run, owes: in_line > 1 },
        };
        (taken.missed.is_some() || in_line > 0).then_some(taken)
    }

    /// Gives up what is owed.
    fn let_go(&mut self, name: &HarnessName, now: Wall) -> Option<Stretch> {
        if !std::mem::take(&mut self.owes) {
            return None;
        }
        let stretch = guarded(|| {
            let last = self.latest(now, 2).into_iter().rfind(|slot| self.due(name, *slot) <= now)?;
            let Timetable { expression, timezone, .. } = &self.timetable;
            let count = expression.count(self.settled, last, *timezone, self.settled);
            Some(Stretch { first: self.after(self.settled)?, last, count })
        });
        if let Ok(Some(stretch)) = &stretch {
            (self.settled, self.fired) = (stretch.last, true);
        }
        self.plan(name, now);
        stretch.ok().flatten()
    }

    /// Notes what the store keeps: until when everything is settled, and of which schedule.
    fn claim(&self, name: &HarnessName, claims: &mut Claims, turn: &mut Turn) {
        let expression = identity(&self.timetable);
        claims.insert(name.clone(), (expression.clone(), self.settled));
        turn.effects.push(Effect::Record(Record::Fired {
            harness: name.clone(),
            expression,
            at: self.settled,
        }));
    }

    /// When the harness is due next, its delay included.
    pub(super) fn next(&self) -> Option<Wall> {
        self.next.map(|(_, due)| due)
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// The first slot that should have been taken long ago and is not.
    pub(super) fn late(&self, name: &HarnessName, now: Wall) -> Option<Wall> {
        let first = self.following(self.settled)?;
        let due = guarded(|| self.due(name, first)).ok()?;
        (now.since(due) > LATE).then_some(first)
    }

    /// The slot after this one.
    pub(super) fn following(&self, slot: Wall) -> Option<Wall> {
        guarded(|| self.after(slot)).ok().flatten()
    }
}

impl Taken {
    /// Until when everything has its record.
    fn settled(&self) -> Option<Wall> {
        self.run.map(|(slot, _)| slot).or_else(|| self.missed.as_ref().map(|stretch| stretch.last))
    }
}

/// By what a schedule is known again: when it is edited, nothing of it was missed.
fn identity(timetable: &Timetable) -> String {
    let Timetable { expression, timezone, .. } = timetable;
    if expression.is_interval() { expression.to_string() } else { format!("{expression} {timezone}") }
}

/// An evaluation that panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// SCH-10: a panic in one harness's schedule is that harness's trouble alone.
pub(super) fn guarded<T>(plan: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(plan)).map_err(|_| Broken)
}

impl Supervisor {
    /// Arms, keeps or disarms the timer of a harness as its definition says; an
    /// unchanged expression keeps its phase (SCH-7).
    pub(super) fn arm(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let before = slot.timer.as_ref().and_then(Timer::next);
        let (kept, now) = (slot.timer.take(), turn.now.wall);
        slot.timer = slot.harness.timetable().cloned().map(|wanted| match kept {
            Some(mut timer) if identity(&timer.timetable) == identity(&wanted) => {
                timer.timetable = wanted;
                timer.plan(name, now);
                timer
            }
            _ => {
                let (text, whole) = (wanted.expression.as_str(), identity(&wanted));
                // Earlier versions did not keep the zone.
                let known = self.firings.get(name).filter(|(of, _)| *of == whole || of == text);
                let known = known.map(|(_, at)| *at);
                let timer = Timer::new(name, wanted, known, now);
                if known != Some(timer.settled) {
                    timer.claim(name, &mut self.firings, turn);
                }
                timer
            }
        });
        let (armed, after) = (slot.timer.is_some(), slot.timer.as_ref().and_then(Timer::next));
        self.alarms.set_wall(name, before, after);
        if !armed {
            self.forget_schedule(name, turn);
        }
    }

    /// The timer goes; what the store knows of it stays, for the next daemon.
    pub(super) fn disarm(&mut self, name: &HarnessName) {
        let timer = self.slots.get_mut(name).and_then(|slot| slot.timer.take());
        self.alarms.set_wall(name, timer.and_then(|timer| timer.next()), None);
    }

    /// The schedule is gone from the configuration: should it come back, it has missed nothing.
    pub(super) fn forget_schedule(&mut self, name: &HarnessName, turn: &mut Turn) {
        if self.firings.remove(name).is_some() {
            turn.effects.push(Effect::Record(Record::Disarmed { harness: name.clone() }));
        }
    }

    /// The clock went back: what was never claimed is planned by the new time.
    pub(super) fn plan_anew(&mut self, turn: &mut Turn) {
        let now = turn.now.wall;
        for (name, slot) in &mut self.slots {
            let Some(timer) = &mut slot.timer else { continue };
            let before = timer.next();
            if !timer.fired && timer.settled > now {
                timer.settled = now;
                timer.claim(name, &mut self.firings, turn);
            }
            timer.plan(name, now);
            self.alarms.set_wall(name, before, timer.next());
        }
    }

    /// Takes what is due of a harness: a run, a skipped or missed one, in the same turn as the claim.
    pub(super) fn fire(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let free = matches!(slot.machine.standing(), Standing::Idle | Standing::Waiting | Standing::Parked);
        let Some(timer) = &mut slot.timer else { return };
        let (before, absent) = (timer.next(), timer.absent);
        let taken = timer.take(name, turn.now.wall, free);
        self.alarms.set_wall(name, before, timer.next());
        let Some(taken) = taken else { return };
        timer.absent = false;
        let overlap = match timer.timetable.overlap {
            Overlap::Skip => Firing::Skip,
            Overlap::Queue => Firing::Queue,
            Overlap::Replace => Firing::Replace,
        };
        timer.claim(name, &mut self.firings, turn);
        if let Some(stretch) = taken.missed {
            self.missed(name, stretch, if absent { DOWN } else { AWAY }, turn);
        }
        match taken.run {
            Some((slot, true)) => self.drive(name, Order::CatchUp { slot, overlap }, turn),
            Some((slot, false)) => self.drive(name, Order::Fire { slot, overlap }, turn),
            None => {}
        }
    }

    /// Whether missed slots wait for the end of a run.
    pub(super) fn owes(&self, name: &HarnessName) -> bool {
        let Some(slot) = self.slots.get(name) else { return false };
        let rests = matches!(slot.machine.standing(), Standing::Idle | Standing::Parked);
        rests && slot.timer.as_ref().is_some_and(|timer| timer.owes)
    }

    /// Somebody stops the harness: it is not to go on with what it owes.
    pub(super) fn let_go(&mut self, name: &HarnessName, turn: &mut Turn) {
        let Some(timer) = self.slots.get_mut(name).and_then(|slot| slot.timer.as_mut()) else { return };
        let before = timer.next();
        let stretch = timer.let_go(name, turn.now.wall);
        self.alarms.set_wall(name, before, timer.next());
        if let Some(stretch) = stretch {
            timer.claim(name, &mut self.firings, turn);
            self.missed(name, stretch, LET_GO, turn);
        }
    }
}
