//! How runs end, and what follows: LIF-3, LIF-4, LIF-6.

use super::*;
use crate::lifecycle::Overspent;

/// LIF-3: `always` and `unless-stopped` restart a resident harness whatever the
/// outcome, `on-failure` what failed or met a limit, `no` nothing; an `ok` one-shot is never run
/// again, nor one whose turns or budget are used up. A resident harness whose start at boot met
/// another process (RUN-4) is still to be started. `auth-required` is asked when the login has changed.
#[test]
fn the_policy_decides_what_is_run_again() {
    use Outcome::{
        AuthRequired, Budget, CheckFailed, Failed, MaxTurns, NoOutput, Ok, Overloaded, RateLimited, Skipped,
        SpawnFailed, Timeout,
    };
    let again =
        |policy: Policy| Outcome::ALL.iter().copied().filter(|end| policy.again(*end)).collect::<Vec<_>>();
    let failures =
        vec![Failed, RateLimited, Overloaded, AuthRequired, CheckFailed, Timeout, NoOutput, SpawnFailed];
    let with = |more: &[Outcome]| {
        let mut all = [&failures, more].concat();
        all.sort_unstable();
        all
    };
    for restart in [RestartPolicy::Always, RestartPolicy::UnlessStopped] {
        assert_eq!(again(resident(restart)), with(&[Ok, MaxTurns, Budget, Skipped]), "{restart}");
        assert_eq!(again(oneshot(restart)), failures, "{restart}");
    }
    assert_eq!(again(oneshot(RestartPolicy::OnFailure)), failures);
    assert_eq!(again(oneshot(RestartPolicy::No)), []);
    assert_eq!(again(resident(RestartPolicy::OnFailure)), with(&[Skipped]));
    assert_eq!(again(resident(RestartPolicy::No)), [Skipped]);
    let scheduled = Policy { scheduled: true, ..oneshot(RestartPolicy::Always) };
    assert!(!scheduled.again(AuthRequired) && scheduled.again(Failed));
}

/// LIF-3: a resident harness that exits `ok` under `always` comes back after the delay.
#[test]
fn a_resident_harness_that_ends_well_is_restarted() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.start();
    let effects = rig.exit(GOOD);
    assert_eq!(verdict(&effects), Some((Outcome::Ok, None)));
    assert_eq!(rig.state(), State::Backoff);
    assert!(near(rig.until_due(), SECOND));
    assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
    assert_eq!(rig.machine.restarts(), 1);
}

/// LIF-3: a final exit lands in `stopped`, a final spawn failure in `failed`.
#[test]
fn final_ends_land_where_they_should() {
    for status in [GOOD, BAD] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        rig.start();
        rig.exit(status);
        assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
    }
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.tell(Event::Start(request(Trigger::Manual)));
    assert_eq!(verdict(&rig.fail_spawn()), Some((Outcome::SpawnFailed, Some("`x`: not found"))));
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Failed, None));
}

/// RUN-1: every outcome but `ok` says why, in words.
#[test]
fn the_cause_of_an_end_is_told() {
    for (status, words) in [
        (ExitStatus::Code(3), "exit status 3"),
        (ExitStatus::Signal(11), "killed by SIGSEGV"),
        (ExitStatus::Signal(9), "killed by SIGKILL"),
        (ExitStatus::Signal(31), "killed by SIGSYS"),
        (ExitStatus::Signal(34), "killed by SIG34"),
    ] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        rig.start();
        assert_eq!(verdict(&rig.exit(status)), Some((Outcome::Failed, Some(words))));
    }
    for (reason, outcome, words) in [
        (StopReason::Asked, Outcome::Stopped, "asked to stop"),
        (StopReason::Restart, Outcome::Stopped, "asked to restart"),
        (StopReason::ClientGone, Outcome::Stopped, "the client that ran it went away"),
        (StopReason::Removed, Outcome::Stopped, "removed from the configuration"),
        (StopReason::Shutdown, Outcome::Stopped, "the daemon was shut down"),
        (
            StopReason::NoFirstOutput(SECOND * 120),
            Outcome::NoOutput,
            "wrote nothing within its `first_output_timeout` of 2m",
        ),
        (StopReason::Idle(SECOND * 60), Outcome::NoOutput, "wrote nothing for its `idle_timeout` of 1m"),
        (StopReason::SlowCheck(SECOND * 60), Outcome::CheckFailed, "its `check` took longer than 1m"),
        (
            StopReason::Lingering(SECOND * 30),
            Outcome::Stopped,
            "went on for its `linger_timeout` of 30s after its result",
        ),
        (
            StopReason::Overspent(Overspent::Tokens { spent: 1200, most: 1000 }),
            Outcome::Budget,
            "used 1200 tokens of its `budget` of 1000",
        ),
        (
            StopReason::Overspent(Overspent::dollars(2.512, 2.5)),
            Outcome::Budget,
            "cost $2.512 of its `budget` of $2.50",
        ),
        (StopReason::Timeout(SECOND * 90), Outcome::Timeout, "ran longer than its `timeout` of 1m 30s"),
        (
            StopReason::Replaced(Wall(0)),
            Outcome::Replaced,
            "replaced by the firing of 1970-01-01T00:00:00.000Z",
        ),
    ] {
        assert_eq!((reason.outcome(), reason.cause().as_str()), (outcome, words));
    }
}

/// LIF-6: a main process that ends is seen at once; leftovers get the stop
/// signal at once, KILL after the grace, and only then is the run ended.
#[test]
fn leftovers_are_stopped_then_killed_before_the_run_ends() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    let effects = rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(
        effects,
        [Effect::StopTree(run), Effect::Changed { from: State::Running, to: State::Stopping }]
    );
    assert_eq!(rig.until_due(), rig.policy.stop_timeout);
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
    let effects = rig.tell(Event::Emptied { run, report: None });
    assert_eq!(verdict(&effects), Some((Outcome::Failed, Some("exit status 3"))));
    assert_eq!(rig.state(), State::Stopped);
}

/// LIF-6: KILL is repeated while something of the run is alive.
#[test]
fn what_escapes_a_kill_is_killed_again() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    rig.tell(Event::Exited { run, status: GOOD });
    for _ in 0..3 {
        assert_eq!(rig.due(), [Effect::KillTree(run)]);
    }
}

/// LIF-4: five ends inside a minute make it `degraded`, with one event; a run as
/// long as the window ends that, and the next delay is the first one again.
#[test]
fn a_crash_loop_begins_and_ends() {
    let mut rig = Rig::new(Policy { max_attempts: 0, ..resident(RestartPolicy::Always) });
    rig.tell(Event::Start(request(Trigger::Manual)));
    let mut flapping = Vec::new();
    for end in 1..=7 {
        let effects = rig.run_for(Duration::ZERO, BAD);
        flapping.extend(effects.iter().filter(|e| matches!(e, Effect::Flapping { .. })).cloned());
        assert_eq!(rig.state() == State::Degraded, end >= 5, "after end {end}");
        rig.due();
    }
    assert_eq!(flapping, [Effect::Flapping { exits: 5 }]);
    let run = rig.run();
    assert_eq!(shown(&rig.tell(Event::Spawned(run))), [State::Degraded]);
    assert_eq!(rig.until_due(), rig.policy.crash_loop_window);
    assert_eq!(shown(&rig.due()), [State::Running]);
    rig.exit(BAD);
    assert_eq!(rig.state(), State::Backoff);
    assert!(near(rig.until_due(), SECOND));
}

/// LIF-4: ends that lie further apart than the window are no crash loop.
#[test]
fn rare_ends_are_no_crash_loop() {
    let mut rig =
        Rig::new(Policy { max_attempts: 0, backoff_max: SECOND, ..resident(RestartPolicy::Always) });
    rig.tell(Event::Start(request(Trigger::Manual)));
    for _ in 0..20 {
        rig.run_for(SECOND * 16, BAD);
        assert_eq!(rig.state(), State::Backoff);
        rig.due();
    }
}

/// LIF-4: ten failed attempts in a row and it is `failed`, slow failures too; it
/// stays so until it is started, restarted or fired.
#[test]
fn it_is_given_up_after_ten_failed_attempts_however_slow() {
    for lasting in [Duration::ZERO, SECOND * 61, SECOND * 7200] {
        for revival in [
            Event::Start(request(Trigger::Manual)),
            Event::Restart(request(Trigger::Manual)),
            Event::Fire { slot: Wall(0), overlap: Firing::Skip },
        ] {
            let mut rig = Rig::new(resident(RestartPolicy::Always));
            rig.tell(Event::Start(request(Trigger::Manual)));
            for attempt in 1..=10 {
                assert_ne!(rig.state(), State::Failed, "before attempt {attempt}");
                rig.run_for(lasting, BAD);
                if attempt < 10 {
                    rig.due();
                }
            }
            assert_eq!((rig.state(), rig.machine.deadline()), (State::Failed, None));
            assert_eq!(rig.tell(Event::Due), []);
            assert_eq!(launch(&rig.tell(revival)).map(|(_, attempt)| attempt), Some(1));
            rig.run_for(Duration::ZERO, BAD);
            assert!(near(rig.until_due(), SECOND), "the count and the delay begin anew");
        }
    }
}

/// LIF-4: a run that ends well breaks the row of failures; a long one that fails does not.
#[test]
fn only_a_good_run_resets_the_count_of_failures() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Manual)));
    for _ in 0..9 {
        rig.run_for(Duration::ZERO, BAD);
        rig.due();
    }
    rig.run_for(SECOND * 61, GOOD);
    assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 1)));
    for _ in 0..9 {
        rig.run_for(SECOND * 61, BAD);
        rig.due();
    }
    rig.run_for(SECOND * 61, BAD);
    assert_eq!(rig.state(), State::Failed);
}

/// LIF-4: spawn failures are retried with the same delays and spend the same count.
#[test]
fn failed_spawns_back_off_and_are_given_up() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Manual)));
    for attempt in 1_u32..10 {
        rig.fail_spawn();
        assert!(near(rig.until_due(), SECOND * 2_u32.pow(attempt - 1)), "after attempt {attempt}");
        assert_eq!(launch(&rig.due()), Some((Trigger::Restart, attempt + 1)));
    }
    rig.fail_spawn();
    assert_eq!(rig.state(), State::Failed);
}

/// LIF-4: a resident harness that only ever ends well, at once, slows down but is never given up.
#[test]
fn quick_good_ends_are_slowed_down_but_never_given_up() {
    let mut rig = Rig::new(Policy { max_attempts: 3, ..resident(RestartPolicy::Always) });
    rig.tell(Event::Start(request(Trigger::Manual)));
    for _ in 0..50 {
        rig.run_for(Duration::ZERO, GOOD);
        assert_ne!(rig.state(), State::Failed);
        rig.due();
    }
    rig.run_for(Duration::ZERO, GOOD);
    assert!(near(rig.until_due(), rig.policy.backoff_max));
}
