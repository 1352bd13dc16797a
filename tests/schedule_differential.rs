//! SCH-1, SCH-3: schedules beside an independent implementation, the `croner`
//! crate, over random expressions, zones and instants; and beside a watcher
//! that looks at the clock minute by minute, over all zones.
//!
//! A few seconds by default; `HARNESSD_FULL=1` looks much longer.

use std::collections::BTreeSet;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use croner::Cron;
use croner::errors::CronError;
use harnessd::base::Wall;
use harnessd::schedule::Schedule;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};

const SECOND: TimeDelta = TimeDelta::seconds(1);

fn full() -> bool {
    std::env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1")
}

fn cases() -> ProptestConfig {
    let cases = if full() { 20_000 } else { 800 };
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_local_rejects: u32::MAX,
        ..ProptestConfig::default()
    }
}

// ---- expressions, written for both ----

/// One place of a field's list.
#[derive(Debug, Clone)]
enum Item {
    /// `*/n`, and `*` for 1.
    Star(u32),
    Value(u32),
    /// With a step; 1 is not written.
    Range(u32, u32, u32),
}

/// A field: its list, and its lowest and highest value.
#[derive(Debug, Clone)]
struct Field {
    items: Vec<Item>,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 13] =
    ["", "jan", "feb", "MAR", "apr", "may", "june", "Jul", "aug", "sep", "october", "nov", "dec"];
/// 7 has no name, so that a range from 0 to it is not written as one from Sunday to Sunday.
const DAYS: [&str; 7] = ["sun", "Mon", "tue", "wednesday", "THU", "fri", "sat"];

impl Field {
    /// As both write it; by name where there are names and `named` says so.
    fn written(&self, named: bool) -> String {
        let value = |value: u32| match self.names.get(value as usize) {
            Some(name) if named => (*name).to_owned(),
            _ => value.to_string(),
        };
        let item = |item: &Item| match *item {
            Item::Star(1) => "*".to_owned(),
            Item::Star(step) => format!("*/{step}"),
            Item::Value(at) => value(at),
            Item::Range(low, high, 1) => format!("{}-{}", value(low), value(high)),
            Item::Range(low, high, step) => format!("{}-{}/{step}", value(low), value(high)),
        };
        self.items.iter().map(item).collect::<Vec<_>>().join(",")
    }

    /// As numbers without ranges, which every dialect reads alike; a plain `*` is kept,
    /// since it decides which day fields count.
    fn plain(&self) -> String {
        if matches!(self.items[..], [Item::Star(1)]) {
            return "*".to_owned();
        }
        self.values().iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }

    fn values(&self) -> BTreeSet<u32> {
        let mut values = BTreeSet::new();
        for item in &self.items {
            match *item {
                Item::Star(step) => values.extend((self.min..=self.max).step_by(step as usize)),
                Item::Value(at) => drop(values.insert(at)),
                Item::Range(low, high, step) => {
                    let high = if high < low { high + 7 } else { high };
                    values.extend((low..=high).step_by(step as usize));
                }
            }
        }
        if self.max == 7 { values.into_iter().map(|day| day % 7).collect() } else { values }
    }

    /// Its hour makes an expression follow elapsed time (SCH-3).
    fn stepped(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Star(_) | Item::Range(_, _, 2..)))
    }
}

/// A list of values and ranges, or `*` or a step.
fn field(min: u32, max: u32, names: &'static [&'static str]) -> impl Strategy<Value = Field> {
    // Clocks are changed in the first hours of a day, and many changes lie at a day's edge.
    let often = if max == 23 { 0..=4 } else { min..=max };
    let value = prop_oneof![3 => often, 1 => min..=max].prop_map(Item::Value);
    // Ranges of weekdays may run over the week's end. One of a single value with a step is not
    // made: `5-5/1` is a step to us and no step to croner.
    let range = (min..=max, min..=max, 1..=3_u32).prop_filter_map("a range", move |(low, high, step)| {
        (low < high || (low > high && max == 7)).then_some(Item::Range(low, high, step))
    });
    let list = prop::collection::vec(prop_oneof![3 => value, 1 => range], 1..=3);
    // Nor is `*/1`, which we read as `*` and croner, in a day field, as a restriction.
    let star = prop_oneof![5 => Just(1), 1 => 2..=max].prop_map(|step| vec![Item::Star(step)]);
    let stars = if names.is_empty() && max != 31 { 1 } else { 4 };
    prop_oneof![2 => list, stars => star].prop_map(move |items| Field { items, min, max, names })
}

/// An expression for us, and what croner is asked for.
#[derive(Debug, Clone)]
struct Expression {
    ours: String,
    /// The earliest answer counts.
    theirs: Vec<String>,
    /// Some date is named.
    fires: bool,
}

fn expression() -> impl Strategy<Value = Expression> {
    let clock = (prop::option::weighted(0.25, field(0, 59, &[])), field(0, 59, &[]), field(0, 23, &[]));
    let date = (field(1, 31, &[]), field(1, 12, &MONTHS), field(0, 7, &DAYS));
    (clock, date, prop::bool::ANY).prop_filter_map(
        "few enough times a day",
        |((second, minute, hour), (day, month, weekday), named)| {
            let second = second.as_ref();
            let date = |field: &dyn Fn(&Field) -> String| [&day, &month, &weekday].map(field).join(" ");
            let clock: Vec<String> =
                second.into_iter().chain([&minute, &hour]).map(|field| field.written(false)).collect();
            let either = day.plain() != "*" && weekday.plain() != "*";
            Some(Expression {
                ours: format!("{} {}", clock.join(" "), date(&|field| field.written(named))),
                theirs: theirs(second, &minute, &hour, &date(&Field::plain))?,
                fires: either || month.values().iter().any(|month| has_day(*month, &day.values())),
            })
        },
    )
}

fn has_day(month: u32, days: &BTreeSet<u32>) -> bool {
    days.iter().any(|day| NaiveDate::from_ymd_opt(2024, month, *day).is_some())
}

/// By croner's documentation only one second, minute and hour make a fixed time, and lists and
/// ranges of them follow elapsed time; by SCH-3 the hour alone decides. So an expression whose hour
/// is neither `*` nor a step is handed over as the fixed times that it is made of.
fn theirs(second: Option<&Field>, minute: &Field, hour: &Field, date: &str) -> Option<Vec<String>> {
    if hour.stepped() {
        let second = second.map_or_else(|| "0".to_owned(), |field| field.written(false));
        return Some(vec![format!("{second} {} {} {date}", minute.written(false), hour.written(false))]);
    }
    let seconds = second.map_or_else(|| BTreeSet::from([0]), Field::values);
    let (minutes, hours) = (minute.values(), hour.values());
    if seconds.len() * minutes.len() * hours.len() > 60 {
        return None;
    }
    let mut fixed = Vec::new();
    for second in &seconds {
        for minute in &minutes {
            fixed.extend(hours.iter().map(|hour| format!("{second} {minute} {hour} {date}")));
        }
    }
    Some(fixed)
}

// ---- zones and their changes ----

fn offset(at: DateTime<Utc>, zone: Tz) -> TimeDelta {
    local(at, zone) - at.naive_utc()
}

fn local(at: DateTime<Utc>, zone: Tz) -> NaiveDateTime {
    at.with_timezone(&zone).naive_local()
}

fn day(year: i32, ordinal: u32) -> DateTime<Utc> {
    NaiveDate::from_yo_opt(year, ordinal).expect("a day of the year").and_time(NaiveTime::MIN).and_utc()
}

/// The instants of a year at which the clock of a zone is changed.
fn changes(zone: Tz, year: i32) -> Vec<DateTime<Utc>> {
    let mut found = Vec::new();
    for ordinal in 1..=365 {
        let (mut low, mut high) = (day(year, ordinal), day(year, ordinal) + TimeDelta::days(1));
        if offset(low, zone) == offset(high, zone) {
            continue;
        }
        let before = offset(low, zone);
        while high - low > SECOND {
            let middle = low + TimeDelta::seconds((high - low).num_seconds() / 2);
            if offset(middle, zone) == before { low = middle } else { high = middle }
        }
        found.push(high);
    }
    found
}

/// An instant near a change of the clock where the zone has one that year.
fn instant() -> impl Strategy<Value = (Tz, DateTime<Utc>)> {
    let seconds =
        prop_oneof![2 => -7_200..7_200_i64, 2 => -129_600..14_400_i64, 1 => -31_536_000..31_536_000_i64];
    let micros = prop_oneof![Just(0), 0..1_000_000_i64];
    (prop::sample::select(TZ_VARIANTS.to_vec()), 1975..2045_i32, prop::num::usize::ANY, seconds, micros)
        .prop_map(|(zone, year, which, seconds, micros)| {
            let changes = changes(zone, year);
            let near = changes.get(which % changes.len().max(1)).copied().unwrap_or_else(|| day(year, 180));
            (zone, near + TimeDelta::seconds(seconds) + TimeDelta::microseconds(micros))
        })
}

/// The earliest answer, and whether croner gave up on one.
fn oracle(theirs: &[Cron], after: DateTime<Utc>, zone: Tz) -> (Option<DateTime<Utc>>, bool) {
    let mut earliest = None;
    let mut gave_up = false;
    for cron in theirs {
        match cron.find_next_occurrence(&after.with_timezone(&zone), false) {
            Ok(at) => earliest = earliest.into_iter().chain([at.to_utc()]).min(),
            Err(CronError::TimeSearchLimitExceeded) => gave_up = true,
            Err(error) => panic!("croner failed: {error}"),
        }
    }
    // Croner keeps the fraction of a second that it is asked with.
    (earliest.map(|at| at - TimeDelta::nanoseconds(i64::from(at.timestamp_subsec_nanos()))), gave_up)
}

/// Where croner differs by its documentation and code, not by mistake of ours:
/// it looks no further than two hours for a gap's end, and it drops a planned time whose gap
/// ends on a day that the day fields do not name.
fn excused(ours: DateTime<Utc>, gave_up: bool, zone: Tz) -> bool {
    let jump = offset(ours, zone) - offset(ours - SECOND, zone);
    let ends_a_gap = jump > TimeDelta::zero();
    let on_another_day = local(ours - SECOND, zone).date() != local(ours, zone).date();
    ends_a_gap && (on_another_day || (gave_up && jump > TimeDelta::hours(2)))
}

fn agree(expression: &Expression, zone: Tz, start: DateTime<Utc>) -> Result<(), TestCaseError> {
    let parsed = Schedule::parse(&expression.ours);
    prop_assert_eq!(parsed.is_ok(), expression.fires, "`{}`: {:?}", expression.ours, parsed.err());
    let Ok(schedule) = parsed else {
        return Ok(());
    };
    let theirs: Vec<Cron> =
        expression.theirs.iter().map(|text| Cron::from_str(text).expect("croner reads it")).collect();
    let mut after = start;
    for _ in 0..5 {
        let from = Wall::from_utc(after);
        let ours = schedule.next_after(from, zone, from).expect("a firing before 2100").utc();
        prop_assert!(ours > after, "{} is not after {}", ours, after);
        let (theirs, gave_up) = oracle(&theirs, after, zone);
        let dropped = theirs.is_none_or(|theirs| theirs > ours) && excused(ours, gave_up, zone);
        if theirs != Some(ours) && !dropped {
            let shown = |at: DateTime<Utc>| at.with_timezone(&zone).to_rfc3339();
            let context = format!("`{}` in {zone} after {}", expression.ours, shown(after));
            prop_assert_eq!(Some(shown(ours)), theirs.map(shown), "{}", context);
        }
        after = ours;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    /// SCH-3: firings are croner's, and strictly rise.
    #[test]
    fn firings_are_those_of_an_independent_implementation(expression in expression(), (zone, start) in instant()) {
        agree(&expression, zone, start)?;
    }
}
