//! Firings of a span (SCH-5) and their jitter (SCH-6).

use std::collections::BTreeSet;
use std::time::Duration;

use chrono_tz::{TZ_VARIANTS, Tz};

use super::{at, zone};
use crate::base::{Random, Wall};
use crate::schedule::{Schedule, jitter};

const HOUR: i64 = 3_600_000_000;

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text).unwrap()
}

/// All firings of a span, one after the other.
fn each(schedule: &Schedule, after: Wall, until: Wall, zone: Tz) -> Vec<Wall> {
    std::iter::successors(schedule.next_after(after, zone, Wall(0)), |last| {
        schedule.next_after(*last, zone, Wall(0))
    })
    .take_while(|at| *at <= until)
    .collect()
}

fn agrees(text: &str, after: Wall, until: Wall, zone: Tz) {
    let one = schedule(text);
    let expected = each(&one, after, until, zone);
    let what = || format!("`{text}` in {zone} from {} to {}", after.rfc3339(), until.rfc3339());
    assert_eq!(one.count(after, until, zone, Wall(0)), expected.len() as u64, "{}", what());
    for n in [1, 11] {
        let tail = &expected[expected.len().saturating_sub(n)..];
        assert_eq!(one.last(after, until, zone, Wall(0), n), tail, "{}", what());
    }
}

/// SCH-5: counting at once is counting one by one, over changes of the clock at any time of day.
#[test]
fn counting_at_once_is_counting_one_by_one() {
    let nights = [
        ("Europe/Berlin", "2026-03-28T20:00:00Z"),
        ("Europe/Berlin", "2026-10-24T20:00:00Z"),
        ("America/New_York", "2026-03-08T02:00:00Z"),
        ("America/New_York", "2026-11-01T02:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T10:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T10:00:00Z"),
        ("America/Santiago", "2026-04-04T22:00:00Z"),
        ("America/Santiago", "2026-09-05T22:00:00Z"),
        // Goes back a minute after midnight, into the day before.
        ("America/St_Johns", "2010-11-06T20:00:00Z"),
        ("America/St_Johns", "2010-03-13T20:00:00Z"),
        // Goes back at one to midnight.
        ("America/Havana", "2026-10-31T22:00:00Z"),
        // Leaves a whole day out.
        ("Pacific/Apia", "2011-12-29T00:00:00Z"),
    ];
    let expressions =
        ["* * * * *", "*/7 * * * *", "15 * * * *", "30 2 * * *", "0 0 * * *", "5,55 0-3 * * *", "@every 7m"];
    for (name, from) in nights {
        for text in expressions {
            for start in [0, HOUR / 2 + 1, 4 * HOUR] {
                let after = Wall(at(from).0 + start);
                agrees(text, after, Wall(after.0 + 30 * HOUR), zone(name));
            }
        }
        let after = at(from);
        agrees("*/20 30-40 0-4 * * *", after, Wall(after.0 + 16 * HOUR), zone(name));
    }
}

/// SCH-5: the same for random expressions, zones and spans.
#[test]
fn counting_at_once_agrees_everywhere() {
    let mut random = Random::new(3);
    let mut roll = |sides: u64| random.next() % sides;
    for _ in 0..120 {
        let mut field = |values: &[&'static str]| values[usize::try_from(roll(values.len() as u64)).unwrap()];
        let text = [
            field(&["0", "*", "*/15", "1,31"]),
            field(&["*", "0", "3", "*/2", "0-4"]),
            field(&["*", "*", "1", "1-15"]),
            field(&["*", "*", "3,10", "11"]),
            field(&["*", "*", "0", "1-5"]),
        ]
        .join(" ");
        let zone = TZ_VARIANTS[usize::try_from(roll(TZ_VARIANTS.len() as u64)).unwrap()];
        let after = Wall(
            at("1995-01-01T00:00:00Z").0 + i64::try_from(roll(40 * 365 * 24 * 60)).unwrap() * 60_000_000,
        );
        let hours = i64::try_from(roll(24 * 25)).unwrap();
        agrees(&text, after, Wall(after.0 + hours * HOUR), zone);
    }
}

/// SCH-5, trap 16: years of missed seconds are counted to the last one, and without a loop over them.
#[test]
fn years_of_seconds_are_counted() {
    let (from, to) = (at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"));
    let year = 365 * 86_400;
    assert_eq!(schedule("@every 1s").count(from, to, Tz::UTC, from), year);
    assert_eq!(schedule("* * * * * *").count(from, to, Tz::UTC, from), year);
    assert_eq!(schedule("* * * * * *").count(from, to, zone("Europe/Berlin"), from), year);
    assert_eq!(schedule("* * 3 * * *").count(from, to, zone("Europe/Berlin"), from), 365 * 3600);
    let last = schedule("* * 3 1 1 *").last(from, at("2099-12-01T00:00:00Z"), Tz::UTC, from, 2);
    assert_eq!(last, [at("2099-01-01T03:59:58Z"), at("2099-01-01T03:59:59Z")]);
    let all = schedule("* * * * *").count(Wall(i64::MIN), Wall(i64::MAX), Tz::UTC, from);
    assert_eq!(all, 47_847 * 1440, "from 1970 to 2100");
}

/// SCH-6: a delay is below its bound, the same each time, and spread; other harnesses and slots have others.
#[test]
fn jitter_is_stable_and_below_its_bound() {
    let mut random = Random::new(9);
    let minute = Duration::from_secs(60);
    let mut tenths = BTreeSet::new();
    for n in 0..2000_i64 {
        let slot = Wall(n * HOUR);
        let bound = Duration::from_micros(random.next() % 100_000_000);
        let delay = jitter("web/nightly", slot, bound);
        assert!(delay < bound || bound.is_zero(), "{delay:?} of {bound:?}");
        assert_eq!(delay, jitter("web/nightly", slot, bound));
        tenths.insert(jitter("web/nightly", slot, minute).as_secs() / 6);
    }
    assert_eq!(tenths.len(), 10);
    // What it is must not change with a release: a running daemon's next delay would.
    let slot = at("2026-11-30T03:00:00Z");
    let known =
        [jitter("a", slot, minute), jitter("b", slot, minute), jitter("a", Wall(slot.0 + HOUR), minute)];
    assert_eq!(known.map(|delay| delay.as_micros()), [16_544_836, 31_393_379, 23_648_695]);
}
