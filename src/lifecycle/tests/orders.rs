//! What people order: LIF-5.

use super::*;

/// LIF-5: the stop signal at once, KILL after the grace, and ended only when nothing is alive.
#[test]
fn a_stop_is_graceful_then_not() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let run = rig.start();
    assert_eq!(
        rig.tell(Event::Stop(StopReason::Asked)),
        [Effect::StopTree(run), Effect::Changed { from: State::Running, to: State::Stopping }]
    );
    assert_eq!(rig.until_due(), SECOND * 10);
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
    assert_eq!(rig.tell(Event::Exited { run, status: ExitStatus::Signal(9) }), [Effect::KillTree(run)]);
    assert_eq!(
        rig.tell(Event::Emptied { run, report: None }),
        [
            Effect::Ended {
                run,
                end: End::new(Outcome::Stopped, Some("asked to stop".to_owned())),
                status: Some(ExitStatus::Signal(9)),
            },
            Effect::Changed { from: State::Stopping, to: State::Stopped },
        ]
    );
    assert_eq!(rig.machine.deadline(), None);
}

/// LIF-6: once the main process of a stopped run is gone, its leftovers are told,
/// too; the grace is the stop's.
#[test]
fn leftovers_of_a_stopped_run_share_its_grace() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let run = rig.start();
    rig.tell(Event::Stop(StopReason::Asked));
    rig.pass(SECOND * 4);
    assert_eq!(rig.tell(Event::Exited { run, status: GOOD }), [Effect::StopTree(run)]);
    assert_eq!(rig.until_due(), SECOND * 6);
}

/// LIF-5: a stop of a harness that waits to be restarted cancels the restart.
#[test]
fn a_stop_in_backoff_cancels_the_restart() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    rig.exit(BAD);
    assert_eq!(shown(&rig.tell(Event::Stop(StopReason::Asked))), [State::Stopped]);
    rig.pass(SECOND * 600);
    assert_eq!(rig.tell(Event::Due), []);
}

/// LIF-5: a stop while it starts takes the launch back; if that comes too late
/// the process is stopped like any other.
#[test]
fn a_stop_while_starting_cancels_the_launch() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Manual)));
    let run = rig.run();
    assert_eq!(
        rig.tell(Event::Stop(StopReason::Asked)),
        [Effect::Cancel(run), Effect::Changed { from: State::Starting, to: State::Stopping }]
    );
    assert_eq!(verdict(&rig.fail_spawn()), Some((Outcome::Stopped, Some("asked to stop"))));
    assert_eq!(rig.state(), State::Stopped);

    rig.tell(Event::Start(request(Trigger::Manual)));
    let run = rig.run();
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(rig.tell(Event::Spawned(run)), [Effect::StopTree(run)]);
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
}

/// LIF-5: a stop of what is ending anyway (its leftovers, a timeout) wins over the restart.
#[test]
fn a_stop_while_leftovers_are_swept_ends_it_there() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let run = rig.start();
    rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(rig.tell(Event::Stop(StopReason::Asked)), []);
    assert_eq!(rig.machine.standing(), Standing::Ending { run, by_hand: true, followed: false });
    assert_eq!(
        verdict(&rig.tell(Event::Emptied { run, report: None })),
        Some((Outcome::Failed, Some("exit status 3")))
    );
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// LIF-5: a restart is a stop and then a start, and forgets the history.
#[test]
fn a_restart_stops_and_starts() {
    let mut rig = Rig::new(resident(RestartPolicy::No));
    let run = rig.start();
    assert_eq!(rig.tell(Event::Restart(request(Trigger::Manual)))[0], Effect::StopTree(run));
    rig.tell(Event::Exited { run, status: ExitStatus::Signal(15) });
    let effects = rig.tell(Event::Emptied { run, report: None });
    assert_eq!(verdict(&effects), Some((Outcome::Stopped, Some("asked to restart"))));
    assert_eq!(launch(&effects), Some((Trigger::Manual, 1)));
    assert_eq!(shown(&effects), [State::Starting]);
}

/// LIF-5: a stop that comes after a restart drops the start that was to follow.
#[test]
fn a_stop_drops_the_start_that_waits() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    rig.tell(Event::Restart(request(Trigger::Manual)));
    assert_eq!(rig.tell(Event::Stop(StopReason::Asked)), [Effect::Dropped]);
    rig.exit(GOOD);
    assert_eq!(rig.state(), State::Stopped);
}

/// LIF-5: a start in backoff starts now, as a first try.
#[test]
fn a_start_in_backoff_does_not_wait() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    rig.exit(BAD);
    assert_eq!(launch(&rig.tell(Event::Start(request(Trigger::Manual)))), Some((Trigger::Manual, 1)));
    assert_eq!(rig.machine.restarts(), 0);
}

/// CTL-2: a second order to end everything comes without grace, even for what is just being launched.
#[test]
fn a_kill_does_not_wait_for_the_grace() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let run = rig.start();
    rig.tell(Event::Stop(StopReason::Shutdown));
    assert_eq!(rig.tell(Event::Kill), [Effect::KillTree(run)]);

    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Manual)));
    let run = rig.run();
    rig.tell(Event::Stop(StopReason::Shutdown));
    assert_eq!(rig.tell(Event::Kill), []);
    assert_eq!(rig.tell(Event::Spawned(run)), [Effect::KillTree(run)]);
}

/// RUN-4: a foreground run is one run, whatever the policy.
#[test]
fn a_foreground_run_is_not_followed_by_another() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Once)));
    rig.run_for(SECOND, BAD);
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// CFG-10: a `restart` that no longer wants the restart which is being waited for ends the wait.
#[test]
fn a_revised_policy_applies_to_a_restart_that_is_awaited() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    rig.exit(BAD);
    rig.policy.restart = RestartPolicy::OnFailure;
    assert_eq!(rig.tell(Event::Revised), []);
    rig.policy.restart = RestartPolicy::No;
    assert_eq!(shown(&rig.tell(Event::Revised)), [State::Stopped]);
}
