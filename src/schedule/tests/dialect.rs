//! SCH-1, SCH-2, SCH-7: what expressions mean.

use std::time::Duration;

use proptest::prelude::{any, prop, proptest};
use proptest::prop_assert;

use super::{at, firings, plain};
use crate::base::Wall;
use crate::schedule::{Overlap, Schedule, parse_zone};
use chrono_tz::{TZ_VARIANTS, Tz};

/// SCH-1: lists, ranges, steps and their mixture.
#[test]
fn fields_hold_values_lists_ranges_and_steps() {
    assert_eq!(plain("5 * * * *", 2), ["01-01 00:05:00", "01-01 01:05:00"]);
    assert_eq!(plain("5,50 0 * * *", 3), ["01-01 00:05:00", "01-01 00:50:00", "01-02 00:05:00"]);
    assert_eq!(plain("58-59 0 * * *", 3), ["01-01 00:58:00", "01-01 00:59:00", "01-02 00:58:00"]);
    assert_eq!(
        plain("*/25 0 * * *", 4),
        ["01-01 00:00:00", "01-01 00:25:00", "01-01 00:50:00", "01-02 00:00:00"]
    );
    assert_eq!(plain("10-30/15,7 0 * * *", 3), ["01-01 00:07:00", "01-01 00:10:00", "01-01 00:25:00"]);
    assert_eq!(plain("0 0 1-5/3 * *", 3), ["01-01 00:00:00", "01-04 00:00:00", "02-01 00:00:00"]);
}

/// SCH-1: a sixth field leads with seconds.
#[test]
fn six_fields_begin_with_seconds() {
    assert_eq!(plain("*/30 1 0 * * *", 3), ["01-01 00:01:00", "01-01 00:01:30", "01-02 00:01:00"]);
    assert_eq!(plain("7 1 0 * * *", 1), ["01-01 00:01:07"]);
}

/// SCH-1: blanks of any number and kind separate fields and may surround them.
#[test]
fn extra_whitespace_is_accepted_and_the_text_kept() {
    let schedule = Schedule::parse("  30   2\t* *  mon-fri ").unwrap();
    assert_eq!(schedule.as_str(), "  30   2\t* *  mon-fri ");
    assert_eq!(schedule.to_string(), schedule.as_str());
    assert_eq!(plain(schedule.as_str(), 3), plain("30 2 * * mon-fri", 3));
    assert_eq!(plain(" @daily ", 3), plain("@daily", 3));
    assert_eq!(plain("@every  10m ", 3), plain("@every 10m", 3));
}

/// SCH-1: days and months by name, short or whole, in any case.
#[test]
fn names_stand_for_months_and_days() {
    for expression in ["0 0 2 feb *", "0 0 2 FEB *", "0 0 2 February *", "0 0 2 2 *"] {
        assert_eq!(plain(expression, 1), ["02-02 00:00:00"], "{expression}");
    }
    for expression in ["0 0 * * mon", "0 0 * * MON", "0 0 * * Monday", "0 0 * * 1"] {
        assert_eq!(plain(expression, 2), ["01-05 00:00:00", "01-12 00:00:00"], "{expression}");
    }
    assert_eq!(plain("0 0 1 jan-mar/2 *", 2), ["01-01 00:00:00", "03-01 00:00:00"]);
    assert_eq!(plain("0 0 1 jan,mar *", 2), ["01-01 00:00:00", "03-01 00:00:00"]);
}

/// SCH-1: 0 and 7 are Sunday, 1 to 6 Monday to Saturday (the `cron` crate counts otherwise).
#[test]
fn days_of_the_week_are_counted_as_cron_does() {
    // The week of Sunday, 4 January 2026.
    for (expression, day) in [
        ("0", 4),
        ("1", 5),
        ("2", 6),
        ("3", 7),
        ("4", 8),
        ("5", 9),
        ("6", 10),
        ("7", 4),
        ("sun", 4),
        ("sat", 10),
    ] {
        let found = firings(&format!("0 0 * * {expression}"), Tz::UTC, "2026-01-03T12:00:00Z", 1);
        assert_eq!(found, [format!("2026-01-{day:02}T00:00:00+00:00")], "{expression}");
    }
}

/// SCH-1: a range of days may run over the end of the week, and 7 ends one on Sunday.
#[test]
fn ranges_of_days_run_over_the_weekend() {
    let days = |expression: &str| -> Vec<String> {
        firings(&format!("0 0 * * {expression}"), Tz::UTC, "2026-01-03T12:00:00Z", 7)
            .iter()
            .map(|text| text[8..10].to_owned())
            .take_while(|day| ("04"..="10").contains(&day.as_str()))
            .collect()
    };
    assert_eq!(days("fri-mon"), ["04", "05", "09", "10"]);
    assert_eq!(days("5-7"), ["04", "09", "10"]);
    assert_eq!(days("fri-sun"), ["04", "09", "10"]);
    assert_eq!(days("5-0"), ["04", "09", "10"]);
    assert_eq!(days("7-2"), ["04", "05", "06"]);
    assert_eq!(days("0-7"), ["04", "05", "06", "07", "08", "09", "10"]);
    assert_eq!(days("fri-mon/2"), ["04", "09"]);
    assert_eq!(days("*/2"), ["04", "06", "08", "10"]);
    assert_eq!(days("mon-mon"), ["05"]);
}

/// SCH-1: when both day fields are restricted, either suffices; one alone restricts alone.
#[test]
fn either_day_field_suffices_when_both_are_restricted() {
    assert_eq!(
        plain("0 0 13 * fri", 5),
        ["01-02 00:00:00", "01-09 00:00:00", "01-13 00:00:00", "01-16 00:00:00", "01-23 00:00:00"]
    );
    assert_eq!(plain("0 0 13 * *", 2), ["01-13 00:00:00", "02-13 00:00:00"]);
    assert_eq!(plain("0 0 * * fri", 2), ["01-02 00:00:00", "01-09 00:00:00"]);
    // A day that is both fires once, and the month binds both fields.
    assert_eq!(plain("0 0 13 2 fri", 3), ["02-06 00:00:00", "02-13 00:00:00", "02-20 00:00:00"]);
    // A step restricts, one of 1 does not.
    assert_eq!(plain("0 0 */10 * fri", 3), ["01-01 00:00:00", "01-02 00:00:00", "01-09 00:00:00"]);
    assert_eq!(plain("0 0 */1 * fri", 2), plain("0 0 * * fri", 2));
    // What cannot come by date may come by weekday.
    assert_eq!(plain("0 0 31 2 mon", 1), ["02-02 00:00:00"]);
}

/// SCH-1: nicknames mean their usual expressions, in any case.
#[test]
fn nicknames_mean_their_expressions() {
    for (nickname, meaning) in [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * sun"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@Daily", "0 0 * * *"),
    ] {
        assert_eq!(plain(nickname, 5), plain(meaning, 5), "{nickname}");
        assert!(!Schedule::parse(nickname).unwrap().is_interval());
    }
}

/// SCH-1: a leap day is waited for.
#[test]
fn the_twenty_ninth_of_february_fires_in_leap_years() {
    assert_eq!(
        firings("0 0 29 2 *", Tz::UTC, "2096-03-01T00:00:00Z", 2),
        Vec::<String>::new(),
        "2100 is no leap year, and there the calendar ends"
    );
    assert_eq!(
        firings("0 0 29 2 *", Tz::UTC, "2026-01-01T00:00:00Z", 2),
        ["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"]
    );
}

/// SCH-2: the iterator that `schedule next` prints gives no more than asked.
#[test]
fn firings_are_as_many_as_asked_and_rise() {
    assert_eq!(plain("@daily", 0), Vec::<String>::new());
    assert_eq!(plain("@daily", 40).len(), 40);
}

/// SCH-2: a firing lies strictly after the instant asked about, fractions of a second included.
#[test]
fn a_firing_is_strictly_later() {
    let schedule = Schedule::parse("30 2 * * *").unwrap();
    let next = |after: &str| schedule.next_after(at(after), Tz::UTC, Wall(0)).unwrap();
    assert_eq!(next("2026-05-01T02:29:59.999Z"), at("2026-05-01T02:30:00Z"));
    assert_eq!(next("2026-05-01T02:30:00Z"), at("2026-05-02T02:30:00Z"));
    assert_eq!(next("2026-05-01T02:30:00.001Z"), at("2026-05-02T02:30:00Z"));
}

/// SCH-7: `@every` keeps its phase: firings lie whole intervals from the anchor, in any zone.
#[test]
fn every_counts_from_its_anchor() {
    let schedule = Schedule::parse("@every 1h 30m").unwrap();
    assert!(schedule.is_interval());
    let anchor = at("2026-03-29T00:10:00.250Z");
    let next =
        |after: Wall| schedule.next_after(after, parse_zone("Europe/Berlin").unwrap(), anchor).unwrap();
    assert_eq!(next(anchor), at("2026-03-29T01:40:00.250Z"));
    assert_eq!(next(at("2026-03-29T01:40:00.249Z")), at("2026-03-29T01:40:00.250Z"));
    assert_eq!(next(at("2026-03-29T01:40:00.250Z")), at("2026-03-29T03:10:00.250Z"));
    // Long after: no firing is made up for, the phase stays.
    assert_eq!(next(at("2026-04-02T00:00:00Z")), at("2026-04-02T00:10:00.250Z"));
    // A clock that went back: the same grid.
    assert_eq!(next(at("2026-03-28T22:00:00Z")), at("2026-03-28T22:40:00.250Z"));
}

/// SCH-7: asked with its last firing as the anchor, `@every` fires as it would have without a restart.
#[test]
fn every_goes_on_from_its_last_firing() {
    let schedule = Schedule::parse("@every 7m").unwrap();
    let armed = at("2026-01-01T00:00:00Z");
    let expected: Vec<Wall> = schedule.firings(armed, Tz::UTC, 50).collect();
    let mut last = armed;
    for firing in expected {
        // The daemon comes back two minutes after the last firing.
        last = schedule.next_after(last + Duration::from_secs(120), Tz::UTC, last).unwrap();
        assert_eq!(last, firing);
    }
}

/// SCH-7: an expression is the same if it is written alike.
#[test]
fn schedules_are_equal_if_written_alike() {
    assert_eq!(Schedule::parse("@daily"), Schedule::parse("@daily"));
    assert_ne!(Schedule::parse("@daily"), Schedule::parse("0 0 * * *"));
}

/// SCH-4: the words of `overlap`.
#[test]
fn overlap_has_three_words_and_skips_unless_said() {
    assert_eq!(Overlap::default(), Overlap::Skip);
    for rule in Overlap::ALL {
        assert_eq!(rule.to_string().parse(), Ok(*rule));
    }
    assert_eq!("Skip".parse::<Overlap>().unwrap_err().to_string(), "`Skip` is no overlap policy");
}

/// SCH-3: a zone is found by its IANA name, and a mistyped one names what is near.
#[test]
fn an_unknown_zone_names_the_nearest() {
    assert_eq!(parse_zone("Europe/Berlin"), Ok(Tz::Europe__Berlin));
    let error = |name: &str| {
        let error = parse_zone(name).unwrap_err();
        (error.to_string(), error.help())
    };
    let unknown = |name: &str| format!("`{name}` is no known time zone");
    assert_eq!(error("Berlin"), (unknown("Berlin"), "did you mean `Europe/Berlin`?".to_owned()));
    assert_eq!(
        error("europe/berlin"),
        (unknown("europe/berlin"), "did you mean `Europe/Berlin`?".to_owned())
    );
    assert_eq!(
        error("America/New York"),
        (unknown("America/New York"), "did you mean `America/New_York`?".to_owned())
    );
    assert!(parse_zone("Europe/Berln").unwrap_err().near().contains(&"Europe/Berlin"));
    assert_eq!(parse_zone("Katmandoo").unwrap_err().near(), ["Asia/Katmandu", "Asia/Kathmandu"]);
    assert_eq!(error(""), (unknown(""), "write an IANA name, like `Europe/Berlin` or `UTC`".to_owned()));
}

proptest! {
    /// SCH-2: no text makes the parser panic, and an accepted one fires.
    #[test]
    fn any_text_is_read_or_refused(text in r"\PC*") {
        read_or_refused(&text)?;
    }

    /// SCH-2: the same for texts that look like expressions.
    #[test]
    fn any_likely_text_is_read_or_refused(text in "([@]?[-0-9a-z*/,?#LW@]{1,5}[ \t]{0,2}){1,7}") {
        read_or_refused(&text)?;
    }

    /// SCH-3: no instant and no anchor makes `next_after` panic, and it is strictly later.
    #[test]
    fn any_instant_can_be_asked_about(
        after in any::<i64>(),
        anchor in any::<i64>(),
        expression in prop::sample::select(vec!["@every 1s", "@every 100y", "* * * * * *", "@daily", "0 0 29 2 *", "*/7 2-5 1 * fri"]),
        zone in prop::sample::select(TZ_VARIANTS.to_vec()),
        large in any::<bool>(),
    ) {
        let after = Wall(if large { after } else { after % 10_000_000_000_000_000 });
        let schedule = Schedule::parse(expression).unwrap();
        let next = schedule.next_after(after, zone, Wall(anchor));
        prop_assert!(next.is_none_or(|next| next > after), "{:?}", next);
    }
}

fn read_or_refused(text: &str) -> Result<(), proptest::test_runner::TestCaseError> {
    match Schedule::parse(text) {
        Ok(schedule) => prop_assert!(schedule.firings(Wall(0), Tz::UTC, 1).count() == 1),
        Err(error) => {
            prop_assert!(text.get(error.span()).is_some(), "{:?} of `{}`", error.span(), text);
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(error.help() != Some(String::new()));
        }
    }
    Ok(())
}
