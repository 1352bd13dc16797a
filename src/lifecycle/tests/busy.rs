//! Launches that meet a run of another process: RUN-4.

use super::*;

/// The cause that the shell gives.
const HELD: &str = "it runs already, under process 123";

impl Rig {
    /// Another process runs the harness.
    fn meet(&mut self) -> Vec<Effect> {
        let run = self.run();
        self.tell(Event::Busy { run, cause: HELD.to_owned() })
    }
}

/// RUN-4: what somebody or the schedule starts is skipped, and the harness stopped, whatever the policy.
#[test]
fn a_start_that_meets_another_process_is_skipped() {
    let slot = Wall(1);
    for policy in RestartPolicy::ALL.iter().flat_map(|restart| [resident(*restart), oneshot(*restart)]) {
        let fire = Event::Fire { slot, overlap: Firing::Skip };
        for start in [Event::Start(request(Trigger::Manual)), Event::Start(request(Trigger::Once)), fire] {
            let mut rig = Rig::new(policy.clone());
            rig.tell(start);
            let run = rig.run();
            let cause = Some(HELD.to_owned());
            assert_eq!(
                rig.meet(),
                [
                    Effect::Ended { run, end: End::new(Outcome::Skipped, cause), status: None },
                    Effect::Changed { from: State::Starting, to: State::Stopped },
                ]
            );
            assert_eq!((rig.machine.failures(), rig.machine.deadline()), (0, None));
        }
    }
}

/// RUN-4: a resident harness that boot starts waits as long as it takes, with delays up to
/// the cap; it is neither given up nor in a crash loop, and each launch is a first try.
#[test]
fn a_wanted_resident_waits_for_the_other_process() {
    for restart in RestartPolicy::ALL {
        let mut rig = Rig::new(Policy { max_attempts: 2, crash_loop_exits: 2, ..resident(*restart) });
        rig.tell(Event::Start(request(Trigger::Boot)));
        let mut wait = SECOND;
        for _ in 0..20 {
            assert_eq!(verdict(&rig.meet()), Some((Outcome::Skipped, Some(HELD))));
            assert_eq!(rig.state(), State::Backoff);
            assert_eq!(rig.tell(Event::Revised), []);
            assert!(near(rig.until_due(), wait), "{:?}, not {wait:?}", rig.until_due());
            wait = (wait * 2).min(rig.policy.backoff_max);
            assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 1)));
        }
        rig.spawn();
        assert_eq!((rig.machine.failures(), rig.state()), (0, State::Running));
    }
}

/// Trap 12, LIF-4: a machine that has no descriptors or no memory left for a start is nobody's failure: the
/// start is put off, as often as it takes; it is neither given up nor in a crash loop.
#[test]
fn a_start_that_the_machine_refuses_is_put_off() {
    let short = |rig: &mut Rig| {
        let cause = "open a pipe: too many open files".to_owned();
        let run = rig.run();
        rig.tell(Event::NotSpawned { run, cause, blameless: true })
    };
    for policy in [resident(RestartPolicy::Always), oneshot(RestartPolicy::OnFailure)] {
        let mut rig = Rig::new(Policy { max_attempts: 2, crash_loop_exits: 2, ..policy });
        rig.tell(Event::Start(request(Trigger::Boot)));
        for _ in 0..20 {
            let expected = Some((Outcome::SpawnFailed, Some("open a pipe: too many open files")));
            assert_eq!(verdict(&short(&mut rig)), expected);
            assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, 0));
            assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 1)));
        }
    }
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.tell(Event::Start(request(Trigger::Manual)));
    short(&mut rig);
    assert_eq!(rig.state(), State::Failed, "`no` retries nothing");
}

/// RUN-4: what the policy restarts waits, too; the failures before it are neither forgotten nor more.
#[test]
fn a_restart_that_meets_another_process_waits() {
    let mut rig = Rig::new(Policy { max_attempts: 3, ..resident(RestartPolicy::OnFailure) });
    rig.start();
    rig.exit(BAD);
    for _ in 0..5 {
        assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
        rig.meet();
        assert_eq!((rig.state(), rig.machine.failures(), rig.machine.restarts()), (State::Backoff, 1, 1));
    }
    rig.due();
    rig.fail_spawn();
    assert!(near(rig.until_due(), SECOND * 2), "as after a second failure: {:?}", rig.until_due());
    rig.due();
    rig.fail_spawn();
    assert_eq!((rig.state(), rig.machine.failures()), (State::Failed, 3));

    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    rig.exit(BAD);
    rig.due();
    rig.meet();
    rig.policy.restart = RestartPolicy::No;
    assert_eq!(shown(&rig.tell(Event::Revised)), [State::Stopped]);
}

/// RUN-4: without a delay the wait is still no busy loop.
#[test]
fn the_wait_is_never_none() {
    let mut rig = Rig::new(Policy { restart_delay: Duration::ZERO, ..resident(RestartPolicy::Always) });
    rig.tell(Event::Start(request(Trigger::Boot)));
    rig.meet();
    assert!(near(rig.until_due(), SECOND), "{:?}", rig.until_due());
}

/// RUN-4: a one-shot does not wait: the other process does its work.
#[test]
fn a_oneshot_does_not_wait() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    rig.tell(Event::Start(request(Trigger::Boot)));
    rig.meet();
    assert_eq!(rig.state(), State::Stopped);
    rig.start();
    rig.exit(BAD);
    rig.due();
    rig.meet();
    assert_eq!(rig.state(), State::Stopped);
}

/// RUN-4: a start by hand of a resident that waits leaves it waiting; a stop ends that.
#[test]
fn a_refused_start_leaves_a_waiting_resident_waiting() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Boot)));
    rig.meet();
    rig.tell(Event::Start(request(Trigger::Manual)));
    rig.meet();
    assert_eq!(rig.state(), State::Backoff);
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// LIF-5: a launch that was taken back is stopped, whatever it met; what was to follow follows.
#[test]
fn a_stop_wins_over_the_other_process() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Boot)));
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(verdict(&rig.meet()), Some((Outcome::Stopped, Some("asked to stop"))));
    assert_eq!(rig.state(), State::Stopped);

    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.tell(Event::Start(request(Trigger::Manual)));
    rig.tell(Event::Fire { slot: Wall(1), overlap: Firing::Queue });
    assert_eq!(launch(&rig.meet()), Some((Trigger::Schedule, 1)));
    assert_eq!(launch(&rig.meet()), None);
    assert_eq!(rig.state(), State::Stopped);
}
