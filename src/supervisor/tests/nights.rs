//! The nights in which the clock is changed, lived through by the whole fleet: SCH-3, SCH-5.

use super::catch_up::{Book, timed};
use super::*;
use crate::schedule::CatchUp;

/// The firings of one harness from `from` on for `hours`, as local times; `slept`: in one piece.
fn night(zone: Tz, expression: &str, from: &str, hours: u32, slept: bool) -> String {
    let from = Wall::parse_rfc3339(from).unwrap();
    let harness = timed("a", expression, zone, |timetable| timetable.catch_up = CatchUp::All);
    let mut rig = Rig::boot_at(from, [harness], Remembered::default());
    let mut book = Book::default();
    let mut slots = Vec::new();
    let until = from + HOUR * hours;
    loop {
        if slept {
            rig.set_clock(until + MINUTE * 2);
        } else {
            match rig.fleet.wall_deadline().filter(|due| *due <= until) {
                Some(due) => rig.pass(due.since(rig.now.wall)),
                None => break,
            }
        }
        rig.tell(Event::Tick);
        loop {
            let started = rig.effects.iter().find_map(|effect| match effect {
                Effect::Record(Record::RunStarted(run)) => run.planned_at,
                _ => None,
            });
            let Some(slot) = started else { break };
            slots.push(slot.utc().with_timezone(&zone).format("%H:%M%:z").to_string());
            rig.spawn("a");
            rig.exit("a", GOOD);
        }
        if slept {
            break;
        }
    }
    rig.work(&mut book);
    assert_eq!(book.0, [] as [String; 0]);
    slots.join(" ")
}

/// SCH-3: hourly jobs follow elapsed time, fixed times come once, intervals know no zone; whether the
/// machine was awake or slept makes no difference.
#[test]
fn clocks_change_at_night() {
    let nights = [
        (
            Tz::Europe__Berlin,
            "2026-03-29T00:30:00+01:00",
            ["01:00+01:00 03:00+02:00 04:00+02:00", "03:00+02:00", "01:30+01:00 03:30+02:00 04:30+02:00"],
        ),
        (
            Tz::Europe__Berlin,
            "2026-10-25T01:30:00+02:00",
            ["02:00+02:00 02:00+01:00 03:00+01:00", "02:30+02:00", "02:30+02:00 02:30+01:00 03:30+01:00"],
        ),
        (
            Tz::America__New_York,
            "2026-03-08T00:30:00-05:00",
            ["01:00-05:00 03:00-04:00 04:00-04:00", "03:00-04:00", "01:30-05:00 03:30-04:00 04:30-04:00"],
        ),
        (
            Tz::America__New_York,
            "2026-11-01T00:30:00-04:00",
            ["01:00-04:00 01:00-05:00 02:00-05:00", "02:30-05:00", "01:30-04:00 01:30-05:00 02:30-05:00"],
        ),
        (
            Tz::Australia__Lord_Howe,
            "2026-10-04T00:30:00+10:30",
            ["01:00+10:30 03:00+11:00 04:00+11:00", "02:30+11:00", "01:30+10:30 03:00+11:00 04:00+11:00"],
        ),
        (
            Tz::Australia__Lord_Howe,
            "2026-04-05T00:40:00+11:00",
            ["01:00+11:00 02:00+10:30 03:00+10:30", "02:30+10:30", "01:40+11:00 02:10+10:30 03:10+10:30"],
        ),
        (
            Tz::America__Santiago,
            "2026-09-05T22:30:00-04:00",
            ["23:00-04:00 01:00-03:00 02:00-03:00", "02:30-03:00", "23:30-04:00 01:30-03:00 02:30-03:00"],
        ),
        (
            Tz::America__Santiago,
            "2026-04-04T22:30:00-03:00",
            ["23:00-03:00 23:00-04:00 00:00-04:00", "", "23:30-03:00 23:30-04:00 00:30-04:00"],
        ),
    ];
    for (zone, from, expected) in nights {
        for (expression, expected) in ["0 * * * *", "30 2 * * *", "@every 1h"].iter().zip(expected) {
            for slept in [false, true] {
                assert_eq!(
                    night(zone, expression, from, 3, slept),
                    expected,
                    "`{expression}` in {zone} from {from}, slept: {slept}"
                );
            }
        }
    }
    // A midnight that does not exist, and one that comes after a repeated hour.
    for (from, expected) in
        [("2026-09-05T22:30:00-04:00", "01:00-03:00"), ("2026-04-04T22:30:00-03:00", "00:00-04:00")]
    {
        for slept in [false, true] {
            assert_eq!(night(Tz::America__Santiago, "@daily", from, 3, slept), expected);
        }
    }
}
