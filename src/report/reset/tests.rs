//! The times at which limits end, as agents write them.

use chrono_tz::Tz;

use super::parse;
use crate::base::Wall;

/// What `text`, read at `now` by somebody in `zone`, says; in UTC.
fn read(now: &str, zone: Tz, text: &str) -> Option<String> {
    let now = Wall::parse_rfc3339(now).unwrap();
    parse(text, now, zone).map(|at| at.utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

/// RUN-0: a limit lasts until the time that the agent states, in any of the forms in use.
#[test]
fn every_form_of_a_reset_time_is_read() {
    const NOON: &str = "2026-11-30T12:00:00Z";
    for (text, at) in [
        // As numbers.
        ("Claude AI usage limit reached|1796064944", "2026-11-30T18:55:44Z"),
        ("Claude AI usage limit reached|1796064944000", "2026-11-30T18:55:44Z"),
        ("x-ratelimit-reset: 1796064944", "2026-11-30T18:55:44Z"),
        ("limited until 2026-12-01T09:00:00+01:00.", "2026-12-01T08:00:00Z"),
        ("\"resets_at\":\"2026-12-01T09:00:00Z\"", "2026-12-01T09:00:00Z"),
        // After a while.
        ("429; Retry-After: 120", "2026-11-30T12:02:00Z"),
        ("please retry after 30 seconds", "2026-11-30T12:00:30Z"),
        ("Please retry in 42.5s.", "2026-11-30T12:00:42Z"),
        ("resets in 3h 20m", "2026-11-30T15:20:00Z"),
        ("resets in 3h20m", "2026-11-30T15:20:00Z"),
        ("or try again in 1 day 2 hours 5 minutes.", "2026-12-01T14:05:00Z"),
        ("try again in 2 days and 1 hour", "2026-12-02T13:00:00Z"),
        ("Your quota will reset after 1h2m3s.", "2026-11-30T13:02:03Z"),
        // At a time of day; it rolls over to the next day.
        ("You've hit your limit · resets 7pm (Asia/Tokyo)", "2026-12-01T10:00:00Z"),
        ("You've hit your limit · resets 10pm (Asia/Tokyo)", "2026-11-30T13:00:00Z"),
        ("5-hour limit reached ∙ resets 3pm", "2026-11-30T14:00:00Z"),
        ("5-hour limit reached ∙ resets 1pm", "2026-12-01T12:00:00Z"),
        ("You've hit your 5-hour limit · resets 6:55pm (UTC)", "2026-11-30T18:55:00Z"),
        ("resets at 19:00", "2026-11-30T18:00:00Z"),
        ("resets 12am", "2026-11-30T23:00:00Z"),
        ("resets 12pm (UTC)", "2026-12-01T12:00:00Z"),
        ("resets 7pm UTC", "2026-11-30T19:00:00Z"),
        ("try again at 3:05 PM.", "2026-11-30T14:05:00Z"),
        // On a day.
        ("weekly limit reached ∙ resets Dec 3 at 9am", "2026-12-03T08:00:00Z"),
        ("resets Dec 3, 9am (America/New_York)", "2026-12-03T14:00:00Z"),
        ("resets December 3", "2026-12-02T23:00:00Z"),
        ("resets 3 Dec at 09:30", "2026-12-03T08:30:00Z"),
        ("resets Jan 2 at 9am", "2027-01-02T08:00:00Z"),
        ("try again at Dec 3rd, 2026 3:05 PM.", "2026-12-03T14:05:00Z"),
        ("resets Nov 30 at 9am", "2026-11-30T08:00:00Z"),
    ] {
        assert_eq!(read(NOON, Tz::Europe__Berlin, text).as_deref(), Some(at), "{text}");
    }
}

/// RUN-0: what is not wholly understood is no time.
#[test]
fn what_is_not_understood_is_no_time() {
    for text in [
        "",
        "try again later",
        "Please try again",
        "resets",
        "resets soon",
        "resets 7",
        "resets 25:00",
        "resets 13pm",
        "resets 7pm (PST)",
        "resets 7pm PST",
        "resets 7pm (Mars/Olympus)",
        "resets Feb 30 at 9am",
        "resets Smarch 3 at 9am",
        "resets Dec 3 at 25:00",
        "usage limit reached|soon",
        "usage limit reached|12",
        "7pm",
        "resets in 9999999999999999999999999 years",
        "resets in 1.2.3 hours",
        "retry-after: 99999999999999999999999",
    ] {
        assert_eq!(read("2026-11-30T12:00:00Z", Tz::Europe__Berlin, text), None, "{text}");
    }
}

/// RUN-0, SCH-3: in the nights of the clock changes the first instant counts at which it can be so.
#[test]
fn the_nights_of_the_clock_changes_are_read() {
    for (now, zone, text, at) in [
        // Berlin leaves out 02:00 to 03:00: the first instant after the gap.
        ("2026-03-28T22:00:00Z", Tz::Europe__Berlin, "resets 2:30am", "2026-03-29T01:00:00Z"),
        ("2026-03-28T22:00:00Z", Tz::Europe__Berlin, "resets 3am", "2026-03-29T01:00:00Z"),
        ("2026-03-29T01:00:00Z", Tz::Europe__Berlin, "resets 2:30am", "2026-03-30T00:30:00Z"),
        // It has 02:30 twice: the first, while that is ahead, then the second.
        ("2026-10-24T22:00:00Z", Tz::Europe__Berlin, "resets 2:30am", "2026-10-25T00:30:00Z"),
        ("2026-10-25T00:45:00Z", Tz::Europe__Berlin, "resets 2:30am", "2026-10-25T01:30:00Z"),
        ("2026-10-25T01:45:00Z", Tz::Europe__Berlin, "resets 2:30am", "2026-10-26T01:30:00Z"),
        (
            "2026-10-24T12:00:00Z",
            Tz::UTC,
            "resets Oct 25 at 2:30am (America/New_York)",
            "2026-10-25T06:30:00Z",
        ),
        // Lord Howe moves by half an hour, Santiago leaves midnight out, Samoa left out a day.
        ("2026-10-03T12:00:00Z", Tz::Australia__Lord_Howe, "resets 2:15am", "2026-10-03T15:30:00Z"),
        ("2026-09-05T20:00:00Z", Tz::America__Santiago, "resets 12am", "2026-09-06T04:00:00Z"),
        ("2011-12-30T09:00:00Z", Tz::Pacific__Apia, "resets Dec 30 at 9am", "2011-12-30T10:00:00Z"),
        ("2026-11-30T12:00:00Z", Tz::Asia__Kathmandu, "resets 6pm", "2026-11-30T12:15:00Z"),
    ] {
        assert_eq!(read(now, zone, text).as_deref(), Some(at), "{now} {zone} {text}");
    }
}
