//! The state of a machine is handed over from one daemon to the next: CTL-11.

use super::*;

fn reads_back(rig: &Rig, phase: &str) {
    let text = serde_json::to_string(&rig.machine).unwrap();
    assert!(
        text.contains(&format!("\"phase\":{{\"{phase}\""))
            || text.contains(&format!("\"phase\":\"{phase}\"")),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), rig.machine, "{text}");
}

/// CTL-11: a machine in any phase, with all that a phase can hold, reads back as it was.
#[test]
fn a_machine_in_every_phase_reads_back_equal() {
    let every = Policy {
        timeout: Some(Duration::from_nanos(90_000_000_001)),
        idle_timeout: Some(SECOND),
        check: Some(SECOND * 3),
        crash_loop_exits: 1,
        ..oneshot(RestartPolicy::OnFailure)
    };
    let slot = Wall(1_700_000_000_123_457);
    let fresh = || {
        let mut rig = Rig::new(every.clone());
        rig.now.wall = slot;
        rig
    };

    let mut rig = fresh();
    reads_back(&rig, "stopped");
    rig.tell(Event::Fire { slot, overlap: Firing::Skip });
    reads_back(&rig, "starting");
    rig.spawn();
    reads_back(&rig, "running");
    rig.tell(Event::Fire { slot, overlap: Firing::Queue });
    reads_back(&rig, "running");
    let run = rig.run();
    let until = Some(Wall(1_700_000_900_500_000));
    let report = Report { until, ..states(Outcome::RateLimited) };
    rig.tell(Event::Reported { run, report: report.clone() });
    reads_back(&rig, "running");
    rig.tell(Event::Exited { run, status: ExitStatus::Signal(9) });
    reads_back(&rig, "ending");

    let mut rig = fresh();
    rig.start();
    rig.exit(BAD);
    reads_back(&rig, "backoff");
    rig.due();
    rig.tell(Event::Fire { slot, overlap: Firing::Replace });
    reads_back(&rig, "cancelling");
    rig.spawn();
    rig.tell(Event::Kill);
    reads_back(&rig, "ending");
    rig.exit(GOOD);

    let mut rig = fresh();
    rig.start();
    rig.exit(GOOD);
    reads_back(&rig, "checking");
    rig.due();
    reads_back(&rig, "ending");
    rig.exit(GOOD);

    let mut rig = fresh();
    let run = rig.start();
    rig.tell(Event::Reported { run, report });
    rig.exit(BAD);
    reads_back(&rig, "limited");

    let mut rig = fresh();
    let run = rig.start();
    rig.tell(Event::Reported { run, report: states(Outcome::AuthRequired) });
    rig.exit(BAD);
    reads_back(&rig, "parked");

    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.tell(Event::Start(request(Trigger::Manual)));
    rig.fail_spawn();
    reads_back(&rig, "failed");
}

/// CTL-11: instants are integers of their clocks, and the next daemon goes on with the same chance.
#[test]
fn instants_are_integers_and_chance_goes_on() {
    let mono = Mono(Duration::new(3, 7));
    assert_eq!(serde_json::to_string(&mono).unwrap(), "3000000007");
    assert_eq!(serde_json::from_str::<Mono>("3000000007").unwrap(), mono);
    let text =
        serde_json::to_string(&Request { trigger: Trigger::Schedule, planned_at: Some(Wall(-5)) }).unwrap();
    assert_eq!(text, r#"{"trigger":"schedule","planned_at":-5}"#);

    let mut chance = Chance::new(3);
    chance.run_id(Wall(1_000_000));
    let mut next: Chance = serde_json::from_str(&serde_json::to_string(&chance).unwrap()).unwrap();
    assert_eq!(next, chance);
    assert_eq!(next.run_id(Wall(0)), chance.run_id(Wall(0)));
    assert_eq!(next.jittered(SECOND), chance.jittered(SECOND));
}
