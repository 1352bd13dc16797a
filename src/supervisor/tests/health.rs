//! Which jobs are not well: SCH-11.

use super::*;
use crate::schedule::CatchUp;

fn problems(rig: &Rig) -> Vec<String> {
    let all = rig.fleet.problems(rig.now.wall);
    all.into_iter().map(|one| format!("{}: {}", one.harness, one.reason)).collect()
}

/// SCH-11: a job whose last run failed is named with the cause until a run goes well; what a person has stopped is not.
#[test]
fn a_failed_run_is_a_problem_until_one_goes_well() {
    let mut rig = Rig::boot([oneshot("a"), oneshot("b"), scheduled("c", "@hourly", Overlap::Skip)]);
    assert_eq!(problems(&rig), [] as [&str; 0]);
    rig.start("a", false);
    rig.spawn("a");
    rig.exit("a", BAD);
    rig.start("b", false);
    rig.spawn("b");
    rig.stop("b", false);
    rig.exit("b", BAD);
    assert_eq!(problems(&rig), ["a: failed: its last run ended `failed`: exit status 3"]);
    rig.start("a", false);
    rig.spawn("a");
    assert_eq!(problems(&rig).len(), 1, "it is not known yet how this one ends");
    rig.exit("a", GOOD);
    assert_eq!(problems(&rig), [] as [&str; 0]);
}

/// SCH-11: a resident that runs again has got over its failure; one that was given up has not.
#[test]
fn a_resident_gets_over_a_failure() {
    let mut rig = Rig::boot([enabled("a"), with_restart(enabled("b"), RestartPolicy::No)]);
    for text in ["a", "b"] {
        rig.spawn(text);
        rig.exit(text, BAD);
    }
    assert_eq!(problems(&rig).len(), 2);
    rig.tick_after(MINUTE);
    rig.spawn("a");
    assert_eq!(problems(&rig), ["b: failed: its last run ended `failed`: exit status 3"]);
}

/// SCH-11: a slot that was due for more than a minute without a record is late.
#[test]
fn a_slot_without_a_record_is_late() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Skip)]);
    rig.pass(MINUTE * 31);
    assert_eq!(problems(&rig), [] as [&str; 0]);
    rig.pass(SECOND);
    assert_eq!(problems(&rig), ["a: late: its slot of 2026-01-01T13:00:00.000Z has not been run yet"]);
    rig.tell(Event::Tick);
    assert_eq!(problems(&rig), [] as [&str; 0]);
}

/// SCH-11: a run that waits in the queue is late once its next slot has gone by.
#[test]
fn a_run_that_waits_past_its_next_slot_is_late() {
    let mut next = Arc::unwrap_or_clone(configuration([
        oneshot("a"),
        scheduled("b", "@hourly", Overlap::Skip),
        scheduled("c", "@daily", Overlap::Skip),
    ]));
    next.daemon.max_parallel_runs = Some(1);
    let mut rig = Rig::boot([]);
    rig.tell(Event::Configure(Arc::new(next)));
    rig.start("a", false);
    rig.tick_after(MINUTE * 30);
    rig.tick_after(HOUR);
    assert_eq!(problems(&rig), [] as [&str; 0]);
    rig.tick_after(MINUTE + SECOND);
    let expected =
        "b: late: its run of 2026-01-01T13:00:00.000Z has been waiting for 1h 1m 1s, past its next slot";
    assert_eq!(problems(&rig), [expected]);
}

/// SCH-5, SCH-11: what was missed and is not made up for is recorded, and no problem of now.
#[test]
fn what_was_missed_and_recorded_is_no_problem() {
    let harness = catch_up::timed("a", "@hourly", Tz::UTC, |timetable| timetable.catch_up = CatchUp::None);
    let mut rig = Rig::boot([harness]);
    rig.set_clock(NOON + HOUR * 9);
    rig.tell(Event::Tick);
    assert_eq!((rig.skipped().len(), problems(&rig)), (1, Vec::new()));
}
