//! What is recorded, told and shown: RUN-1, LIF-9, LIF-10, LIF-4.

use super::*;
use crate::wire::RunSkill;

/// LIF-9: the record of a start stands before its launch, and the pid is recorded after it.
#[test]
fn a_start_is_recorded_before_its_launch() {
    let mut rig = Rig::boot([enabled("a")]);
    let at = |wanted: fn(&Effect) -> bool| rig.effects.iter().position(wanted).unwrap();
    let recorded = at(|effect| matches!(effect, Effect::Record(Record::RunStarted(_))));
    let launched = at(|effect| matches!(effect, Effect::Launch { .. }));
    assert!(recorded < launched);
    let run = rig.spawn("a");
    assert_eq!(rig.effects[0], Effect::Record(Record::RunSpawned { id: run, facts: super::launched() }));
}

/// RUN-1: a run's row says what it was, from its start to its end.
#[test]
fn the_final_row_is_whole() {
    let mut rig = Rig::boot([enabled("a")]);
    let id = rig.run("a");
    let started = rig.now.wall;
    let skill =
        RunSkill { name: "review".to_owned(), source: "/s/review".to_owned(), hash: "5eed".to_owned() };
    let (skills, report) = (vec![skill], Some("claude-code".to_owned()));
    let text = |text: &str| Some(text.to_owned());
    let facts =
        Launched { skills: skills.clone(), report: report.clone(), git_before: text("aa"), ..launched() };
    rig.tell(Event::Spawned { run: id, facts });
    rig.tell(Event::Version { run: id, version: "1.2".to_owned() });
    rig.pass(MINUTE);
    let rest = Rest { git_after: text("bb"), dropped_bytes: 7, ..Rest::default() };
    rig.exit_with("a", ExitStatus::Signal(11), rest);
    let expected = Run {
        skills,
        report,
        agent_version: text("1.2"),
        git_before: text("aa"),
        git_after: text("bb"),
        dropped_bytes: 7,
        started_at: Some(started),
        ended_at: Some(started + MINUTE),
        outcome: Some(Outcome::Failed),
        cause: Some("killed by SIGSEGV".to_owned()),
        signal: Some("SIGSEGV".to_owned()),
        pid: Some(4711),
        process_start: Some(815),
        command: vec!["true".to_owned()],
        workdir: Some("/w".to_owned()),
        log: Some("/l".to_owned()),
        ..Run::new(id, name("a"), Trigger::Boot, "generic".to_owned(), "definition-1".to_owned())
    };
    assert_eq!(rig.ended(), Some(&expected));
    assert_eq!(rig.fleet.view(&name("a")).unwrap().last_run, Some(expected));
}

/// RUN-1: a spawn that fails is a run, with a start and an end.
#[test]
fn a_failed_spawn_is_a_run() {
    let mut rig = Rig::boot([Harness { enabled: true, ..oneshot("a") }]);
    rig.fail_spawn("a");
    let run = rig.ended().unwrap();
    assert_eq!((run.started_at, run.ended_at, run.pid), (Some(NOON), Some(NOON), None));
    assert_eq!(run.outcome, Some(Outcome::SpawnFailed));
    assert_eq!(run.cause.as_deref(), Some("`true`: not found"));
    assert_eq!(rig.state("a"), State::Failed);
}

/// LIF-6: a run is recorded as ended only when nothing of it is alive.
#[test]
fn a_run_ends_when_its_tree_is_empty() {
    let mut rig = Rig::boot([enabled("a")]);
    let run = rig.spawn("a");
    rig.tell(Event::Exited { run, status: GOOD });
    assert_eq!((rig.ended(), rig.state("a")), (None, State::Stopping));
    assert!(rig.effects.contains(&Effect::StopTree { run }));
    rig.tick_after(SECOND * 10);
    assert_eq!(rig.effects, [Effect::KillTree { run }]);
    rig.tell(Event::Emptied { run, rest: Rest::default() });
    assert!(rig.ended().is_some());
}

/// LIF-10: each transition is an event, and so are the start and the end of a run and a crash loop.
#[test]
fn transitions_are_events() {
    let mut rig = Rig::boot([enabled("a")]);
    let mut told = Vec::new();
    let mut note = |rig: &Rig| {
        told.extend(rig.effects.iter().filter_map(|effect| match effect {
            Effect::Emit(EventKind::StateChanged { from, to, .. }) => Some(format!("{from} > {to}")),
            Effect::Emit(EventKind::RunStarted { .. }) => Some("run started".to_owned()),
            Effect::Emit(EventKind::RunEnded { .. }) => Some("run ended".to_owned()),
            Effect::Emit(EventKind::Flapping { exits, .. }) => Some(format!("flapping {exits}")),
            _ => None,
        }));
    };
    note(&rig);
    for _ in 0..5 {
        rig.spawn("a");
        note(&rig);
        rig.exit("a", BAD);
        note(&rig);
        rig.tick_after(MINUTE);
        note(&rig);
    }
    let first = [
        "stopped > starting",
        "run started",
        "starting > running",
        "running > stopping",
        "run ended",
        "stopping > backoff",
        "backoff > starting",
        "run started",
    ];
    assert_eq!(told[..8], first);
    assert!(!told.iter().any(|event| event.starts_with("flapping")), "a minute apart is no crash loop");

    let mut rig = Rig::boot([Harness { restart_delay: Duration::ZERO, ..enabled("a") }]);
    for end in 1..=5 {
        rig.spawn("a");
        rig.exit("a", GOOD);
        let flaps = rig.effects.contains(&Effect::Emit(EventKind::Flapping { harness: name("a"), exits: 5 }));
        assert_eq!(flaps, end == 5);
    }
    rig.spawn("a");
    assert_eq!(rig.state("a"), State::Degraded);
    assert_eq!(rig.fleet.view(&name("a")).unwrap().restarts, 5);
    rig.tick_after(MINUTE);
    assert_eq!(rig.state("a"), State::Running);
}

/// LIF-1: what waits says for what and until when.
#[test]
fn a_wait_is_shown() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    rig.exit("a", BAD);
    let waiting = rig.fleet.view(&name("a")).unwrap().waiting.unwrap();
    let until = rig.fleet.deadline().unwrap().since(rig.now.mono);
    assert_eq!(waiting.until, Some(rig.now.wall + until));
}

/// LIF-4: what is given up, in a crash loop or failed last needs a person; what was stopped does not.
#[test]
fn what_needs_a_person_is_listed() {
    let broken = |text| Harness { enabled: true, restart_delay: Duration::ZERO, ..resident(text) };
    let mut rig = Rig::boot([broken("a"), broken("b"), oneshot("c"), enabled("d"), enabled("e")]);
    for _ in 0..10 {
        rig.fail_spawn("a");
    }
    for _ in 0..5 {
        rig.spawn("b");
        rig.exit("b", BAD);
    }
    rig.start("c", false);
    rig.spawn("c");
    rig.exit("c", BAD);
    rig.spawn("d");
    rig.stop("d", false);
    rig.exit("d", BAD);
    rig.spawn("e");
    rig.spawn("b");
    let reasons: Vec<_> =
        rig.fleet.attention().into_iter().map(|one| format!("{}: {}", one.harness, one.reason)).collect();
    assert_eq!(
        reasons,
        [
            "a: given up after 10 failed attempts: `true`: not found",
            "b: in a crash loop: exit status 3",
            "c: its last run ended `failed`: exit status 3",
        ]
    );
}

/// LIF-8: what the shell says of runs that nobody knows leads to nothing.
#[test]
fn unknown_runs_are_ignored() {
    let mut rig = Rig::boot([enabled("a")]);
    let run = rig.spawn("a");
    rig.stop("a", false);
    rig.exit("a", GOOD);
    for late in [
        spawned(run),
        Event::NotSpawned { run, cause: String::new(), code: ErrorCode::Internal },
        Event::Exited { run, status: GOOD },
        Event::Emptied { run, rest: Rest::default() },
    ] {
        rig.tell(late);
        assert_eq!(rig.effects, []);
    }
}
