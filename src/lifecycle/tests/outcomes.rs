//! What an agent states, and how its run ends: RUN-0, RUN-8.

use super::*;

impl Rig {
    fn report(&mut self, report: Report) -> Vec<Effect> {
        let run = self.run();
        self.tell(Event::Reported { run, report })
    }

    /// The main process ends and nothing else is alive; its whole output and its status state this.
    fn exit_stating(&mut self, status: ExitStatus, report: Report) -> Vec<Effect> {
        let run = self.run();
        let mut effects = self.tell(Event::Exited { run, status });
        effects.extend(self.tell(Event::Emptied { run, report: Some(report) }));
        effects
    }
}

const KILLED: ExitStatus = ExitStatus::Signal(15);

/// RUN-0: what the agent states counts, not its exit status; a cause is made where it gives none.
#[test]
fn the_statement_is_the_outcome() {
    let until = Some(Wall(1_700_000_900_000_000));
    let limited = Report { until, ..states(Outcome::RateLimited) };
    let mute = Report { cause: None, ..states(Outcome::Budget) };
    let talkative = Report { cause: Some("all is well".to_owned()), ..good() };
    for (status, report, outcome, cause, until) in [
        (GOOD, states(Outcome::Failed), Outcome::Failed, Some("it says so"), None),
        (GOOD, limited, Outcome::RateLimited, Some("it says so"), until),
        (BAD, states(Outcome::AuthRequired), Outcome::AuthRequired, Some("it says so"), None),
        (GOOD, mute, Outcome::Budget, Some("its agent states `budget`"), None),
        (GOOD, talkative, Outcome::Ok, None, None),
    ] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        let run = rig.start();
        let effects = rig.exit_stating(status, report);
        let cause = cause.map(str::to_owned);
        let end = End { until, ..End::new(outcome, cause) };
        assert_eq!(ended(&effects), Some((run, end, Some(status))));
    }
}

/// RUN-0: without a statement, before the end or at it, the exit status decides.
#[test]
fn without_a_statement_the_exit_status_decides() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    assert_eq!(verdict(&rig.exit(BAD)), Some((Outcome::Failed, Some("exit status 3"))));
    rig.start();
    rig.report(states(Outcome::MaxTurns));
    assert_eq!(verdict(&rig.exit(BAD)), Some((Outcome::MaxTurns, Some("it says so"))));
}

/// RUN-0: the whole output, judged with the exit status, has the last word about a run that ended by itself.
#[test]
fn the_last_word_is_that_of_the_whole_output() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    rig.report(good());
    let run = rig.run();
    rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(rig.report(states(Outcome::Budget)), [], "after the exit only the whole counts");
    let effects = rig.tell(Event::Emptied { run, report: Some(states(Outcome::Failed)) });
    let end = End::new(Outcome::Failed, Some("it says so".to_owned()));
    assert_eq!(ended(&effects), Some((run, end, Some(BAD))));
}

/// RUN-8: an agent that has stated its result is stopped after `linger_timeout`; the outcome is what
/// it stated, whatever status its death gives, and the record says that it lingered.
#[test]
fn a_lingering_agent_is_stopped_and_keeps_its_outcome() {
    for (report, cause) in [(good(), None), (states(Outcome::MaxTurns), Some("it says so".to_owned()))] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        let run = rig.start();
        let outcome = report.outcome;
        assert_eq!(rig.report(report), []);
        assert_eq!(rig.until_due(), SECOND * 30);
        assert_eq!(
            rig.due(),
            [Effect::StopTree(run), Effect::Changed { from: State::Running, to: State::Stopping }]
        );
        let effects = rig.exit_stating(KILLED, states(Outcome::Failed));
        let end = End { lingered: true, ..End::new(outcome, cause) };
        assert_eq!(ended(&effects), Some((run, end, Some(KILLED))));
        assert_eq!(rig.state(), State::Stopped);
    }
}

/// RUN-8: who ends in time does not linger, and who lingers is still asked gently before it is killed.
#[test]
fn lingering_begins_at_the_bound_and_has_a_grace() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    rig.report(good());
    rig.pass(SECOND * 29);
    assert_eq!(rig.tell(Event::Due), []);
    let effects = rig.exit_stating(GOOD, good());
    assert_eq!(ended(&effects), Some((run, End::new(Outcome::Ok, None), Some(GOOD))));

    let run = rig.start();
    rig.report(good());
    rig.due();
    assert_eq!(rig.until_due(), rig.policy.stop_timeout);
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
}

/// RUN-8: of several statements the last counts, and lingering is counted from it.
#[test]
fn the_last_statement_counts() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    rig.report(states(Outcome::MaxTurns));
    rig.pass(SECOND * 20);
    rig.report(good());
    assert_eq!(rig.until_due(), SECOND * 30);
    rig.due();
    assert_eq!(verdict(&rig.exit(KILLED)), Some((Outcome::Ok, None)));
}

/// RUN-0, RUN-8: an agent that goes on after its statement does not linger: its silence is watched again,
/// and what it had stated counts no more.
#[test]
fn who_goes_on_after_a_statement_does_not_linger() {
    let idle_timeout = Some(SECOND * 60);
    let mut rig = Rig::new(Policy { idle_timeout, ..oneshot(RestartPolicy::No) });
    let run = rig.start();
    rig.report(states(Outcome::Overloaded));
    rig.pass(SECOND * 20);
    assert_eq!(rig.tell(Event::Resumed(run)), []);
    assert_eq!(rig.until_due(), SECOND * 60);
    rig.pass(SECOND * 50);
    assert_eq!(rig.tell(Event::Due), []);
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(rig.tell(Event::Resumed(run)), []);
    assert_eq!(verdict(&rig.exit(KILLED)), Some((Outcome::Stopped, Some("asked to stop"))));

    // One that has stated nothing goes on as before, and one that is over is not revived.
    let next = rig.start();
    rig.pass(SECOND * 20);
    assert_eq!((rig.tell(Event::Resumed(next)), rig.until_due()), (Vec::new(), SECOND * 40));
    rig.report(good());
    assert_eq!((rig.tell(Event::Resumed(run)), rig.until_due()), (Vec::new(), SECOND * 30));
}

/// RUN-8: `linger_timeout` 0 stops at once after the statement.
#[test]
fn no_linger_timeout_stops_at_once() {
    let mut rig = Rig::new(Policy { linger_timeout: Duration::ZERO, ..oneshot(RestartPolicy::No) });
    let run = rig.start();
    assert_eq!(rig.report(good())[0], Effect::StopTree(run));
    assert_eq!(
        ended(&rig.exit(KILLED)).map(|(_, end, _)| (end.outcome, end.lingered)),
        Some((Outcome::Ok, true))
    );
}

/// RUN-8: an endless `linger_timeout` is no deadline.
#[test]
fn an_endless_linger_timeout_is_no_deadline() {
    let mut rig = Rig::new(Policy { linger_timeout: Duration::MAX, ..oneshot(RestartPolicy::No) });
    rig.start();
    rig.report(good());
    assert_eq!(rig.machine.deadline(), None);
}

/// RUN-0, RUN-8: what was stated before a stop was decided wins over it, whoever decided it; what follows
/// is what that stop wants, and nobody says that it lingered.
#[test]
fn a_statement_before_a_stop_wins() {
    let slot = Wall(5);
    for stop in [
        Event::Stop(StopReason::Asked),
        Event::Restart(request(Trigger::Manual)),
        Event::Fire { slot, overlap: Firing::Replace },
        Event::Due,
    ] {
        let timeout = Some(SECOND * 10);
        let mut rig = Rig::new(Policy { timeout, ..oneshot(RestartPolicy::OnFailure) });
        let run = rig.start();
        rig.report(good());
        rig.pass(SECOND * 10);
        assert_eq!(rig.tell(stop.clone())[0], Effect::StopTree(run), "{stop:?}");
        let effects = rig.exit(KILLED);
        let end = End::new(Outcome::Ok, None);
        assert_eq!(ended(&effects), Some((run, end, Some(KILLED))), "{stop:?}");
        let follows = matches!(stop, Event::Restart(_) | Event::Fire { .. });
        assert_eq!(launch(&effects).is_some(), follows, "{stop:?}");
        assert_eq!(rig.state() == State::Stopped, !follows, "{stop:?}");
    }
}

/// RUN-8: who lingers is ended for that, whatever is asked of the harness while it is being ended.
#[test]
fn a_stop_while_a_lingering_agent_is_ended_changes_nothing_of_that() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    rig.report(good());
    rig.due();
    rig.tell(Event::Stop(StopReason::Asked));
    let end = End { lingered: true, ..End::new(Outcome::Ok, None) };
    assert_eq!(ended(&rig.exit(KILLED)), Some((run, end, Some(KILLED))));
}

/// RUN-0: what is stated after a stop was decided changes nothing.
#[test]
fn a_statement_after_a_stop_is_too_late() {
    let mut rig = Rig::new(Policy { timeout: Some(SECOND), ..oneshot(RestartPolicy::No) });
    rig.start();
    rig.due();
    assert_eq!(rig.report(good()), []);
    let effects = rig.exit_stating(GOOD, good());
    assert_eq!(verdict(&effects), Some((Outcome::Timeout, Some("ran longer than its `timeout` of 1s"))));
    assert_eq!(ended(&effects).map(|(_, end, _)| end.lingered), Some(false));

    rig.start();
    rig.tell(Event::Stop(StopReason::Asked));
    rig.report(good());
    assert_eq!(verdict(&rig.exit_stating(GOOD, good())), Some((Outcome::Stopped, Some("asked to stop"))));
}

/// LIF-3: what was stated decides what is run again: a retry after a failure, none after a success
/// that was ended by force.
#[test]
fn the_policy_goes_by_the_statement() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    rig.start();
    rig.exit_stating(GOOD, states(Outcome::Failed));
    assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, 1));
    rig.due();
    rig.spawn();
    rig.report(good());
    rig.due();
    rig.exit(KILLED);
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}
