//! The calendar: which wall-clock times an expression names.
//!
//! The `cron` crate expands it. Its own dialect (Sunday is 1, both day fields
//! must match, no zero as a weekday) stays inside: expressions are translated,
//! weekdays by name. Invariant: it is asked about zone-less time only, with UTC
//! standing in, since its handling of zones is not the one that SCH-3 asks for.

use std::str::FromStr;

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::field::{Field, Values};

/// The years that the `cron` crate knows.
const YEARS: (i32, i32) = (1970, 2100);
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// The fields of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) second: Values,
    pub(super) minute: Values,
    pub(super) hour: Values,
    pub(super) day_of_month: Values,
    pub(super) month: Values,
    pub(super) day_of_week: Values,
}

/// A stretch of wall-clock time that a calendar can count in without looking at each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Day,
    Hour,
    Minute,
}

/// A set of wall-clock times, to the second.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calendar {
    fields: Fields,
    /// By day of the month, or by both day fields where one of them is `*`.
    first: cron::Schedule,
    /// By weekday, where both day fields are restricted: then either suffices.
    second: Option<cron::Schedule>,
}

impl Calendar {
    pub(super) fn new(fields: &Fields) -> Self {
        let clock = format!(
            "{} {} {}",
            numbers(Field::Second, fields.second),
            numbers(Field::Minute, fields.minute),
            numbers(Field::Hour, fields.hour)
        );
        let month = numbers(Field::Month, fields.month);
        let day = numbers(Field::DayOfMonth, fields.day_of_month);
        let weekday = weekdays(fields.day_of_week);
        if fields.day_of_month.unrestricted || fields.day_of_week.unrestricted {
            let first = translated(&format!("{clock} {day} {month} {weekday}"));
            return Self { fields: *fields, first, second: None };
        }
        Self {
            fields: *fields,
            first: translated(&format!("{clock} {day} {month} *")),
            second: Some(translated(&format!("{clock} * {month} {weekday}"))),
        }
    }

    /// The first time strictly after `after`, none beyond the last year.
    pub(super) fn next(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        // Outside of these the crate's arithmetic wraps or overflows.
        let after = match after.year() {
            year if year > YEARS.1 => return None,
            year if year < YEARS.0 => before_all(),
            _ => after,
        };
        let next =
            |schedule: &cron::Schedule| schedule.after(&after.and_utc()).next().map(|at| at.naive_utc());
        let first = next(&self.first);
        let second = self.second.as_ref().and_then(next);
        first.into_iter().chain(second).min()
    }

    /// How many times it names in a whole day, hour or minute that begins with `start`.
    pub(super) fn within(&self, start: NaiveDateTime, block: Block) -> u64 {
        let Fields { second, minute, hour, .. } = &self.fields;
        if !self.has_day(start.date()) {
            return 0;
        }
        match block {
            Block::Day => second.len() * minute.len() * hour.len(),
            Block::Hour if hour.has(start.hour()) => second.len() * minute.len(),
            Block::Minute if hour.has(start.hour()) && minute.has(start.minute()) => second.len(),
            Block::Hour | Block::Minute => 0,
        }
    }

    /// Whether it names times of this day.
    fn has_day(&self, date: NaiveDate) -> bool {
        let Fields { day_of_month, month, day_of_week, .. } = &self.fields;
        let (day, weekday) =
            (day_of_month.has(date.day()), day_of_week.has(date.weekday().num_days_from_sunday()));
        let either = !day_of_month.unrestricted && !day_of_week.unrestricted;
        (YEARS.0..=YEARS.1).contains(&date.year())
            && month.has(date.month())
            && if either { day || weekday } else { day && weekday }
    }

    /// Whether it names no time at all, like the 31st of February. What it names
    /// recurs within 28 years, so that one look from the start decides.
    pub(super) fn is_empty(&self) -> bool {
        self.next(before_all()).is_none()
    }
}

/// A second before the first one that the crate knows.
fn before_all() -> NaiveDateTime {
    chrono::DateTime::from_timestamp(-1, 0).unwrap_or_default().naive_utc()
}

fn numbers(field: Field, values: Values) -> String {
    list(field, values, |value| value.to_string())
}

fn weekdays(values: Values) -> String {
    list(Field::DayOfWeek, values, |value| WEEKDAYS[value as usize % 7].to_owned())
}

/// `*` for all values, which costs the crate no set.
fn list(field: Field, values: Values, text: impl Fn(u32) -> String) -> String {
    if values.is_full(field) { "*".to_owned() } else { values.iter().map(text).collect::<Vec<_>>().join(",") }
}

fn translated(expression: &str) -> cron::Schedule {
    cron::Schedule::from_str(expression).expect("a translated expression is of the crate's dialect")
}
