//! The check after an agent that ended well: RUN-7.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const KILLED: ExitStatus = ExitStatus::Signal(15);

fn checked(restart: RestartPolicy) -> Policy {
    Policy { check: Some(MINUTE * 10), ..oneshot(restart) }
}

impl Rig {
    /// Starts it and lets its agent end well, so that its check runs.
    fn reach_check(&mut self) -> RunId {
        let run = self.start();
        let effects = self.exit(GOOD);
        assert!(effects.contains(&Effect::Check(run)), "{effects:?}");
        assert_eq!(verdict(&effects), None, "the run is not over");
        run
    }
}

/// RUN-7: the check decides, whose result stands in the cause; the exit status in the record is the agent's.
#[test]
fn the_check_decides() {
    for (status, outcome, cause) in [
        (GOOD, Outcome::Ok, None),
        (ExitStatus::Code(1), Outcome::CheckFailed, Some("its `check` ended with exit status 1")),
        (ExitStatus::Signal(9), Outcome::CheckFailed, Some("its `check` was killed by SIGKILL")),
    ] {
        let mut rig = Rig::new(checked(RestartPolicy::No));
        let run = rig.reach_check();
        let effects = rig.exit(status);
        let end = End::new(outcome, cause.map(str::to_owned));
        assert_eq!(ended(&effects), Some((run, end, Some(GOOD))));
        assert_eq!((rig.state(), rig.machine.run()), (State::Stopped, None));
    }
}

/// RUN-7: a check that cannot be started fails the run.
#[test]
fn a_check_that_cannot_be_started_fails_the_run() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.reach_check();
    let effects = rig.tell(Event::CheckRefused { run, cause: "`x`: not found".to_owned() });
    let cause = Some("its `check` could not be started: `x`: not found".to_owned());
    assert_eq!(ended(&effects), Some((run, End::new(Outcome::CheckFailed, cause), Some(GOOD))));
}

/// RUN-7: a check has its own bound, from the moment it was asked for; it is stopped like a run.
#[test]
fn a_slow_check_is_stopped() {
    let mut rig = Rig::new(Policy { timeout: Some(MINUTE * 2), ..checked(RestartPolicy::No) });
    let run = rig.reach_check();
    assert_eq!(rig.until_due(), MINUTE * 10, "the bound of the agent is over");
    assert_eq!(rig.due()[0], Effect::StopTree(run));
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
    assert_eq!(rig.tell(Event::Exited { run, status: ExitStatus::Signal(9) }), [Effect::KillTree(run)]);
    let effects = rig.tell(Event::Emptied { run, report: None });
    let cause = Some("its `check` took longer than 10m".to_owned());
    assert_eq!(ended(&effects), Some((run, End::new(Outcome::CheckFailed, cause), Some(GOOD))));
}

/// RUN-7: leftovers of a check are ended before the run is over.
#[test]
fn leftovers_of_a_check_are_ended() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.reach_check();
    assert_eq!(rig.tell(Event::Exited { run, status: GOOD })[0], Effect::StopTree(run));
    assert_eq!(rig.until_due(), rig.policy.stop_timeout);
    assert_eq!(verdict(&rig.tell(Event::Emptied { run, report: None })), Some((Outcome::Ok, None)));
}

/// RUN-7: no check follows a run that did not end well, or that somebody ended.
#[test]
fn only_what_ended_well_by_itself_is_checked() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    rig.start();
    assert_eq!(verdict(&rig.exit(BAD)), Some((Outcome::Failed, Some("exit status 3"))));
    let run = rig.start();
    rig.tell(Event::Reported { run, report: states(Outcome::MaxTurns) });
    assert_eq!(verdict(&rig.exit(GOOD)).map(|(outcome, _)| outcome), Some(Outcome::MaxTurns));
    let run = rig.start();
    rig.tell(Event::Reported { run, report: good() });
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(verdict(&rig.exit(KILLED)), Some((Outcome::Ok, None)));
    let run = rig.start();
    rig.tell(Event::Exited { run, status: GOOD });
    rig.tell(Event::Stop(StopReason::Shutdown));
    assert_eq!(verdict(&rig.tell(Event::Emptied { run, report: None })), Some((Outcome::Ok, None)));
}

/// RUN-7, RUN-8: an agent that lingered after a success is checked, too, and its record says that it lingered.
#[test]
fn a_lingering_agent_is_checked() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.start();
    rig.tell(Event::Reported { run, report: good() });
    rig.due();
    assert!(rig.exit(KILLED).contains(&Effect::Check(run)));
    let effects = rig.exit(BAD);
    let cause = Some("its `check` ended with exit status 3".to_owned());
    let end = End { lingered: true, ..End::new(Outcome::CheckFailed, cause) };
    assert_eq!(ended(&effects), Some((run, end, Some(KILLED))));
}

/// RUN-7, SCH-8: so is one that had stated a success before its `timeout` came; one that had not is over.
#[test]
fn an_agent_that_had_succeeded_before_its_timeout_is_checked() {
    for stated in [true, false] {
        let mut rig = Rig::new(Policy { timeout: Some(SECOND * 10), ..checked(RestartPolicy::No) });
        let run = rig.start();
        if stated {
            rig.tell(Event::Reported { run, report: good() });
        }
        rig.due();
        let effects = rig.exit(KILLED);
        assert_eq!(effects.contains(&Effect::Check(run)), stated, "{effects:?}");
        let effects = if stated { rig.exit(GOOD) } else { effects };
        let cause = "ran longer than its `timeout` of 10s";
        let expected = if stated { (Outcome::Ok, None) } else { (Outcome::Timeout, Some(cause)) };
        assert_eq!(verdict(&effects), Some(expected));
    }
}

/// RUN-7: the harness is shown as running while its check runs, and a start meanwhile starts nothing.
#[test]
fn a_harness_runs_while_its_check_does() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.reach_check();
    assert_eq!((rig.state(), rig.machine.run()), (State::Running, Some(run)));
    assert_eq!(rig.machine.standing(), Standing::Running(run));
    assert_eq!(rig.tell(Event::Start(request(Trigger::Manual))), []);
    assert_eq!(rig.tell(Event::Output(run)), []);
    assert_eq!(rig.tell(Event::Reported { run, report: states(Outcome::Failed) }), []);
    assert_eq!(verdict(&rig.exit(GOOD)), Some((Outcome::Ok, None)));
}

/// RUN-7: a stop while the check runs ends it, and the run is `stopped`, also if the check never started.
#[test]
fn a_stop_while_the_check_runs_stops_it() {
    for refused in [false, true] {
        let mut rig = Rig::new(checked(RestartPolicy::OnFailure));
        let run = rig.reach_check();
        assert_eq!(rig.tell(Event::Stop(StopReason::Asked))[0], Effect::StopTree(run));
        let effects = if refused {
            rig.tell(Event::CheckRefused { run, cause: "late".to_owned() })
        } else {
            rig.exit(GOOD)
        };
        let end = End::new(Outcome::Stopped, Some("asked to stop".to_owned()));
        assert_eq!(ended(&effects), Some((run, end, Some(GOOD))));
        assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
    }
}

/// SCH-4: a firing while the check runs goes by `overlap`, as while the agent does.
#[test]
fn a_firing_while_the_check_runs_goes_by_overlap() {
    let slot = Wall(9);
    let fire = |overlap| Event::Fire { slot, overlap };
    let mut rig = Rig::new(checked(RestartPolicy::No));
    rig.reach_check();
    let cause = "the run before it is still active".to_owned();
    assert_eq!(rig.tell(fire(Firing::Skip)), [Effect::Skipped { slot, cause }]);
    rig.exit(GOOD);

    rig.reach_check();
    awaited(&rig.tell(fire(Firing::Queue)));
    assert_eq!(launch(&rig.exit(BAD)), Some((Trigger::Schedule, 1)));

    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.reach_check();
    assert_eq!(rig.tell(fire(Firing::Replace))[0], Effect::StopTree(run));
    let effects = rig.exit(GOOD);
    assert_eq!(verdict(&effects).map(|(outcome, _)| outcome), Some(Outcome::Replaced));
    assert_eq!(launch(&effects), Some((Trigger::Schedule, 1)));
}

/// SCH-4: a firing that waited while the agent ran waits for the check, too.
#[test]
fn a_firing_that_waits_waits_for_the_check() {
    let mut rig = Rig::new(checked(RestartPolicy::No));
    let run = rig.start();
    rig.tell(Event::Fire { slot: Wall(9), overlap: Firing::Queue });
    let effects = rig.exit(GOOD);
    assert_eq!((launch(&effects), effects.contains(&Effect::Check(run))), (None, true));
    assert_eq!(launch(&rig.exit(GOOD)), Some((Trigger::Schedule, 1)));
}

/// LIF-3, LIF-4: `check-failed` is retried as a failure.
#[test]
fn a_failed_check_is_retried() {
    let mut rig = Rig::new(Policy { max_attempts: 2, ..checked(RestartPolicy::OnFailure) });
    rig.reach_check();
    rig.exit(BAD);
    assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, 1));
    assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
    rig.spawn();
    rig.exit(GOOD);
    rig.exit(BAD);
    assert_eq!((rig.state(), rig.machine.failures()), (State::Failed, 2));
}
