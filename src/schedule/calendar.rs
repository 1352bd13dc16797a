//! The calendar: which wall-clock times an expression names.
//!
//! The `cron` crate expands it. Its own dialect (Sunday is 1, both day fields
//! must match, no zero as a weekday) stays inside: expressions are translated,
//! weekdays by name. Invariant: it is asked about zone-less time only, with UTC
//! standing in, since its handling of zones is not the one that SCH-3 asks for.

use std::str::FromStr;

use chrono::{Datelike, NaiveDateTime};

use super::field::{Field, Values};

/// The years that the `cron` crate knows.
const YEARS: (i32, i32) = (1970, 2100);
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// The fields of an expression.
pub(super) struct Fields {
    pub(super) second: Values,
    pub(super) minute: Values,
    pub(super) hour: Values,
    pub(super) day_of_month: Values,
    pub(super) month: Values,
    pub(super) day_of_week: Values,
}

/// A set of wall-clock times, to the second.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calendar {
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
            return Self { first: translated(&format!("{clock} {day} {month} {weekday}")), second: None };
        }
        Self {
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
