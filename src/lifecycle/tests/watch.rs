//! Silence: RUN-0 (`no-output`), and which of several bounds ends a run.

use super::*;

fn watched(first: Option<u64>, idle: Option<u64>) -> Rig {
    let mut rig = Rig::new(Policy {
        first_output_timeout: first.map(Duration::from_secs),
        idle_timeout: idle.map(Duration::from_secs),
        ..oneshot(RestartPolicy::No)
    });
    rig.start();
    rig
}

impl Rig {
    fn write(&mut self) {
        let run = self.run();
        assert_eq!(self.tell(Event::Output(run)), []);
    }
}

/// RUN-0: a run that has written nothing within `first_output_timeout` is stopped; its cause says so.
#[test]
fn a_run_that_never_writes_is_stopped() {
    let mut rig = watched(Some(120), None);
    let run = rig.run();
    assert_eq!(rig.until_due(), SECOND * 120);
    assert_eq!(
        rig.due(),
        [Effect::StopTree(run), Effect::Changed { from: State::Running, to: State::Stopping }]
    );
    let cause = "wrote nothing within its `first_output_timeout` of 2m";
    assert_eq!(verdict(&rig.exit(ExitStatus::Signal(15))), Some((Outcome::NoOutput, Some(cause))));
}

/// RUN-0: after its first output a run is bounded by `idle_timeout` alone, each output anew.
#[test]
fn a_run_that_falls_silent_is_stopped() {
    let mut rig = watched(Some(600), Some(60));
    rig.pass(SECOND * 500);
    rig.write();
    for _ in 0..50 {
        rig.pass(SECOND * 59);
        assert_eq!(rig.tell(Event::Due), []);
        rig.write();
    }
    assert_eq!(rig.until_due(), SECOND * 60);
    rig.due();
    let cause = "wrote nothing for its `idle_timeout` of 1m";
    assert_eq!(verdict(&rig.exit(GOOD)), Some((Outcome::NoOutput, Some(cause))));
}

/// RUN-0: without a bound of its own the first output has that of every silence.
#[test]
fn the_first_output_is_bounded_by_the_idle_timeout_if_that_is_all() {
    let mut rig = watched(None, Some(60));
    assert_eq!(rig.until_due(), SECOND * 60);
    rig.due();
    let cause = "wrote nothing for its `idle_timeout` of 1m";
    assert_eq!(verdict(&rig.exit(GOOD)), Some((Outcome::NoOutput, Some(cause))));
}

/// RUN-0: with a bound of the first output only, silence after it is allowed; with none, any.
#[test]
fn what_is_not_bounded_may_last() {
    let mut rig = watched(Some(60), None);
    rig.write();
    assert_eq!(rig.machine.deadline(), None);
    let mut rig = watched(None, None);
    rig.write();
    assert_eq!(rig.machine.deadline(), None);
}

/// RUN-0: output of a run that is being ended, or of one that is over, keeps nothing alive.
#[test]
fn output_while_it_ends_changes_nothing() {
    let mut rig = watched(None, Some(60));
    let old = rig.run();
    rig.due();
    rig.write();
    assert_eq!(rig.until_due(), rig.policy.stop_timeout);
    assert_eq!(rig.due(), [Effect::KillTree(old)]);
    rig.exit(GOOD);
    rig.start();
    rig.pass(SECOND * 30);
    assert_eq!(rig.tell(Event::Output(old)), []);
    assert_eq!(rig.until_due(), SECOND * 30);
}

/// RUN-8: an agent that has stated its result may be silent; only lingering is bounded.
#[test]
fn after_the_statement_silence_is_no_fault() {
    let mut rig = watched(None, Some(10));
    let run = rig.run();
    rig.tell(Event::Reported { run, report: good() });
    assert_eq!(rig.until_due(), SECOND * 30);
    rig.write();
    assert_eq!(rig.until_due(), SECOND * 30);
}

/// SCH-8: when several bounds have passed (the daemon was stopped meanwhile), the first of them counts.
#[test]
fn the_first_bound_that_passed_counts() {
    for (timeout, outcome) in [(50, Outcome::Timeout), (70, Outcome::NoOutput)] {
        let mut rig = Rig::new(Policy {
            timeout: Some(Duration::from_secs(timeout)),
            idle_timeout: Some(SECOND * 60),
            ..oneshot(RestartPolicy::No)
        });
        rig.start();
        rig.pass(SECOND * 100);
        rig.tell(Event::Due);
        assert_eq!(verdict(&rig.exit(GOOD)).map(|(outcome, _)| outcome), Some(outcome));
    }
}

/// LIF-3: `no-output` is a failure that is retried.
#[test]
fn silence_is_retried_as_a_failure() {
    let mut rig = Rig::new(Policy { idle_timeout: Some(SECOND), ..oneshot(RestartPolicy::OnFailure) });
    rig.start();
    rig.due();
    rig.exit(GOOD);
    assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, 1));
}

/// SCH-4: a firing that meets a run which is stopped for its silence goes by `overlap`.
#[test]
fn a_firing_during_a_watchdogs_stop_goes_by_overlap() {
    let mut rig = watched(None, Some(60));
    rig.due();
    awaited(&rig.tell(Event::Fire { slot: Wall(7), overlap: Firing::Queue }));
    assert_eq!(launch(&rig.exit(GOOD)), Some((Trigger::Schedule, 1)));
}
