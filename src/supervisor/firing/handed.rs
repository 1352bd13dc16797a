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
    anchor: Wall,
    #[serde(default, with = "micros::option")]
    last: Option<Wall>,
    #[serde(default, with = "micros::option")]
    next: Option<Wall>,
    #[serde(default)]
    broken: bool,
}

impl HandedTimer {
    pub(in crate::supervisor) fn of(timer: &Timer) -> Self {
        Self {
            expression: timer.timetable.expression.as_str().to_owned(),
            timezone: timer.timetable.timezone.name().to_owned(),
            anchor: timer.anchor,
            last: timer.last,
            next: timer.next,
            broken: timer.broken,
        }
    }

    /// The timer again, if the definition still has this schedule.
    pub(in crate::supervisor) fn resume(&self, timetable: &Timetable) -> Option<Timer> {
        let same =
            timetable.expression.as_str() == self.expression && timetable.timezone.name() == self.timezone;
        same.then(|| Timer {
            timetable: timetable.clone(),
            anchor: self.anchor,
            last: self.last,
            next: self.next,
            broken: self.broken,
        })
    }
}
