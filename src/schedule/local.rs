//! From wall-clock times to instants (SCH-3).
//!
//! Invariant: an answer is strictly later than the instant asked about, and the
//! searches end: each turn of a loop moves the wall clock forward, and a turn
//! that does not answer passes a whole gap or the rest of an overlap.

use chrono::offset::LocalResult;
use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use super::Pace;
use super::calendar::Calendar;
use crate::base::Wall;

const SECOND: TimeDelta = TimeDelta::seconds(1);
/// More than the offset of a zone and the length of a gap together.
const FARTHEST: TimeDelta = TimeDelta::hours(50);
/// The calendar begins in 1970; two days before that is before it in every zone.
pub(super) const EARLIEST: Wall = Wall(-2 * 86_400 * 1_000_000);
/// The first instant of 2101 in UTC, and two days: after the calendar's end in every zone.
pub(super) const LATEST: Wall = Wall((4_133_980_800 + 2 * 86_400) * 1_000_000);

/// The first instant after `after` at which `calendar` is due in `zone`.
pub(super) fn next(calendar: &Calendar, pace: Pace, after: Wall, zone: Tz) -> Option<Wall> {
    if after > LATEST {
        return None;
    }
    let after = after.max(EARLIEST).utc();
    let next = match pace {
        Pace::Once => next_once(calendar, after, zone),
        Pace::Elapsed => next_elapsed(calendar, after, zone),
    };
    next.map(Wall::from_utc)
}

/// Each wall-clock time has one instant, and later times never have earlier
/// ones: those up to the present wall-clock time are over, whatever it is.
fn next_once(calendar: &Calendar, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let mut wall = shown(after, zone);
    loop {
        wall = calendar.next(wall)?;
        match zone.from_local_datetime(&wall) {
            LocalResult::Single(at) => return Some(at.to_utc()),
            LocalResult::None => return Some(gap_end(wall, zone)),
            LocalResult::Ambiguous(first, _) if first > after => return Some(first.to_utc()),
            // The second showing has begun: nothing until the clock is past all of it.
            LocalResult::Ambiguous(first, second) => {
                let change = clock_change(first.to_utc(), second.to_utc(), zone);
                wall = first.naive_local() + (change - first.to_utc()) - SECOND;
            }
        }
    }
}

/// Whenever the clock shows a time of the calendar.
fn next_elapsed(calendar: &Calendar, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let wall = shown(after, zone);
    let onward = first_shown(calendar, wall, after, zone);
    // In the first showing of an overlap the clock goes back before it goes on.
    let LocalResult::Ambiguous(first, second) = zone.from_local_datetime(&wall) else {
        return onward;
    };
    if after >= second {
        return onward;
    }
    let before = clock_change(first.to_utc(), second.to_utc(), zone) - SECOND;
    let again = first_shown(calendar, shown(before + SECOND, zone) - SECOND, before, zone);
    onward.into_iter().chain(again).min()
}

/// The first instant after `after` at which the clock shows a time of the calendar later than `wall`.
fn first_shown(
    calendar: &Calendar,
    mut wall: NaiveDateTime,
    after: DateTime<Utc>,
    zone: Tz,
) -> Option<DateTime<Utc>> {
    loop {
        wall = calendar.next(wall)?;
        match zone.from_local_datetime(&wall) {
            LocalResult::Single(at) => return Some(at.to_utc()),
            LocalResult::Ambiguous(first, _) if first > after => return Some(first.to_utc()),
            LocalResult::Ambiguous(_, second) => return Some(second.to_utc()),
            LocalResult::None => wall = shown(gap_end(wall, zone), zone) - SECOND,
        }
    }
}

/// What the clock shows.
pub(super) fn shown(at: DateTime<Utc>, zone: Tz) -> NaiveDateTime {
    at.with_timezone(&zone).naive_local()
}

/// The first instant after the gap that `wall` lies in.
fn gap_end(wall: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    let middle = wall.and_utc();
    first_where(middle - FARTHEST, middle + FARTHEST, |at| shown(at, zone) > wall)
}

/// The instant between two showings of one time at which the clock goes back.
fn clock_change(first: DateTime<Utc>, second: DateTime<Utc>, zone: Tz) -> DateTime<Utc> {
    let ahead = shown(first, zone) - first.naive_utc();
    first_where(first, second, |at| shown(at, zone) - at.naive_utc() != ahead)
}

/// The first whole second in `low..=high` at which `holds` is true; it is false at `low`,
/// true at `high`, and turns once.
fn first_where(
    mut low: DateTime<Utc>,
    mut high: DateTime<Utc>,
    holds: impl Fn(DateTime<Utc>) -> bool,
) -> DateTime<Utc> {
    while high - low > SECOND {
        let middle = low + TimeDelta::seconds((high - low).num_seconds() / 2);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}
