//! SCH-1, SCH-2: what is refused, with the whole message, the place and the help.

use crate::schedule::Schedule;

/// The message, the offending part and the help.
fn refusal(expression: &str) -> (String, String, Option<String>) {
    let error = Schedule::parse(expression).expect_err(expression);
    (error.to_string(), expression[error.span()].to_owned(), error.help())
}

#[track_caller]
fn refused(expression: &str, message: &str, part: &str, help: Option<&str>) {
    let expected = (message.to_owned(), part.to_owned(), help.map(str::to_owned));
    assert_eq!(refusal(expression), expected, "`{expression}`");
}

/// SCH-1: a value out of its field's range is named with field, range and place.
#[test]
fn a_value_out_of_range_names_field_and_range() {
    refused("60 * * * *", "minute `60` is out of range: allowed are 0 to 59", "60", None);
    refused("0 24 * * *", "hour `24` is out of range: allowed are 0 to 23", "24", None);
    refused("0 0 0 * *", "day-of-month `0` is out of range: allowed are 1 to 31", "0", None);
    refused("0 0 1,32 * *", "day-of-month `32` is out of range: allowed are 1 to 31", "32", None);
    refused("0 0 * 13 *", "month `13` is out of range: allowed are 1 to 12 and `jan` to `dec`", "13", None);
    refused(
        "0 0 * * 1-8",
        "day-of-week `8` is out of range: allowed are 0 to 7 (0 and 7 are Sunday) and `sun` to `sat`",
        "1-8",
        None,
    );
    refused("61 * * * * *", "second `61` is out of range: allowed are 0 to 59", "61", None);
    refused(
        "99999999999999999999 * * * *",
        "minute `99999999999999999999` is out of range: allowed are 0 to 59",
        "99999999999999999999",
        None,
    );
}

/// SCH-1: what is no value at all is named with field and what is allowed.
#[test]
fn a_word_that_is_no_value_names_field_and_values() {
    refused("0 two * * *", "hour `two` is no value: allowed are 0 to 23", "two", None);
    refused(
        "0 0 * * mun",
        "day-of-week `mun` is no value: allowed are 0 to 7 (0 and 7 are Sunday) and `sun` to `sat`",
        "mun",
        Some("did you mean `sun`?"),
    );
    refused(
        "0 0 1 Febuary *",
        "month `Febuary` is no value: allowed are 1 to 12 and `jan` to `dec`",
        "Febuary",
        Some("did you mean `february`?"),
    );
    refused("+5 * * * *", "minute `+5` is no value: allowed are 0 to 59", "+5", None);
    refused("1-2-3 * * * *", "minute `2-3` is no value: allowed are 0 to 59", "1-2-3", None);
    refused("*-5 * * * *", "minute `*` is no value: allowed are 0 to 59", "*-5", None);
    refused("0 0 * mon *", "month `mon` is no value: allowed are 1 to 12 and `jan` to `dec`", "mon", None);
}

/// SCH-1: lists, ranges and steps that are not whole.
#[test]
fn broken_lists_ranges_and_steps_are_refused() {
    refused("1, * * * *", "minute has an empty place in its list", "1,", None);
    refused("0 1,,2 * * *", "hour has an empty place in its list", "1,,2", None);
    refused("*,5 * * * *", "minute has `*`, which is every value, in a list", "*", Some("write `*` alone"));
    refused("5- * * * *", "minute `5-` is incomplete: allowed are 0 to 59", "5-", None);
    refused("-5 * * * *", "minute `-5` is incomplete: allowed are 0 to 59", "-5", None);
    refused("/5 * * * *", "minute `/5` is incomplete: allowed are 0 to 59", "/5", None);
    refused("*/ * * * *", "minute `*/` is incomplete: allowed are 0 to 59", "*/", None);
    refused("*/x * * * *", "minute `x` is no step: allowed are 1 to 59", "*/x", None);
    refused("*/+5 * * * *", "minute `+5` is no step: allowed are 1 to 59", "*/+5", None);
    refused("*/0 * * * *", "minute `0` is no step: allowed are 1 to 59", "*/0", None);
    refused("*/5/2 * * * *", "minute `5/2` is no step: allowed are 1 to 59", "*/5/2", None);
}

/// SCH-1: what other dialects read in several ways is refused with what to write instead.
#[test]
fn doubtful_ranges_and_steps_say_what_to_write() {
    refused(
        "*/90 * * * *",
        "minute `90` is no step: allowed are 1 to 59",
        "*/90",
        Some("for an even interval write `@every 90m`"),
    );
    refused("0 22-6 * * *", "hour range `22-6` runs backwards", "22-6", Some("write `22-23,0-6`"));
    refused("0 23-0 * * *", "hour range `23-0` runs backwards", "23-0", Some("write `23,0`"));
    refused("0 0 1 nov-feb *", "month range `11-2` runs backwards", "nov-feb", Some("write `11-12,1-2`"));
    refused("5/15 * * * *", "minute `5/15` steps from a single value", "5/15", Some("write `5-59/15`"));
}

/// SCH-1: the marks of other dialects are refused by name.
#[test]
fn marks_of_other_dialects_are_refused() {
    let message =
        |field: &str, text: &str, mark: char| format!("{field} `{text}`: the mark `{mark}` is not supported");
    refused("0 0 ? * mon", &message("day-of-month", "?", '?'), "?", Some("write `*`"));
    let last = Some("list days instead, like `28-31`");
    refused("0 0 L * *", &message("day-of-month", "L", 'L'), "L", last);
    refused("0 0 L-3 * *", &message("day-of-month", "L", 'L'), "L-3", last);
    refused("0 0 * * 5L", &message("day-of-week", "5L", 'L'), "5L", last);
    refused("0 0 * * friL", &message("day-of-week", "friL", 'L'), "friL", last);
    let nearest = Some("name weekdays instead, like `mon-fri`");
    refused("0 0 15W * *", &message("day-of-month", "15W", 'W'), "15W", nearest);
    refused("0 0 LW * *", &message("day-of-month", "LW", 'W'), "LW", nearest);
    refused(
        "0 0 * * fri#2",
        &message("day-of-week", "fri#2", '#'),
        "fri#2",
        Some("name the weekday alone, like `mon`, or days of the month, like `8-14`"),
    );
}

/// SCH-1: five or six fields, nothing else.
#[test]
fn other_numbers_of_fields_are_refused() {
    let message = |count: usize| {
        format!(
            "a schedule has five fields, `minute hour day-of-month month day-of-week`, or six with seconds first; this has {count}"
        )
    };
    refused("0 0 * *", &message(4), "0 0 * *", None);
    refused(" daily ", &message(1), "daily", None);
    refused(
        "0 0 0 1 1 * 2030",
        &message(7),
        "0 0 0 1 1 * 2030",
        Some("a seventh field for years is not supported"),
    );
    let help = Some("write five fields, like `30 2 * * mon-fri`, or `@daily`");
    refused("", "the schedule is empty", "", help);
    refused(" \t", "the schedule is empty", " \t", help);
}

/// SCH-1: nicknames that are not known, or not alone; `@reboot` says what to use.
#[test]
fn unknown_nicknames_are_refused() {
    refused(
        "@reboot",
        "`@reboot` is no schedule",
        "@reboot",
        Some("a harness with `enabled = true` starts when the daemon does"),
    );
    refused(
        "@dayly",
        "`@dayly` is not known: allowed are `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`, `@every`",
        "@dayly",
        Some("did you mean `@daily`?"),
    );
    refused("@daily at noon", "`@daily` stands alone", "at noon", None);
}

/// SCH-1: `@every` takes a duration of at least a second.
#[test]
fn every_without_a_sound_duration_is_refused() {
    refused(
        "@every",
        "`@every` lacks its duration",
        "@every",
        Some("write a number with a unit, like `@every 15m`"),
    );
    refused(
        "@every 15",
        "`@every`: `15` is no duration: write a number with units, like `90s`, `5m` or `1h 30m`",
        "15",
        None,
    );
    refused(
        "@every -1h",
        "`@every`: `-1h` is no duration: write a number with units, like `90s`, `5m` or `1h 30m`",
        "-1h",
        None,
    );
    refused("@every 999ms", "`@every 999ms` is too short: at least `1s` is allowed", "999ms", None);
    refused("@every 0s", "`@every 0s` is too short: at least `1s` is allowed", "0s", None);
    refused("@every 101y", "`@every 101y` is too long: at most `100y` is allowed", "101y", None);
    assert!(Schedule::parse("@every 1s").is_ok());
    assert!(Schedule::parse("@every 100y").is_ok());
}

/// SCH-2: what can never fire is refused (the `cron` crate takes it and stays silent for ever).
#[test]
fn an_expression_that_can_never_fire_is_refused() {
    refused("0 0 31 2 *", "never fires: day-of-month `31` does not occur in month `2`", "31 2", None);
    refused(
        "5 0 0 30-31 feb *",
        "never fires: day-of-month `30-31` does not occur in month `feb`",
        "30-31 feb",
        None,
    );
    refused(
        "0 0 31 apr,jun,sep,nov *",
        "never fires: day-of-month `31` does not occur in month `apr,jun,sep,nov`",
        "31 apr,jun,sep,nov",
        None,
    );
    assert!(Schedule::parse("0 0 29 2 *").is_ok());
    assert!(Schedule::parse("0 0 31 2 mon").is_ok(), "either day field suffices");
}
