//! An armed schedule on its way to a successor (CTL-11).
//!
//! Invariant: the phase and the claims cross unchanged; what the expression means is the successor's
//! own reading of its configuration.

use serde::{Deserialize, Serialize};

use super::Timer;
use crate::base::{Wall, micros};
use crate::config::Timetable;

/// See [`Timer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::supervisor) struct HandedTimer {
    expression: String,
    timezone: String,
    #[serde(with = "micros")]
    settled: Wall,
    #[serde(default)]
    fired: bool,
    /// In microseconds.
    #[serde(default)]
    next: Option<(i64, i64)>,
    #[serde(default)]
    owes: bool,
    #[serde(default)]
    absent: bool,
    #[serde(default)]
    broken: bool,
}

impl HandedTimer {
    pub(in crate::supervisor) fn of(timer: &Timer) -> Self {
        Self {
            expression: timer.timetable.expression.as_str().to_owned(),
            timezone: timer.timetable.timezone.name().to_owned(),
            settled: timer.settled,
            fired: timer.fired,
            next: timer.next.map(|(slot, due)| (slot.0, due.0)),
            owes: timer.owes,
            absent: timer.absent,
            broken: timer.broken,
        }
    }

    /// The timer again, if the definition still has this schedule.
    pub(in crate::supervisor) fn resume(&self, timetable: &Timetable) -> Option<Timer> {
        let same =
            timetable.expression.as_str() == self.expression && timetable.timezone.name() == self.timezone;
        same.then(|| Timer {
            timetable: timetable.clone(),
            settled: self.settled,
            fired: self.fired,
            next: self.next.map(|(slot, due)| (Wall(slot), Wall(due))),
            owes: self.owes,
            absent: self.absent,
            broken: self.broken,
        })
    }
}
