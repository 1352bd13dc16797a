//! Who goes on at once: SCH-9, SCH-12.

use super::*;
use crate::base::Outcome;
use crate::wire::{Waiting, WaitingReason};

fn bounded(bound: u32, harnesses: impl IntoIterator<Item = Harness>) -> Event {
    let mut next = Arc::unwrap_or_clone(configuration(harnesses));
    next.daemon.max_parallel_runs = Some(bound);
    Event::Configure(Arc::new(next))
}

fn rig(bound: u32, harnesses: impl IntoIterator<Item = Harness>) -> Rig {
    let mut rig = Rig::boot([]);
    rig.tell(bounded(bound, harnesses));
    rig
}

fn exclusive(text: &str, workdir: Option<&str>) -> Harness {
    Harness { exclusive: true, at_home: workdir.is_none(), workdir: workdir.map(Into::into), ..oneshot(text) }
}

fn waits(rig: &Rig, text: &str) -> Option<WaitingReason> {
    let waiting = rig.fleet.view(&name(text)).unwrap().waiting;
    assert!(waiting.as_ref().is_none_or(|Waiting { until, .. }| until.is_none()));
    waiting.map(|waiting| waiting.reason)
}

fn launched_names(rig: &Rig) -> Vec<String> {
    rig.launches().into_iter().map(|(name, ..)| name).collect()
}

/// The rows of runs that wait, among the effects.
fn queued(rig: &Rig) -> Vec<Run> {
    let row = |effect: &Effect| match effect {
        Effect::Record(Record::RunQueued(run)) => Some(run.clone()),
        _ => None,
    };
    rig.effects.iter().filter_map(row).collect()
}

/// SCH-9, SCH-11: what exceeds the bound has its row in the turn of its claim and starts, as the same run, when
/// there is room.
#[test]
fn the_excess_waits() {
    let fleet = ["a", "b", "c"].map(|text| scheduled(text, "@hourly", Overlap::Skip));
    let mut rig = rig(2, fleet);
    rig.tick_after(MINUTE * 30);
    let slot = rig.now.wall;
    assert_eq!(launched_names(&rig), ["a", "b"]);
    let rows = queued(&rig);
    assert_eq!(rows.len(), 1, "those that start at once are recorded once");
    let expected = Run {
        planned_at: Some(slot),
        ..Run::new(
            rig.run("c"),
            name("c"),
            Trigger::Schedule,
            "generic".to_owned(),
            "definition-1".to_owned(),
        )
    };
    assert_eq!(rows[0], expected);
    assert_eq!((rig.state("c"), waits(&rig, "c")), (State::Starting, Some(WaitingReason::Queue)));
    rig.spawn("a");
    rig.pass(MINUTE);
    rig.exit("a", GOOD);
    let started = Run { started_at: Some(rig.now.wall), ..expected };
    assert!(rig.effects.contains(&Effect::Record(Record::RunStarted(started))));
    assert_eq!((launched_names(&rig), waits(&rig, "c")), (vec!["c".to_owned()], None));
}

/// SCH-9: a run holds its place until nothing of it is alive, however it ends.
#[test]
fn a_place_is_free_when_nothing_is_alive() {
    let mut rig = rig(1, ["a", "b", "c"].map(oneshot));
    for text in ["a", "b", "c"] {
        rig.start(text, false);
    }
    let run = rig.spawn("a");
    rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(rig.launches(), []);
    rig.tell(Event::Emptied { run, rest: Rest::default() });
    assert_eq!(launched_names(&rig), ["b"]);
    rig.fail_spawn("b");
    assert_eq!(launched_names(&rig), ["c"]);
}

/// SCH-9: residents and foreground runs are not bounded and take no place; runs by hand and retries are.
#[test]
fn only_one_shots_are_bounded() {
    let retried = with_restart(oneshot("b"), RestartPolicy::OnFailure);
    let mut rig = rig(1, [enabled("r"), oneshot("a"), retried, oneshot("c"), oneshot("d")]);
    assert_eq!(launched_names(&rig), ["r"]);
    rig.start("b", false);
    rig.start("a", false);
    let ticket = rig.ticket();
    rig.tell(Event::Once { ticket, name: name("c") });
    assert_eq!(launched_names(&rig), ["c"]);
    rig.spawn("b");
    rig.exit("b", BAD);
    assert_eq!(launched_names(&rig), ["a"]);
    rig.spawn("a");
    rig.tick_after(MINUTE);
    assert_eq!(
        (rig.launches(), waits(&rig, "b")),
        (Vec::new(), Some(WaitingReason::Queue)),
        "a retry waits too"
    );
    rig.exit("a", GOOD);
    assert_eq!(rig.launches(), [("b".to_owned(), Trigger::Restart, 2)]);
}

/// SCH-9: places are given by slot, then by decision: a slot that was missed comes before those of now.
#[test]
fn the_oldest_slot_goes_first() {
    let fleet = [
        oneshot("a"),
        scheduled("m", "@hourly", Overlap::Skip),
        scheduled("n", "30 11 * * *", Overlap::Skip),
        oneshot("z"),
    ];
    let mut rig = rig(1, fleet);
    rig.start("a", false);
    rig.spawn("a");
    rig.start("z", false);
    // On the next day `n` is half an hour late, `m` just due; `z` waits since yesterday.
    rig.set_clock(NOON + HOUR * 23 + MINUTE * 30);
    rig.tell(Event::Tick);
    rig.exit("a", GOOD);
    let mut order = Vec::new();
    while let Some(text) = launched_names(&rig).pop() {
        rig.spawn(&text);
        rig.exit(&text, GOOD);
        order.push(text);
    }
    assert_eq!(order, ["z", "n", "m"]);
}

/// SCH-9: a reload that changes the bound applies at once, and ends nothing.
#[test]
fn a_new_bound_applies_at_once() {
    let names = ["a", "b", "c", "d"];
    let mut rig = rig(1, names.map(oneshot));
    for text in names {
        rig.start(text, false);
    }
    rig.spawn("a");
    rig.tell(bounded(3, names.map(oneshot)));
    assert_eq!(launched_names(&rig), ["b", "c"]);
    rig.spawn("b");
    rig.tell(bounded(1, names.map(oneshot)));
    assert_eq!((rig.state("a"), rig.state("b")), (State::Running, State::Running));
    rig.exit("b", GOOD);
    assert_eq!(rig.launches(), [], "two still go on");
    rig.tell(Event::Configure(configuration(names.map(oneshot))));
    assert_eq!(launched_names(&rig), ["d"], "without a bound nobody waits");
}

/// SCH-9: a waiting run is started with the definition of then; it is not shown as changed.
#[test]
fn what_waits_takes_the_new_definition() {
    let mut rig = rig(1, ["a", "b"].map(oneshot));
    rig.start("a", false);
    rig.start("b", false);
    rig.tell(bounded(1, [oneshot("a"), edited(oneshot("b"))]));
    assert!(!rig.fleet.view(&name("b")).unwrap().changed);
    rig.spawn("a");
    rig.exit("a", GOOD);
    let row = rig.effects.iter().find_map(|effect| match effect {
        Effect::Record(Record::RunStarted(run)) => Some(run.definition_hash.clone()),
        _ => None,
    });
    assert_eq!(row.as_deref(), Some("definition-2"));
}

/// SCH-9: a stop ends what waits without a launch, and whoever waits for that hears of it; so does a
/// restart, a removal and a shutdown.
#[test]
fn a_waiting_run_can_be_stopped() {
    let mut rig = rig(1, ["a", "b"].map(oneshot));
    rig.start("a", false);
    rig.start("b", false);
    assert_eq!(word(rig.stop("b", true)), "stopped");
    let ended = rig.ended().unwrap();
    assert_eq!(
        (ended.outcome, ended.started_at, ended.cause.as_deref()),
        (Some(Outcome::Stopped), None, Some("asked to stop"))
    );
    assert!(
        !rig.effects.iter().any(|effect| matches!(effect, Effect::Cancel { .. })),
        "the shell knows nothing of it"
    );
    assert_eq!(rig.state("b"), State::Stopped);

    rig.start("b", false);
    let before = rig.run("b");
    assert_eq!(rig.restart("b", true), None);
    assert_ne!(rig.run("b"), before);
    rig.spawn("a");
    rig.exit("a", GOOD);
    rig.spawn("b");
    rig.exit("b", GOOD);
    assert_eq!(word(rig.last_reply()), "restarted");

    rig.start("a", false);
    rig.start("b", false);
    rig.tell(bounded(1, [oneshot("a")]));
    assert_eq!(rig.ended().unwrap().cause.as_deref(), Some("removed from the configuration"));
    assert!(rig.fleet.view(&name("b")).is_none());
    rig.spawn("a");
    rig.tell(Event::Shutdown { at_once: true });
    rig.exit("a", BAD);
    assert!(rig.fleet.idle());
}

/// SCH-12: runs of exclusive harnesses in one directory wait for one another, and hold up nobody else.
#[test]
fn a_directory_is_used_by_one_at_a_time() {
    let fleet = [
        exclusive("a", Some("/w")),
        exclusive("b", Some("/w")),
        exclusive("c", Some("/w")),
        exclusive("home", None),
        // One may name the home directory, the other need not.
        Harness { at_home: true, ..exclusive("home2", Some("/home/me")) },
        exclusive("other", Some("/v")),
        Harness { workdir: Some("/w".into()), ..oneshot("free") },
    ];
    let names = ["a", "b", "c", "home", "home2", "other", "free"];
    let mut rig = rig(5, fleet);
    let mut launched = Vec::new();
    for text in names {
        rig.start(text, false);
        launched.extend(launched_names(&rig));
        rig.pass(SECOND);
    }
    assert_eq!(launched, ["a", "home", "other", "free"]);
    let reasons = ["b", "c", "home2"].map(|text| waits(&rig, text));
    assert_eq!(reasons, [Some(WaitingReason::Workdir); 3]);
    rig.spawn("a");
    rig.exit("a", BAD);
    assert_eq!(launched_names(&rig), ["b"]);
    rig.stop("b", false);
    rig.tell(Event::NotSpawned { run: rig.run("b"), cause: "x".to_owned(), code: ErrorCode::SpawnFailed });
    assert_eq!(launched_names(&rig), ["c"]);
    // One that needs room and no directory says so.
    rig.start("a", false);
    rig.stop("a", false);
    rig.tell(bounded(1, [exclusive("c", Some("/w")), exclusive("home", None), oneshot("a")]));
    rig.start("a", false);
    assert_eq!(waits(&rig, "a"), Some(WaitingReason::Queue));
}

/// SCH-9, SCH-11: a thousand jobs of one second: in the order of their claims, none starved though others come
/// every minute, each slot one row.
#[test]
fn a_thousand_jobs_of_one_second() {
    let mut fleet: Vec<Harness> =
        (0..1000).map(|n| scheduled(&format!("h{n:04}"), "@hourly", Overlap::Skip)).collect();
    fleet.extend((0..8).map(|n| scheduled(&format!("m{n}"), "* * * * *", Overlap::Skip)));
    let mut rig = rig(8, fleet);
    let mut rows: BTreeMap<(HarnessName, Wall), u32> = BTreeMap::new();
    let mut book = |rig: &Rig| {
        for run in queued(rig).iter().chain(rig.skipped()) {
            *rows.entry((run.harness.clone(), run.planned_at.unwrap())).or_default() += 1;
        }
    };
    rig.pass(MINUTE * 29);
    rig.tell(Event::Tick);
    let mut order = launched_names(&rig);
    rig.tick_after(MINUTE);
    book(&rig);
    order.extend(launched_names(&rig));
    let (mut running, mut ended) = (std::collections::VecDeque::from(order.clone()), 0);
    while let Some(text) = running.pop_front() {
        assert!(running.len() < 8);
        rig.spawn(&text);
        rig.exit(&text, GOOD);
        ended += 1;
        let launched = launched_names(&rig);
        assert!(launched.len() <= 1);
        order.extend(launched.clone());
        running.extend(launched);
        if ended % 100 == 0 && ended < 900 {
            rig.tick_after(MINUTE);
            book(&rig);
            running.extend(launched_names(&rig));
        }
    }
    let hourly: Vec<&String> = order.iter().filter(|name| name.starts_with('h')).collect();
    assert_eq!(hourly.len(), 1000);
    assert!(hourly.is_sorted(), "those of one slot start in the order of their claims");
    assert!(rows.len() > 1000 && rows.values().all(|count| *count == 1), "{rows:?}");
    let bound = 8 * 20;
    let last = order.iter().rposition(|name| name.starts_with('h')).unwrap();
    assert!(last < 1000 + bound, "later slots do not overtake: the last of the hour is number {last}");
}

/// SCH-9: whoever waits when the clock goes back does not stand behind all that comes from then on.
#[test]
fn a_clock_that_goes_back_starves_nobody() {
    let mut rig = rig(1, ["a", "b", "c"].map(oneshot));
    rig.start("a", false);
    rig.spawn("a");
    rig.start("b", false);
    rig.set_clock(NOON - HOUR * 24);
    rig.start("c", false);
    rig.exit("a", GOOD);
    assert_eq!(launched_names(&rig), ["b"]);
}
