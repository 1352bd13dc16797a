//! When schedules fire: SCH-4, SCH-6, SCH-7, SCH-8, SCH-10.

use super::*;

/// The claims among the effects.
fn claims(rig: &Rig) -> Vec<Wall> {
    let claim = |effect: &Effect| match effect {
        Effect::Record(Record::Fired { at, .. }) => Some(*at),
        _ => None,
    };
    rig.effects.iter().filter_map(claim).collect()
}

fn due(rig: &Rig) -> Duration {
    rig.fleet.wall_deadline().expect("a schedule is armed").since(rig.now.wall)
}

fn last_firing(text: &str, expression: &str, at: Wall) -> Remembered {
    let last_firings = BTreeMap::from([(name(text), (expression.to_owned(), at))]);
    Remembered { last_firings, ..Remembered::default() }
}

/// SCH-4: a due slot is claimed, then recorded as a run, then launched.
#[test]
fn a_slot_is_claimed_before_it_runs() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Skip)]);
    assert_eq!((rig.launches(), due(&rig)), (Vec::new(), MINUTE * 30));
    rig.tick_after(MINUTE * 29);
    assert_eq!(rig.effects, []);
    rig.tick_after(MINUTE);
    let at = rig.now.wall;
    assert_eq!(
        rig.effects[0],
        Effect::Record(Record::Fired { harness: name("a"), expression: "@hourly UTC".to_owned(), at })
    );
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
    rig.spawn("a");
    rig.exit("a", GOOD);
    assert_eq!(rig.ended().unwrap().planned_at, Some(at));
    assert_eq!(rig.fleet.view(&name("a")).unwrap().next_firing, Some(at + HOUR));
}

/// SCH-4: `skip`: a firing while the run is active is a skipped run, told and recorded.
#[test]
fn overlap_skip_is_a_skipped_run() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Skip)]);
    rig.tick_after(MINUTE * 30);
    rig.spawn("a");
    rig.tick_after(HOUR);
    let run = rig.skipped()[0].clone();
    assert_eq!((run.planned_at, run.started_at), (Some(rig.now.wall), None));
    assert_eq!(run.outcome, Some(Outcome::Skipped));
    assert_eq!(run.cause.as_deref(), Some("the run before it is still active"));
    assert!(rig.effects.contains(&Effect::Emit(EventKind::FiringSkipped { run })));
    assert_eq!(claims(&rig), [rig.now.wall]);
}

/// SCH-4: `queue`: one firing waits and starts when the run has ended.
#[test]
fn overlap_queue_waits() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Queue)]);
    rig.tick_after(MINUTE * 30);
    rig.spawn("a");
    rig.tick_after(HOUR);
    let slot = rig.now.wall;
    assert_eq!((rig.skipped().len(), rig.launches().len()), (0, 0));
    rig.tick_after(HOUR);
    assert_eq!(rig.skipped().len(), 1);
    rig.exit("a", BAD);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
    rig.spawn("a");
    rig.exit("a", GOOD);
    assert_eq!(rig.ended().unwrap().planned_at, Some(slot));
}

/// SCH-4: `replace`: the running one is stopped, then the firing starts.
#[test]
fn overlap_replace_takes_its_place() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Replace)]);
    rig.tick_after(MINUTE * 30);
    let run = rig.spawn("a");
    rig.tick_after(HOUR);
    assert!(rig.effects.contains(&Effect::StopTree { run }));
    rig.exit("a", GOOD);
    assert_eq!(rig.ended().unwrap().outcome, Some(Outcome::Replaced));
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
}

/// SCH-7: an interval keeps its phase over a restart of the daemon, before its first firing, too.
#[test]
fn an_interval_keeps_its_phase_over_a_restart() {
    let every = || [scheduled("a", "@every 1h", Overlap::Skip)];
    let mut rig = Rig::boot(every());
    assert_eq!((claims(&rig), due(&rig)), (vec![NOON], HOUR));
    rig.tick_after(HOUR);
    assert_eq!((claims(&rig), due(&rig)), (vec![NOON + HOUR], HOUR));
    for before in [Duration::ZERO, MINUTE * 50, MINUTE * 110] {
        let mut rig = Rig::boot_with(every(), last_firing("a", "@every 1h", NOON - before));
        assert_eq!(claims(&rig), []);
        rig.tell(Event::Tick);
        let into = before.as_secs() % 3600;
        assert_eq!(due(&rig), HOUR - Duration::from_secs(into));
    }
    let rig = Rig::boot_with(every(), last_firing("a", "@every 2h", NOON - MINUTE));
    assert_eq!(due(&rig), HOUR, "another expression has another phase");
}

/// SCH-7: a late firing does not move the phase of an interval.
#[test]
fn a_late_firing_keeps_the_phase() {
    let mut rig = Rig::boot([scheduled("a", "@every 1h", Overlap::Skip)]);
    rig.tick_after(MINUTE * 75);
    assert_eq!((claims(&rig), due(&rig)), (vec![NOON + HOUR], MINUTE * 45));
}

/// SCH-7: over a reload an unchanged expression keeps its phase, a changed one begins anew and fires nothing.
#[test]
fn a_reload_keeps_the_phase_of_unchanged_expressions() {
    let mut rig = Rig::boot([scheduled("a", "@every 1h", Overlap::Skip)]);
    rig.pass(MINUTE * 20);
    let same = edited(scheduled("a", "@every 1h", Overlap::Queue));
    rig.tell(Event::Configure(configuration([same])));
    assert_eq!((claims(&rig), due(&rig)), (Vec::new(), MINUTE * 40));
    let other = edited(scheduled("a", "@every 30m", Overlap::Queue));
    rig.tell(Event::Configure(configuration([Harness { definition_hash: "3".to_owned(), ..other }])));
    assert_eq!((claims(&rig), due(&rig)), (vec![rig.now.wall], MINUTE * 30));
    assert_eq!(rig.launches(), []);
    rig.tell(Event::Configure(configuration([oneshot("a")])));
    assert_eq!(rig.fleet.wall_deadline(), None);
}

/// SCH-7: an instant is never fired twice though the clock goes back; what has not
/// fired is planned by the new time.
#[test]
fn a_clock_that_goes_back_repeats_nothing() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Skip)]);
    rig.set_clock(NOON - HOUR * 2);
    rig.tell(Event::Tick);
    assert_eq!((rig.launches(), due(&rig)), (Vec::new(), MINUTE * 30));
    rig.tick_after(MINUTE * 30);
    let fired = claims(&rig);
    assert_eq!(fired, [NOON - HOUR * 2 + MINUTE * 30]);
    rig.set_clock(fired[0] - MINUTE * 5);
    rig.tell(Event::Tick);
    rig.tick_after(MINUTE * 5);
    assert_eq!(rig.effects, []);
    assert_eq!(rig.fleet.wall_deadline(), Some(fired[0] + HOUR));

    let future = NOON + MINUTE * 150;
    let rig = Rig::boot_with([scheduled("a", "@hourly", Overlap::Skip)], last_firing("a", "@hourly", future));
    assert_eq!(rig.fleet.wall_deadline(), Some(future + HOUR));
}

/// SCH-7: an interval that has not fired yet begins anew when the clock goes back.
#[test]
fn an_unfired_interval_follows_the_clock_back() {
    let mut rig = Rig::boot([scheduled("a", "@every 1h", Overlap::Skip)]);
    rig.set_clock(NOON - HOUR * 5 - MINUTE * 20);
    rig.tell(Event::Tick);
    assert_eq!((claims(&rig), due(&rig)), (vec![rig.now.wall], HOUR));
}

/// SCH-6: a firing is delayed by less than its jitter and stays the firing of its slot; the delay is the
/// same after a restart and after a reload, and is what is shown.
#[test]
fn jitter_delays_a_firing_and_not_its_slot() {
    let spread = |edit: fn(&mut Timetable)| {
        let mut harness = scheduled("a", "@hourly", Overlap::Skip);
        let Mode::OneShot { schedule: Some(timetable), .. } = &mut harness.mode else { unreachable!() };
        timetable.jitter = MINUTE * 10;
        edit(timetable);
        harness
    };
    let mut rig = Rig::boot([spread(|_| ())]);
    let slot = NOON + MINUTE * 30;
    let shown = rig.fleet.view(&name("a")).unwrap().next_firing.unwrap();
    assert!(shown > slot && shown < slot + MINUTE * 10, "{}", shown.rfc3339());
    rig.tell(Event::Configure(configuration([edited(spread(|one| one.overlap = Overlap::Queue))])));
    assert_eq!(rig.fleet.wall_deadline(), Some(shown));
    let again = Rig::boot_with([spread(|_| ())], last_firing("a", "@hourly UTC", NOON));
    assert_eq!(again.fleet.wall_deadline(), Some(shown));
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.effects, []);
    rig.set_clock(shown);
    rig.tell(Event::Tick);
    assert_eq!((claims(&rig), rig.launches().len()), (vec![slot], 1));
    rig.spawn("a");
    rig.exit("a", GOOD);
    assert_eq!(rig.ended().unwrap().planned_at, Some(slot));
    // However long, it does not reach beyond the next slot.
    let mut rig = Rig::boot([spread(|one| one.jitter = HOUR * 100)]);
    for n in 0..50 {
        let slot = NOON + MINUTE * 30 + HOUR * n;
        let next = rig.fleet.wall_deadline().unwrap();
        assert!(next >= slot && next < slot + HOUR, "{}", next.rfc3339());
        rig.set_clock(next);
        rig.tell(Event::Tick);
        assert_eq!(claims(&rig), [slot]);
    }
}

/// SCH-11: a slot that waits for the run before it has its row from the start; it becomes the run's, or
/// ends as skipped.
#[test]
fn a_waiting_slot_has_its_row() {
    let queued = |rig: &Rig| {
        let row = rig.effects.iter().find_map(|effect| match effect {
            Effect::Record(Record::RunQueued(run)) => Some(run.clone()),
            _ => None,
        });
        row.expect("a row is recorded")
    };
    for overlap in [Overlap::Queue, Overlap::Replace] {
        let mut rig = Rig::boot([scheduled("a", "@hourly", overlap)]);
        rig.tick_after(MINUTE * 30);
        rig.spawn("a");
        rig.tick_after(HOUR);
        let row = queued(&rig);
        assert_eq!((row.planned_at, row.started_at, row.outcome), (Some(rig.now.wall), None, None));
        rig.exit("a", GOOD);
        assert_eq!(rig.run("a"), row.id);
        assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
        rig.spawn("a");
        rig.tick_after(HOUR);
        let row = queued(&rig);
        rig.stop("a", false);
        let ended = rig.ended().expect("it will never run").clone();
        assert_eq!((ended.id, ended.outcome), (row.id, Some(Outcome::Skipped)));
        assert_eq!(ended.cause.as_deref(), Some("asked to stop"));
        rig.exit("a", GOOD);
        assert_eq!((rig.launches(), rig.state("a")), (Vec::new(), State::Stopped));
    }
}

/// SCH-8: a firing takes the place of a retry that waits, even of one that is due with it.
#[test]
fn retries_end_at_the_next_firing() {
    let retried = with_restart(scheduled("a", "@hourly", Overlap::Skip), RestartPolicy::OnFailure);
    let mut rig = Rig::boot([Harness { restart_delay: HOUR, ..retried }]);
    rig.tick_after(MINUTE * 30);
    rig.fail_spawn("a");
    assert_eq!(rig.state("a"), State::Backoff);
    rig.tick_after(HOUR * 2);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
}

/// SCH-10: a launch that hangs delays no other harness, and a broken schedule parks its own harness only.
#[test]
fn harnesses_do_not_delay_one_another() {
    let mut rig = Rig::boot([
        scheduled("a", "@hourly", Overlap::Skip),
        scheduled("b", "@hourly", Overlap::Skip),
        enabled("c"),
    ]);
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.launches().len(), 2);
    rig.spawn("b");
    rig.exit("b", GOOD);
    rig.tick_after(HOUR);
    assert_eq!(rig.launches(), [("b".to_owned(), Trigger::Schedule, 1)]);
    assert_eq!(rig.skipped().len(), 1);

    use crate::supervisor::firing::{Broken, guarded};
    assert_eq!(guarded(|| panic!("a schedule that cannot be evaluated")), Err(Broken));
    assert_eq!(guarded(|| Some(NOON)), Ok(Some(NOON)));
}

/// SCH-4: a firing while somebody stops the harness is skipped; a stop does not disarm the schedule.
#[test]
fn a_firing_during_a_stop_is_a_skipped_run() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Replace)]);
    rig.start("a", false);
    rig.spawn("a");
    rig.stop("a", false);
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.skipped()[0].cause.as_deref(), Some("it is being stopped"));
    rig.exit("a", GOOD);
    rig.tick_after(HOUR);
    assert_eq!(rig.launches().len(), 1);
}
