//! The fleet crosses from one daemon to the next: CTL-11.

use std::time::Duration;

use super::*;
use crate::config::{Configuration, Harness, Notify};
use crate::supervisor::{Snapshot, Supervisor};

/// A fleet with something in every place that crosses.
fn busy() -> (Vec<Harness>, Rig) {
    let all = vec![
        enabled("runs"),
        enabled("waits"),
        oneshot("awaited"),
        scheduled("every", "@every 1h", Overlap::Queue),
        scheduled("night", "0 3 * * *", Overlap::Skip),
    ];
    let mut rig = Rig::boot(all.clone());
    rig.spawn("runs");
    rig.spawn("waits");
    rig.exit("waits", ExitStatus::Code(3));
    rig.pass(Duration::from_nanos(1_234_567_891));
    rig.start("awaited", true);
    rig.spawn("awaited");
    rig.stop("runs", true);
    (all, rig)
}

fn across(rig: &Rig, configuration: &Configuration) -> Supervisor {
    let text = serde_json::to_string(&rig.fleet.snapshot()).unwrap();
    Supervisor::restore(serde_json::from_str(&text).unwrap(), configuration, 1)
}

/// CTL-11: what is shown, what is due and all that is known of it are the same on the other side.
#[test]
fn a_fleet_crosses_unchanged() {
    let (all, rig) = busy();
    let configuration = configuration(all);
    let restored = across(&rig, &configuration);
    assert!(restored.agrees_with(&configuration));
    assert_eq!(restored.views(), rig.fleet.views());
    assert_eq!(restored.deadline(), rig.fleet.deadline());
    assert_eq!(restored.wall_deadline(), rig.fleet.wall_deadline());
    let written = |fleet: &Supervisor| serde_json::to_value(fleet.snapshot()).unwrap();
    assert_eq!(written(&restored), written(&rig.fleet));
}

/// CTL-11: who waited is answered by the successor, with the same record as if nothing had been.
#[test]
fn those_who_wait_are_answered_by_the_successor() {
    let (all, mut rig) = busy();
    let run = rig.run("awaited");
    let mut restored = across(&rig, &configuration(all));
    let end = Event::Exited { run, status: ExitStatus::Code(0) };
    let empty = Event::Emptied { run, rest: Rest::default() };
    let both = |fleet: &mut Supervisor| {
        let mut effects = fleet.handle(end.clone(), rig.now);
        effects.extend(fleet.handle(empty.clone(), rig.now));
        effects
    };
    let effects = both(&mut restored);
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Reply { result: Ok(_), .. })),
        "{effects:?}"
    );
    assert_eq!(effects, both(&mut rig.fleet));
}

/// CTL-11, CFG-10: what the files say by then is applied as by a reload.
#[test]
fn another_configuration_is_a_difference() {
    let (mut all, rig) = busy();
    all.retain(|harness| harness.name != name("runs"));
    all.push(enabled("new"));
    let next = configuration(all);
    let mut restored = across(&rig, &next);
    assert!(!restored.agrees_with(&next));
    let effects = restored.handle(Event::Configure(next.clone()), rig.now);
    let told =
        EventKind::ConfigReloaded { added: vec![name("new")], removed: vec![name("runs")], changed: vec![] };
    assert_eq!(effects.first(), Some(&Effect::Emit(told)));
    let launched =
        |effect: &Effect| matches!(effect, Effect::Launch { harness, .. } if harness.name == name("new"));
    assert!(effects.iter().any(launched), "{effects:?}");
    assert!(restored.agrees_with(&next));
}

/// CTL-11: a successor that knows more fields, or fewer, reads it all the same.
#[test]
fn a_snapshot_of_nothing_is_an_empty_fleet() {
    let snapshot: Snapshot = serde_json::from_str("{\"a_later_field\": [1]}").unwrap();
    let nothing = configuration([]);
    assert!(Supervisor::restore(snapshot, &nothing, 1).agrees_with(&nothing));
}

/// A fleet that waits for everything that there is to wait for.
fn waiting() -> (Arc<Configuration>, Rig) {
    use super::catch_up::timed;
    use crate::schedule::CatchUp;

    let exclusive = |text, workdir: Option<&str>| Harness {
        exclusive: true,
        at_home: true,
        workdir: workdir.map(Into::into),
        ..oneshot(text)
    };
    let retried = |text| with_restart(oneshot(text), RestartPolicy::OnFailure);
    let all = [
        enabled("parked"),
        retried("limited"),
        exclusive("home", None),
        exclusive("home2", Some("/home/me")),
        oneshot("room"),
        scheduled("awaited", "@every 1h", Overlap::Queue),
        timed("owes", "*/30 * * * *", Tz::UTC, |one| one.catch_up = CatchUp::All),
        timed("spread", "@hourly", Tz::UTC, |one| one.jitter = MINUTE * 20),
    ];
    let mut next = Arc::unwrap_or_clone(configuration(all));
    next.daemon.max_parallel_runs = Some(4);
    next.notify =
        Some(Arc::new(Notify { command: vec!["tell".to_owned()], on: vec![Outcome::Ok], timeout: SECOND }));
    let next = Arc::new(next);
    let mut rig = Rig::boot([]);
    rig.tell(Event::Configure(Arc::clone(&next)));
    rig.spawn("parked");
    rig.exit_stating("parked", BAD, states(Outcome::AuthRequired));
    for _ in 0..2 {
        rig.start("limited", false);
        rig.spawn("limited");
        let until = Some(rig.now.wall + HOUR * 3 + Duration::from_micros(7));
        rig.exit_stating("limited", BAD, Report { until, ..states(Outcome::RateLimited) });
    }
    for text in ["home", "awaited", "owes"] {
        rig.start(text, false);
        rig.spawn(text);
    }
    rig.set_clock(NOON + MINUTE * 65 + Duration::from_micros(3));
    rig.tell(Event::Tick);
    for text in ["spread", "home2", "room"] {
        rig.start(text, true);
    }
    let reasons = ["parked", "limited", "home2", "room"];
    let reasons = reasons.map(|text| rig.fleet.view(&name(text)).unwrap().waiting.map(|one| one.reason));
    use crate::wire::WaitingReason::{Limit, Login, Queue, Workdir};
    assert_eq!(reasons, [Some(Login), Some(Limit), Some(Workdir), Some(Queue)]);
    assert!(rig.fleet.slots[&name("awaited")].awaited.is_some());
    assert_eq!(
        rig.fleet.problems(rig.now.wall).iter().filter(|one| one.reason.starts_with("late")).count(),
        1
    );
    (next, rig)
}

/// CTL-11: whatever a harness waits for, the successor decides from then on what the predecessor would have.
#[test]
fn a_successor_decides_as_its_predecessor_would_have() {
    let (configuration, mut rig) = waiting();
    let mut restored = across(&rig, &configuration);
    assert_eq!(restored.views(), rig.fleet.views());
    let both = |rig: &mut Rig, restored: &mut Supervisor, event: Event| {
        rig.tell(event.clone());
        assert_eq!(restored.handle(event, rig.now), rig.effects);
        assert_eq!(restored.wall_deadline(), rig.fleet.wall_deadline());
        assert_eq!(restored.deadline(), rig.fleet.deadline());
    };
    let (mut launched, mut notices) = (0, 0);
    let told = |effect: &&Effect| matches!(effect, Effect::Notify { .. });
    for round in 0..40 {
        let runs: Vec<_> =
            rig.fleet.views().into_iter().filter_map(|view| Some((view.run?, view.state))).collect();
        for (run, state) in runs {
            both(
                &mut rig,
                &mut restored,
                if state == State::Running { Event::Exited { run, status: GOOD } } else { spawned(run) },
            );
            launched += rig.launches().len();
            both(&mut rig, &mut restored, Event::Emptied { run, rest: Rest::default() });
            launched += rig.launches().len();
            notices += rig.effects.iter().filter(told).count();
        }
        if round == 20 {
            both(&mut rig, &mut restored, Event::LoginChanged { harness: name("parked") });
            launched += rig.launches().len();
        }
        rig.pass(MINUTE * 7);
        both(&mut rig, &mut restored, Event::Tick);
        launched += rig.launches().len();
    }
    assert!(notices > 10, "{notices} notices are too few");
    assert!(launched > 20, "{launched} launches are too few");
    assert_eq!(restored.views(), rig.fleet.views());
}

/// CTL-11, SCH-5: a successor that is the first to look at what was due at the start knows that the daemon
/// was down then.
#[test]
fn who_was_down_crosses() {
    let nightly = || configuration([scheduled("a", "0 3 * * *", Overlap::Skip)]);
    let known = ("0 3 * * * UTC".to_owned(), NOON - HOUR * 24 * 3);
    let remembered =
        Remembered { last_firings: [(name("a"), known)].into_iter().collect(), ..Remembered::default() };
    let rig = Rig::boot_with([scheduled("a", "0 3 * * *", Overlap::Skip)], remembered);
    let effects = across(&rig, &nightly()).handle(Event::Tick, rig.now);
    let causes: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Record(Record::Skipped(run)) => run.cause.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(causes, ["the daemon was down when it was due"]);
}

/// SCH-10, CTL-11: a schedule that could not be evaluated stays parked over a re-execution and says so; a
/// reload that changes its harness tries again.
#[test]
fn a_broken_schedule_is_tried_again_at_a_reload() {
    let hourly = || scheduled("a", "@hourly", Overlap::Skip);
    let rig = Rig::boot([hourly()]);
    let mut text = serde_json::to_value(rig.fleet.snapshot()).unwrap();
    let timer = &mut text["slots"][0]["timer"];
    (timer["broken"], timer["next"]) = (Value::Bool(true), Value::Null);
    let mut restored =
        Supervisor::restore(serde_json::from_value(text).unwrap(), &configuration([hourly()]), 1);
    assert_eq!(restored.problems(rig.now.wall)[0].reason, "late: its schedule cannot be evaluated");
    assert_eq!(restored.wall_deadline(), None);
    restored.handle(Event::Configure(configuration([edited(hourly())])), rig.now);
    assert_eq!(restored.problems(rig.now.wall), []);
    assert_eq!(restored.wall_deadline(), Some(NOON + MINUTE * 30));
}
