//! Layer 2: when a harness is due.
//!
//! An expression is read once ([`Schedule::parse`]) and then asked for the first
//! firing after an instant. The dialect is cron(8)'s with an optional leading
//! seconds field, the usual nicknames and `@every` (SCH-1).
//!
//! Invariant: the calendar is expanded on wall-clock time without a zone, and
//! only the submodule `local` maps it to instants, by this project's rules for
//! clock changes (SCH-3). Every answer is strictly later than the instant asked about.

mod calendar;
mod catch_up;
mod error;
mod expression;
mod field;
mod jitter;
mod local;
mod overlap;
mod span;
#[cfg(test)]
mod tests;
mod zone;

use std::fmt;
use std::time::Duration;

use chrono_tz::Tz;

use crate::base::Wall;
use calendar::Calendar;

pub use catch_up::CatchUp;
pub use error::ScheduleError;
pub use jitter::jitter;
pub use overlap::Overlap;
pub use zone::{ZoneError, parse_zone};

/// A schedule expression that fires at least once.
///
/// Two are equal if they are written alike, so that a reload can tell whether
/// the phase is to be kept (SCH-7).
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    text: String,
    rule: Rule,
}

/// What an expression means.
#[derive(Debug, Clone, PartialEq)]
enum Rule {
    /// Fires at wall-clock times.
    Calendar {
        calendar: Box<Calendar>,
        /// What a change of the clock does to it.
        pace: Pace,
    },
    /// Fires each time this many microseconds (at least one second) have passed.
    Every(i64),
}

/// How wall-clock times become instants where the clock is changed (SCH-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Each wall-clock time once: the first of two, and the end of the gap for one that is left out.
    Once,
    /// Whenever the clock shows it: in both of two, and never in a gap.
    Elapsed,
}

impl Schedule {
    /// Reads an expression. Validation and firing both go through here (SCH-2).
    ///
    /// # Errors
    /// If it is not of the dialect, or can never fire.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let rule = expression::parse(text)?;
        Ok(Self { text: text.to_owned(), rule })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is an `@every`, which counts from an anchor and knows no zone.
    #[must_use]
    pub const fn is_interval(&self) -> bool {
        self.interval().is_some()
    }

    /// The time between the firings of an `@every`.
    #[must_use]
    pub const fn interval(&self) -> Option<Duration> {
        match self.rule {
            Rule::Every(micros) => Some(Duration::from_micros(micros.unsigned_abs())),
            Rule::Calendar { .. } => None,
        }
    }

    /// The first firing strictly after `after`.
    ///
    /// `anchor` is the phase of an `@every`: the last firing, or the instant at
    /// which it was armed. Its firings lie whole intervals from there, on either
    /// side. Other expressions do not look at it, and an `@every` not at `zone`.
    ///
    /// None if nothing is left before the end of the year 2100, where the
    /// calendar ends.
    #[must_use]
    pub fn next_after(&self, after: Wall, zone: Tz, anchor: Wall) -> Option<Wall> {
        match &self.rule {
            Rule::Calendar { calendar, pace } => local::next(calendar, *pace, after, zone),
            Rule::Every(interval) => next_interval(*interval, after, anchor),
        }
    }

    /// At most `n` firings after `from`, rising. An `@every` is taken as armed at `from`.
    pub fn firings(&self, from: Wall, zone: Tz, n: usize) -> impl Iterator<Item = Wall> + '_ {
        std::iter::successors(self.next_after(from, zone, from), move |last| {
            self.next_after(*last, zone, from)
        })
        .take(n)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The first instant after `after` that is a whole number of intervals from `anchor`.
fn next_interval(interval: i64, after: Wall, anchor: Wall) -> Option<Wall> {
    let (interval, anchor) = (i128::from(interval), i128::from(anchor.0));
    let passed = (i128::from(after.0) - anchor).div_euclid(interval);
    i64::try_from(anchor + (passed + 1) * interval).ok().map(Wall)
}
