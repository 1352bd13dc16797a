//! Slots that nobody ran in time: SCH-5, SCH-11.

use std::fmt::Write as _;

use super::histories::Store;
use super::*;
use crate::base::Outcome;
use crate::schedule::CatchUp;

pub(super) fn at(rfc3339: &str) -> Wall {
    Wall::parse_rfc3339(rfc3339).unwrap()
}

/// A scheduled harness in a zone, with other options.
pub(super) fn timed(text: &str, expression: &str, zone: Tz, edit: impl FnOnce(&mut Timetable)) -> Harness {
    let mut harness = scheduled(text, expression, Overlap::Skip);
    let Mode::OneShot { schedule: Some(timetable), .. } = &mut harness.mode else { unreachable!() };
    timetable.timezone = zone;
    edit(timetable);
    harness
}

fn caught_up(text: &str, expression: &str, rule: CatchUp) -> Harness {
    timed(text, expression, Tz::UTC, |timetable| timetable.catch_up = rule)
}

/// What was recorded of slots, in order: how they began or did not, and of which harness.
#[derive(Debug, Default)]
pub(super) struct Book(pub(super) Vec<String>);

impl Book {
    pub(super) fn note(&mut self, effects: &[Effect]) {
        for effect in effects {
            let line = match effect {
                Effect::Record(Record::RunStarted(run)) => slot_line(run, run.trigger.as_str()),
                Effect::Record(Record::Skipped(run)) => slot_line(run, run.outcome.unwrap().as_str()),
                _ => None,
            };
            self.0.extend(line);
        }
    }

    fn of(&self, text: &str) -> Vec<&str> {
        let lines = self.0.iter().filter_map(|line| line.strip_prefix(text)?.strip_prefix(": "));
        lines.collect()
    }
}

fn slot_line(run: &Run, word: &str) -> Option<String> {
    let time = |at: Wall| at.utc().format("%d %H:%M").to_string();
    let mut line = format!("{}: {word} {}", run.harness, time(run.planned_at?));
    if let Some(stretch) = &run.missed {
        assert_eq!(Some(stretch.last), run.planned_at);
        write!(line, " since {} ({})", time(stretch.first), stretch.count).unwrap();
    }
    Some(line)
}

impl Rig {
    /// Each run that is launched ends well at once.
    pub(super) fn work(&mut self, book: &mut Book) {
        book.note(&self.effects);
        while let Some(view) = self.fleet.views().into_iter().find(|view| view.run.is_some()) {
            let run = view.run.unwrap();
            for event in [
                spawned(run),
                Event::Exited { run, status: GOOD },
                Event::Emptied { run, rest: Rest::default() },
            ] {
                self.tell(event);
                book.note(&self.effects);
            }
        }
    }

    /// Time passes, and the daemon is there all the while.
    pub(super) fn live_until(&mut self, until: Wall, book: &mut Book) {
        while let Some(due) = self.fleet.wall_deadline().filter(|due| *due <= until) {
            self.tick_after(due.since(self.now.wall));
            self.work(book);
        }
        self.pass(until.since(self.now.wall));
    }
}

/// SCH-5: a laptop that sleeps from 23:00 to 07:10, under each rule.
#[test]
fn a_laptop_sleeps() {
    let table = |rule| {
        let fleet = [
            caught_up("hourly", "@hourly", rule),
            caught_up("nightly", "0 3 * * *", rule),
            caught_up("six", "@every 6h", rule),
        ];
        let mut book = Book::default();
        let mut rig = Rig::boot_at(at("2026-06-09T20:30:00Z"), fleet, Remembered::default());
        rig.live_until(at("2026-06-09T23:00:30Z"), &mut book);
        assert_eq!(book.0.len(), 3, "it ran at 21, 22 and 23 o'clock: {book:?}");
        book.0.clear();
        rig.set_clock(at("2026-06-10T07:10:00Z"));
        rig.tell(Event::Tick);
        rig.work(&mut book);
        rig.live_until(at("2026-06-10T09:00:00Z"), &mut book);
        let lines = |text| book.of(text).join(", ");
        [lines("hourly"), lines("nightly"), lines("six")]
    };
    assert_eq!(
        table(CatchUp::One),
        [
            "missed 10 06:00 since 10 00:00 (7), catch-up 10 07:00, schedule 10 08:00, schedule 10 09:00",
            "catch-up 10 03:00",
            "catch-up 10 02:30, schedule 10 08:30",
        ]
    );
    assert_eq!(
        table(CatchUp::None),
        [
            "missed 10 07:00 since 10 00:00 (8), schedule 10 08:00, schedule 10 09:00",
            "missed 10 03:00 since 10 03:00 (1)",
            "missed 10 02:30 since 10 02:30 (1), schedule 10 08:30",
        ]
    );
    assert_eq!(
        table(CatchUp::All),
        [
            "catch-up 10 00:00, catch-up 10 01:00, catch-up 10 02:00, catch-up 10 03:00, catch-up 10 04:00, \
         catch-up 10 05:00, catch-up 10 06:00, catch-up 10 07:00, schedule 10 08:00, schedule 10 09:00",
            "catch-up 10 03:00",
            "catch-up 10 02:30, schedule 10 08:30",
        ]
    );
}

/// SCH-5: the same while the daemon is down: what it never armed it cannot have missed, what it had armed
/// and what had never fired it has.
#[test]
fn a_daemon_was_down() {
    let fleet =
        || [caught_up("nightly", "0 3 * * *", CatchUp::One), caught_up("six", "@every 6h", CatchUp::None)];
    let mut store = Store::default();
    let rig = Rig::boot_at(at("2026-06-09T20:30:00Z"), fleet(), store.remembered());
    store.commit(&rig.effects);
    let new = caught_up("new", "@hourly", CatchUp::All);
    let after = [fleet().to_vec(), vec![new]].concat();
    let mut rig = Rig::boot_at(at("2026-06-10T07:10:00Z"), after, store.remembered());
    rig.tell(Event::Tick);
    let mut book = Book::default();
    rig.work(&mut book);
    assert_eq!(book.0, ["six: missed 10 02:30 since 10 02:30 (1)", "nightly: catch-up 10 03:00"]);
    let missed = rig.fleet.view(&name("six")).unwrap();
    assert_eq!((missed.next_firing, missed.last_run), (Some(at("2026-06-10T08:30:00Z")), None));
}

/// SCH-11: the row of a stretch says all of it.
#[test]
fn a_stretch_is_one_row() {
    let mut rig = Rig::boot([caught_up("a", "@hourly", CatchUp::None)]);
    rig.set_clock(NOON + HOUR * 5);
    rig.tell(Event::Tick);
    let row = rig.skipped()[0].clone();
    let (first, last) = (NOON + MINUTE * 30, NOON + MINUTE * 270);
    let expected = Run {
        planned_at: Some(last),
        outcome: Some(Outcome::Missed),
        cause: Some(
            "it was not run in time: the machine slept, its clock was set forward or the daemon was busy"
                .to_owned(),
        ),
        missed: Some(crate::wire::Stretch { first, last, count: 5 }),
        ..Run::new(row.id, name("a"), Trigger::Schedule, "generic".to_owned(), "definition-1".to_owned())
    };
    assert_eq!(row, expected);
    let claim = Record::Fired { harness: name("a"), expression: "@hourly UTC".to_owned(), at: last };
    assert_eq!(
        rig.effects,
        [
            Effect::Record(claim),
            Effect::Record(Record::Skipped(row.clone())),
            Effect::Emit(EventKind::FiringSkipped { run: row }),
        ]
    );
}

/// SCH-5: up to a minute late is late, not missed; one whose successor has come is missed.
#[test]
fn late_is_not_missed() {
    let record = |late: Duration| {
        let mut rig = Rig::boot([caught_up("a", "@hourly", CatchUp::One)]);
        let mut book = Book::default();
        rig.tick_after(MINUTE * 30 + late);
        rig.work(&mut book);
        book.0.join(", ")
    };
    assert_eq!(record(Duration::from_millis(3)), "a: schedule 01 13:00");
    assert_eq!(record(MINUTE), "a: schedule 01 13:00");
    assert_eq!(record(MINUTE + Duration::from_millis(1)), "a: catch-up 01 13:00");
    assert_eq!(record(HOUR), "a: missed 01 13:00 since 01 13:00 (1), a: schedule 01 14:00");
}

/// SCH-5: no slot is made up for that is older than the window.
#[test]
fn the_window_bounds_what_is_made_up_for() {
    let record = |rule, window: Duration| {
        let harness = timed("a", "@hourly", Tz::UTC, |timetable| {
            (timetable.catch_up, timetable.catch_up_window) = (rule, window);
        });
        let mut rig = Rig::boot([harness]);
        let mut book = Book::default();
        // The last slot is half an hour old.
        rig.set_clock(NOON + HOUR * 24);
        rig.tell(Event::Tick);
        rig.work(&mut book);
        book.0.join(", ")
    };
    let none = "a: missed 02 12:00 since 01 13:00 (24)";
    assert_eq!(record(CatchUp::One, MINUTE * 29), none);
    assert_eq!(record(CatchUp::All, MINUTE * 29), none);
    assert_eq!(
        record(CatchUp::One, MINUTE * 30),
        "a: missed 02 11:00 since 01 13:00 (23), a: catch-up 02 12:00"
    );
    assert_eq!(
        record(CatchUp::All, MINUTE * 100),
        "a: missed 02 10:00 since 01 13:00 (22), a: catch-up 02 11:00, a: catch-up 02 12:00"
    );
    let all = record(CatchUp::All, HOUR * 24);
    assert_eq!(all.matches("catch-up").count(), 10);
    assert!(all.starts_with("a: missed 02 02:00 since 01 13:00 (14), a: catch-up 02 03:00"), "{all}");
}

/// SCH-5: `all`: what is owed waits for the run that is active, in its order, and slots that fall due
/// meanwhile join it; a stop by hand gives it up.
#[test]
fn what_is_owed_runs_one_after_the_other() {
    let mut rig = Rig::boot([caught_up("a", "@hourly", CatchUp::All)]);
    rig.tick_after(MINUTE * 30);
    rig.spawn("a");
    rig.set_clock(NOON + MINUTE * 200);
    rig.tell(Event::Tick);
    assert_eq!(rig.effects, [], "nothing is claimed that is not run");
    assert_eq!(
        rig.fleet.problems(rig.now.wall)[0].reason,
        "late: its slot of 2026-01-01T14:00:00.000Z has not been run yet"
    );
    rig.exit("a", GOOD);
    let slot = |rig: &Rig| rig.fleet.slots[&name("a")].live.as_ref().unwrap().run.planned_at;
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::CatchUp, 1)]);
    assert_eq!(slot(&rig), Some(NOON + MINUTE * 90));
    rig.spawn("a");
    rig.tick_after(MINUTE * 11);
    assert_eq!(rig.effects, []);
    rig.exit("a", BAD);
    assert_eq!(slot(&rig), Some(NOON + MINUTE * 150));
    rig.spawn("a");
    rig.stop("a", false);
    let given_up = rig.skipped()[0];
    let stretch = crate::wire::Stretch { first: NOON + MINUTE * 210, last: NOON + MINUTE * 210, count: 1 };
    assert_eq!(given_up.missed, Some(stretch));
    assert_eq!(given_up.cause.as_deref(), Some("asked to stop before it was made up for"));
    rig.exit("a", GOOD);
    assert_eq!((rig.launches(), rig.state("a")), (Vec::new(), State::Stopped));
    assert_eq!(rig.fleet.problems(rig.now.wall), []);
}

/// SCH-5, traps 15 and 16: after a month each harness fires once, within the bound of parallel runs, and next
/// in the future; what was missed is counted to the last slot.
#[test]
fn a_month_passes_at_once() {
    for expression in ["@every 1m", "* * * * *"] {
        let fleet = (0..500).map(|n| scheduled(&format!("h{n:03}"), expression, Overlap::Skip));
        let mut settings = Arc::unwrap_or_clone(configuration(fleet));
        settings.daemon.max_parallel_runs = Some(8);
        let mut rig = Rig::boot([]);
        rig.tell(Event::Configure(Arc::new(settings)));
        rig.set_clock(NOON + HOUR * 24 * 30);
        rig.tell(Event::Tick);
        assert_eq!((rig.launches().len(), rig.skipped().len()), (8, 500));
        let counts: Vec<u64> =
            rig.skipped().iter().filter_map(|run| Some(run.missed.as_ref()?.count)).collect();
        assert_eq!(counts, vec![43_199; 500]);
        assert!(rig.fleet.wall_deadline().unwrap() > rig.now.wall);
        rig.tell(Event::Tick);
        assert_eq!(rig.effects, []);
    }
    let mut rig =
        Rig::boot([scheduled("a", "@every 1s", Overlap::Skip), scheduled("b", "* * * * * *", Overlap::Skip)]);
    rig.set_clock(NOON + HOUR * 24 * 365);
    rig.tell(Event::Tick);
    let counts: Vec<u64> = rig.skipped().iter().filter_map(|run| Some(run.missed.as_ref()?.count)).collect();
    assert_eq!(counts, [365 * 86_400 - 1, 365 * 86_400 - 1]);
}

/// Trap 18: an edited schedule, also one that was edited while the daemon was down or got another zone, has
/// missed nothing; neither has one that was gone for a while.
#[test]
fn an_edited_schedule_fires_nothing() {
    let nothing = |rig: &mut Rig| {
        rig.tell(Event::Tick);
        assert_eq!((rig.launches(), rig.skipped().len()), (Vec::new(), 0));
        assert!(rig.fleet.wall_deadline().unwrap() > rig.now.wall);
    };
    let daily = |expression: &str, zone| timed("a", expression, zone, |_| ());
    let mut store = Store::default();
    let mut rig = Rig::boot([daily("0 14 * * *", Tz::UTC)]);
    store.commit(&rig.effects);
    rig.pass(HOUR);
    rig.tell(Event::Configure(configuration([edited(daily("0 13 * * *", Tz::UTC))])));
    nothing(&mut rig);

    let late = NOON + HOUR * 5;
    for harness in [daily("0 15 * * *", Tz::UTC), daily("0 14 * * *", Tz::Europe__London)] {
        nothing(&mut Rig::boot_at(late, [harness], store.remembered()));
    }
    // Gone at a boot, or by a reload, and back later.
    let gone = Rig::boot_at(NOON + HOUR, [oneshot("a")], store.remembered());
    assert_eq!(gone.effects, [Effect::Record(Record::Disarmed { harness: name("a") })]);
    let elsewhere = Rig::boot_at(NOON + HOUR, [], store.remembered());
    assert_eq!(elsewhere.effects, gone.effects);
    let mut rig = Rig::boot_at(NOON + HOUR, [daily("0 14 * * *", Tz::UTC)], store.remembered());
    rig.tell(Event::Configure(configuration([])));
    assert!(rig.effects.contains(&gone.effects[0]));
    store.commit(&rig.effects);
    rig.pass(HOUR * 4);
    rig.tell(Event::Configure(configuration([daily("0 14 * * *", Tz::UTC)])));
    nothing(&mut rig);
    nothing(&mut Rig::boot_at(late, [daily("0 14 * * *", Tz::UTC)], store.remembered()));
}

/// SCH-5: a clock that goes back an hour fires nothing twice and records nothing twice.
#[test]
fn an_hour_again_is_nothing_new() {
    let mut rig = Rig::boot([caught_up("a", "*/20 * * * *", CatchUp::All)]);
    let mut book = Book::default();
    rig.live_until(NOON + HOUR, &mut book);
    rig.set_clock(NOON);
    rig.tell(Event::Tick);
    rig.work(&mut book);
    rig.live_until(NOON + HOUR * 2, &mut book);
    let slots = ["12:40", "13:00", "13:20", "13:40", "14:00", "14:20"];
    assert_eq!(book.0, slots.map(|slot| format!("a: schedule 01 {slot}")));
}

/// SCH-5, SCH-11: what was missed while the machine slept is not laid to the daemon, though that has settled
/// nothing since it started; what it found missed when it started is.
#[test]
fn who_was_away_is_said_of_what_was_missed() {
    let down = "the daemon was down when it was due";
    let away = "it was not run in time: the machine slept, its clock was set forward or the daemon was busy";
    let nightly = || [caught_up("a", "0 3 * * *", CatchUp::None)];
    let cause = |rig: &Rig| rig.skipped()[0].cause.clone().unwrap();
    let mut store = Store::default();
    store.commit(&Rig::boot(nightly()).effects);
    let mut rig = Rig::boot_at(NOON + HOUR, nightly(), store.remembered());
    rig.set_clock(NOON + HOUR * 20);
    rig.tell(Event::Tick);
    assert_eq!(cause(&rig), away);
    let mut rig = Rig::boot_at(NOON + HOUR * 20, nightly(), store.remembered());
    rig.tell(Event::Tick);
    assert_eq!(cause(&rig), down);
}

/// SCH-5, SCH-11: what was given up has its record, also if it is the first that a schedule had: a clock
/// that goes back fires none of it.
#[test]
fn what_was_given_up_is_not_fired_when_the_clock_goes_back() {
    let mut rig = Rig::boot([caught_up("a", "@hourly", CatchUp::All)]);
    rig.start("a", false);
    rig.spawn("a");
    rig.set_clock(NOON + MINUTE * 100);
    rig.tell(Event::Tick);
    assert_eq!(rig.effects, []);
    rig.stop("a", false);
    assert_eq!(rig.skipped().len(), 1);
    rig.exit("a", GOOD);
    rig.set_clock(NOON);
    rig.tell(Event::Tick);
    assert_eq!(rig.effects, []);
    assert_eq!(rig.fleet.wall_deadline(), Some(NOON + MINUTE * 150));
}

/// SCH-5: a schedule that was armed while the clock was years ahead, and has fired nothing, is planned by
/// the right time after a restart of the daemon; one that has fired then is not fired again.
#[test]
fn a_clock_that_was_ahead_when_it_was_armed_parks_nothing() {
    let fleet = || [scheduled("a", "@hourly", Overlap::Skip)];
    let mut store = Store::default();
    store.commit(&Rig::boot_at(NOON + HOUR * 100_000, fleet(), Remembered::default()).effects);
    let mut rig = Rig::boot_at(NOON, fleet(), store.remembered());
    let claim = Record::Fired { harness: name("a"), expression: "@hourly UTC".to_owned(), at: NOON };
    assert_eq!(rig.effects, [Effect::Record(claim)]);
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);

    let slot = NOON + HOUR * 100_000 + MINUTE * 30;
    store.commit(&[Effect::Record(Record::Fired {
        harness: name("a"),
        expression: "@hourly UTC".to_owned(),
        at: slot,
    })]);
    let rig = Rig::boot_at(NOON, fleet(), store.remembered());
    assert_eq!((rig.effects.len(), rig.fleet.wall_deadline()), (0, Some(slot + HOUR)));
}

/// SCH-5, RUN-0: under `all`, what was missed while a harness is parked is skipped slot by slot at once, and
/// what was missed while it waits to be tried again takes the place of that.
#[test]
fn what_is_owed_does_not_wait_for_one_that_rests() {
    let all = |policy| with_restart(caught_up("a", "@hourly", CatchUp::All), policy);
    let missed = |rig: &mut Rig| {
        rig.set_clock(NOON + MINUTE * 200);
        rig.tell(Event::Tick);
    };
    let mut rig = Rig::boot([all(RestartPolicy::No)]);
    rig.tick_after(MINUTE * 30);
    rig.spawn("a");
    rig.exit_stating("a", BAD, states(Outcome::AuthRequired));
    missed(&mut rig);
    let slots: Vec<_> = rig.skipped().iter().map(|run| (run.planned_at.unwrap(), run.outcome)).collect();
    assert_eq!(slots, [90, 150].map(|minutes| (NOON + MINUTE * minutes, Some(Outcome::Skipped))));
    assert_eq!((rig.launches(), rig.fleet.problems(rig.now.wall).len()), (Vec::new(), 1));

    for outcome in [Outcome::Failed, Outcome::RateLimited] {
        let mut rig = Rig::boot([all(RestartPolicy::OnFailure)]);
        rig.tick_after(MINUTE * 30);
        rig.spawn("a");
        let until = Some(rig.now.wall + HOUR * 24);
        rig.exit_stating("a", BAD, Report { until, ..states(outcome) });
        assert_eq!(rig.state("a"), State::Backoff);
        missed(&mut rig);
        assert_eq!(rig.launches(), [("a".to_owned(), Trigger::CatchUp, 1)]);
    }
}
