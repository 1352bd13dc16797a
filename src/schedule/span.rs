//! How many firings lie in a span of time, and which are its last ones (SCH-5).
//!
//! Invariant: the answers are those of asking for one firing after the other, but
//! the work grows with the days of the span at most, not with its firings: where
//! the clock is not changed a whole day, hour or minute is counted at once.

use chrono::{DateTime, NaiveDateTime, Offset, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

use super::calendar::{Block, Calendar};
use super::local::{self, EARLIEST, LATEST};
use super::{Pace, Rule, Schedule};
use crate::base::Wall;

const SECOND: i64 = 1_000_000;
/// So many firings are looked at one by one.
const FEW: usize = 32;
const DAY: i64 = 86_400;

impl Schedule {
    /// How many firings lie after `after`, up to `until`; for the rest see [`Schedule::next_after`].
    #[must_use]
    pub fn count(&self, after: Wall, until: Wall, zone: Tz, anchor: Wall) -> u64 {
        match &self.rule {
            _ if until <= after => 0,
            Rule::Calendar { calendar, pace } => Counter { calendar, pace: *pace, zone }.count(after, until),
            Rule::Every(interval) => {
                let whole =
                    |at: Wall| (i128::from(at.0) - i128::from(anchor.0)).div_euclid(i128::from(*interval));
                u64::try_from(whole(until) - whole(after)).unwrap_or(0)
            }
        }
    }

    /// The last `n` firings after `after`, up to `until`, rising.
    #[must_use]
    pub fn last(&self, after: Wall, until: Wall, zone: Tz, anchor: Wall, n: usize) -> Vec<Wall> {
        let onward = |from: Wall| {
            let next = move |last: &Wall| self.next_after(*last, zone, anchor);
            std::iter::successors(next(&from), next).take_while(move |at| *at <= until)
        };
        let tail = |mut found: Vec<Wall>| found.split_off(found.len().saturating_sub(n));
        let few: Vec<Wall> = onward(after).take(FEW).collect();
        if few.len() < FEW {
            return tail(few);
        }
        let wanted = u64::try_from(n).unwrap_or(u64::MAX);
        let enough = |from: i64| self.count(Wall(from), until, zone, anchor) >= wanted;
        // Double the span until it holds enough, then narrow it down, so that nothing before is looked at.
        let (mut low, mut high, mut span) = (until.0, until.0, SECOND);
        while low > after.0 && !enough(low) {
            high = low;
            low = until.0.saturating_sub(span).max(after.0);
            span = span.saturating_mul(2);
        }
        while high.saturating_sub(low) > SECOND {
            let middle = low + (high - low) / 2;
            if enough(middle) { low = middle } else { high = middle }
        }
        tail(onward(Wall(low)).collect())
    }
}

/// A calendar in a zone. Its firings lie on whole seconds; instants are seconds since 1970 here.
struct Counter<'a> {
    calendar: &'a Calendar,
    pace: Pace,
    zone: Tz,
}

impl Counter<'_> {
    fn count(&self, after: Wall, until: Wall) -> u64 {
        let mut at = after.max(EARLIEST).0.div_euclid(SECOND);
        let until = until.min(LATEST).0.div_euclid(SECOND);
        let mut count = 0;
        while at < until {
            let start = at + 1;
            if let Some((block, seconds)) = self.block(start, until) {
                let within = self.calendar.within(self.shown(start), block);
                if within > 0 {
                    (count, at) = (count + within, at + seconds);
                    continue;
                }
            }
            // Nothing for a while, or a moment that cannot be counted as part of a block.
            match local::next(self.calendar, self.pace, Wall(at * SECOND), self.zone) {
                Some(next) if next.0 == start * SECOND => (count, at) = (count + 1, start),
                Some(next) => at = next.0 / SECOND - 1,
                None => break,
            }
        }
        count
    }

    /// The longest block that begins at `start`, ends by `until`, and in which the clock goes as always.
    fn block(&self, start: i64, until: i64) -> Option<(Block, i64)> {
        let shown = self.shown(start);
        let blocks = [(Block::Day, DAY), (Block::Hour, 3600), (Block::Minute, 60)];
        blocks.into_iter().find(|(_, seconds)| {
            i64::from(shown.num_seconds_from_midnight()) % seconds == 0
                && start + seconds - 1 <= until
                && self.is_plain(start, *seconds)
        })
    }

    /// Whether each moment of a block is shown for the first time, one after the other, and its first
    /// one is not the end of a gap.
    fn is_plain(&self, start: i64, seconds: i64) -> bool {
        let ahead = self.ahead(start);
        if self.ahead(start + seconds - 1) != ahead || self.ahead(start - 1) != ahead {
            return false;
        }
        // What the clock went back by lately is shown again for as long.
        let back = self.ahead(start - DAY).max(self.ahead(start - 2 * DAY)) - ahead;
        self.pace == Pace::Elapsed || back <= 0 || self.ahead(start - back) == ahead
    }

    /// What the clock is ahead of UTC, in seconds.
    fn ahead(&self, at: i64) -> i64 {
        i64::from(self.zone.offset_from_utc_datetime(&utc(at).naive_utc()).fix().local_minus_utc())
    }

    fn shown(&self, at: i64) -> NaiveDateTime {
        local::shown(utc(at), self.zone)
    }
}

fn utc(at: i64) -> DateTime<Utc> {
    Wall(at * SECOND).utc()
}
