//! SCH-3 over all zones: schedules beside a watcher that looks at the clock on
//! the wall minute by minute and knows no calendar arithmetic.
//!
//! A few seconds by default; `HARNESSD_FULL=1` looks at many more years.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use harnessd::base::Wall;
use harnessd::schedule::Schedule;

/// Around the usual changes, around midnight, and far from both.
const TIMES: [(u32, u32); 9] =
    [(0, 0), (0, 30), (1, 30), (2, 0), (2, 30), (3, 0), (12, 15), (23, 30), (23, 59)];

fn years() -> Vec<i32> {
    let full = std::env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1");
    // 2011 is Apia's lost day. Before 1973 some zones were off by seconds.
    let usual = [2011, 2026];
    if full { usual.into_iter().chain((1973..2060).step_by(3)).collect() } else { usual.to_vec() }
}

fn shown(at: DateTime<Utc>, zone: Tz) -> NaiveDateTime {
    at.with_timezone(&zone).naive_local()
}

fn midnight(year: i32, ordinal: u32) -> DateTime<Utc> {
    NaiveDate::from_yo_opt(year, ordinal).expect("a day of the year").and_time(NaiveTime::MIN).and_utc()
}

/// Three days of a zone, and what its clock shows at each minute of them.
struct Window {
    zone: Tz,
    minutes: Vec<(DateTime<Utc>, NaiveDateTime)>,
}

impl Window {
    fn new(zone: Tz, day: DateTime<Utc>) -> Self {
        let start = day - TimeDelta::days(1);
        let minutes = (0..=3 * 24 * 60).map(|minute| start + TimeDelta::minutes(minute));
        Self { zone, minutes: minutes.map(|at| (at, shown(at, zone))).collect() }
    }

    fn firings(&self, schedule: &Schedule) -> Vec<DateTime<Utc>> {
        let (from, to) = (self.minutes[0].0, self.minutes[self.minutes.len() - 1].0);
        firings(schedule, self.zone, from, to)
    }
}

/// The days around each change of a zone's clock in a year, or some days if there is none; of
/// zones that are alike all year only one.
fn windows(year: i32) -> Vec<Window> {
    let mut seen = BTreeSet::new();
    let mut windows = Vec::new();
    for zone in TZ_VARIANTS {
        let ahead = |at: DateTime<Utc>| (shown(at, zone) - at.naive_utc()).num_seconds();
        let days = (1..=365).map(|ordinal| midnight(year, ordinal));
        let changed: Vec<_> = days.filter(|day| ahead(*day) != ahead(*day + TimeDelta::days(1))).collect();
        let hours = changed.iter().flat_map(|day| (0..24).map(|hour| *day + TimeDelta::hours(hour)));
        let habit: Vec<_> = hours.chain([midnight(year, 1)]).map(|at| (at, ahead(at))).collect();
        if seen.insert(habit) {
            let days = if changed.is_empty() { vec![midnight(year, 180)] } else { changed };
            windows.extend(days.into_iter().map(|day| Window::new(zone, day)));
        }
    }
    windows
}

fn firings(schedule: &Schedule, zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let all = schedule.firings(Wall::from_utc(from), zone, usize::MAX).map(Wall::utc);
    all.take_while(|at| *at <= to).collect()
}

/// When a watcher rings who is to ring once for each day's `time`: when the clock shows it, or
/// when the clock has jumped over it.
fn watched_once(window: &Window, time: NaiveTime) -> Vec<DateTime<Utc>> {
    let mut before = window.minutes[0].1;
    // What was shown up to now is over.
    let mut rung =
        if before.time() < time { before.date().pred_opt().expect("a day before") } else { before.date() };
    let mut rings = Vec::new();
    for (at, now) in &window.minutes[1..] {
        // The last day whose time is shown now, or was passed since the last look.
        let last = if now.time() < time { now.date().pred_opt().expect("a day before") } else { now.date() };
        if before < *now && rung < last {
            rung = last;
            rings.push(*at);
        }
        before = *now;
    }
    rings
}

/// SCH-3, trap 17: a fixed time fires once for each local day, in every zone: at the first showing
/// of two, and at the end of the gap if it is left out.
#[test]
fn a_fixed_time_fires_exactly_once_for_each_local_day() {
    for window in years().into_iter().flat_map(windows) {
        for (hour, minute) in TIMES {
            let schedule = Schedule::parse(&format!("{minute} {hour} * * *")).unwrap();
            let time = NaiveTime::from_hms_opt(hour, minute, 0).unwrap();
            let context = (window.zone, window.minutes[0].1);
            assert_eq!(window.firings(&schedule), watched_once(&window, time), "`{schedule}`, {context:?}");
        }
    }
}

/// SCH-3: an hour that is `*` or a step fires whenever the clock shows it, and never else.
#[test]
fn an_hourly_time_fires_whenever_the_clock_shows_it() {
    for window in years().into_iter().flat_map(windows) {
        for (expression, minute, step) in [("0 * * * *", 0, 1), ("45 */2 * * *", 45, 2)] {
            let schedule = Schedule::parse(expression).unwrap();
            let due = |shown: &NaiveDateTime| shown.minute() == minute && shown.hour().is_multiple_of(step);
            let minutes = window.minutes[1..].iter();
            let expected: Vec<_> = minutes.filter(|(_, shown)| due(shown)).map(|(at, _)| *at).collect();
            let context = (window.zone, window.minutes[0].1);
            assert_eq!(window.firings(&schedule), expected, "`{schedule}`, {context:?}");
        }
    }
}

/// SCH-3, trap 17: a year of days, each once and none left out, in zones of every kind.
#[test]
fn no_day_of_a_year_is_left_out_or_doubled() {
    for name in [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Pacific/Apia",
        "America/Santiago",
        "Africa/Casablanca",
        "Antarctica/Troll",
        "UTC",
    ] {
        let zone: Tz = name.parse().unwrap();
        for (hour, minute) in TIMES {
            let schedule = Schedule::parse(&format!("{minute} {hour} * * *")).unwrap();
            let (from, to) = (midnight(2025, 180), midnight(2027, 180));
            let days: Vec<_> =
                firings(&schedule, zone, from, to).iter().map(|at| shown(*at, zone).date()).collect();
            for pair in days.windows(2) {
                assert_eq!(pair[1] - pair[0], TimeDelta::days(1), "`{schedule}` in {zone}: {pair:?}");
            }
        }
    }
}
