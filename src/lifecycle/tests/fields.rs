//! One directed property per field of the policy: a random walk alone would
//! miss, for example, restarts without bound.

use proptest::prelude::*;

use super::*;

fn seconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_secs)
}

fn status() -> impl Strategy<Value = ExitStatus> {
    prop_oneof![Just(GOOD), (1..256).prop_map(ExitStatus::Code), (1..65).prop_map(ExitStatus::Signal)]
}

fn restart() -> impl Strategy<Value = RestartPolicy> {
    prop::sample::select(RestartPolicy::ALL)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// LIF-3 (`oneshot`): no policy runs a one-shot again that was `ok`.
    #[test]
    fn oneshot_ends_with_its_first_good_run(restart in restart(), failures in 0..9_u32) {
        let mut rig = Rig::new(oneshot(restart));
        rig.tell(Event::Start(request(Trigger::Manual)));
        for _ in 0..failures {
            rig.run_for(SECOND, BAD);
            if rig.state() == State::Stopped {
                return Ok(());
            }
            rig.due();
        }
        rig.run_for(SECOND, GOOD);
        prop_assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
    }

    /// LIF-3 (`restart`): a resident harness comes back exactly when its policy says so.
    #[test]
    fn restart_decides_whether_it_comes_back(restart in restart(), status in status(), time in seconds(0..200)) {
        let mut rig = Rig::new(resident(restart));
        rig.tell(Event::Start(request(Trigger::Manual)));
        rig.run_for(time, status);
        let back = match restart {
            RestartPolicy::No => false,
            RestartPolicy::Always | RestartPolicy::UnlessStopped => true,
            RestartPolicy::OnFailure => status != GOOD,
        };
        prop_assert_eq!(rig.state() == State::Backoff, back);
        prop_assert_eq!(rig.machine.deadline().is_some(), back);
    }

    /// LIF-4 (`restart_delay`): the first restart waits it, ±10 %; zero waits nothing.
    #[test]
    fn restart_delay_is_the_first_wait(millis in 0..100_000_u64, status in status()) {
        let restart_delay = Duration::from_millis(millis);
        let mut rig = Rig::new(Policy { restart_delay, ..resident(RestartPolicy::Always) });
        rig.tell(Event::Start(request(Trigger::Manual)));
        let effects = rig.run_for(SECOND, status);
        if millis == 0 {
            prop_assert_eq!(launch(&effects), Some((Trigger::Restart, 2)));
        } else {
            prop_assert_eq!(launch(&effects), None);
            prop_assert!(near(rig.until_due(), restart_delay));
        }
    }

    /// LIF-4 (`backoff_max`): quick ends double the delay, up to the cap and never beyond its jitter.
    #[test]
    fn backoff_max_bounds_the_doubling(delay in 1..60_u64, max in 1..2000_u64, ends in 1..40_u32) {
        let (restart_delay, backoff_max) = (Duration::from_secs(delay), Duration::from_secs(max));
        let policy = Policy { restart_delay, backoff_max, max_attempts: 0, ..resident(RestartPolicy::Always) };
        let mut rig = Rig::new(policy);
        rig.tell(Event::Start(request(Trigger::Manual)));
        let cap = backoff_max.max(restart_delay);
        for end in 0..ends {
            rig.run_for(Duration::ZERO, BAD);
            let expected = restart_delay.saturating_mul(1 << end.min(20)).min(cap);
            prop_assert!(near(rig.until_due(), expected), "end {}: {:?}", end, rig.until_due());
            rig.due();
        }
    }

    /// LIF-4 (`crash_loop_exits`): it is `degraded` from exactly that many quick ends on; never for 0.
    #[test]
    fn crash_loop_exits_is_the_threshold(exits in 0..12_u32) {
        let policy = Policy {
            crash_loop_exits: exits,
            max_attempts: 0,
            restart_delay: Duration::from_millis(1),
            backoff_max: SECOND,
            ..resident(RestartPolicy::Always)
        };
        let mut rig = Rig::new(policy);
        rig.tell(Event::Start(request(Trigger::Manual)));
        for end in 1..=15 {
            rig.run_for(Duration::ZERO, GOOD);
            prop_assert_eq!(rig.state() == State::Degraded, exits != 0 && end >= exits, "end {}", end);
            rig.due();
        }
    }

    /// LIF-4 (`crash_loop_window`): a run as long as it resets the delay, a shorter one does not.
    #[test]
    fn crash_loop_window_separates_quick_from_long(window in 2..600_u64, time in 0..1200_u64) {
        let crash_loop_window = Duration::from_secs(window);
        let policy = Policy { crash_loop_window, max_attempts: 0, ..resident(RestartPolicy::Always) };
        let mut rig = Rig::new(policy);
        rig.tell(Event::Start(request(Trigger::Manual)));
        for _ in 0..3 {
            rig.run_for(Duration::ZERO, BAD);
            rig.due();
        }
        rig.run_for(Duration::from_secs(time), BAD);
        let expected = if time >= window { SECOND } else { SECOND * 8 };
        prop_assert!(near(rig.until_due(), expected));
    }

    /// LIF-4 (`max_attempts`): after exactly that many failures it is given up; never for 0.
    #[test]
    fn max_attempts_bounds_the_failures(max_attempts in 0..30_u32, time in seconds(0..120)) {
        let mut rig = Rig::new(Policy { max_attempts, ..resident(RestartPolicy::OnFailure) });
        rig.tell(Event::Start(request(Trigger::Manual)));
        for attempt in 1..=40 {
            rig.run_for(time, BAD);
            if attempt == max_attempts {
                prop_assert_eq!((rig.state(), rig.machine.deadline()), (State::Failed, None));
                return Ok(());
            }
            prop_assert_ne!(rig.state(), State::Failed);
            rig.due();
        }
        prop_assert_eq!(max_attempts, 0);
    }

    /// SCH-8 (`timeout`): a run is stopped exactly then, counted from its start; none: never.
    #[test]
    fn timeout_stops_the_run(timeout in prop::option::of(seconds(0..10_000)), slow in seconds(0..100)) {
        let mut rig = Rig::new(Policy { timeout, ..oneshot(RestartPolicy::No) });
        rig.tell(Event::Start(request(Trigger::Manual)));
        rig.pass(slow);
        let run = rig.spawn();
        prop_assert_eq!(rig.machine.deadline(), timeout.map(|bound| rig.now.mono + bound));
        if let Some(bound) = timeout.filter(|bound| !bound.is_zero()) {
            rig.pass(bound - Duration::from_nanos(1));
            prop_assert_eq!(rig.tell(Event::Due), []);
            prop_assert_eq!(&rig.due()[0], &Effect::StopTree(run));
            prop_assert_eq!(verdict(&rig.exit(GOOD)).map(|(outcome, _)| outcome), Some(Outcome::Timeout));
        }
    }

    /// LIF-5 (`stop_timeout`): KILL comes exactly then, after a stop and for leftovers.
    #[test]
    fn stop_timeout_is_the_grace(stop_timeout in seconds(0..1000), by_hand: bool) {
        let mut rig = Rig::new(Policy { stop_timeout, ..resident(RestartPolicy::Always) });
        let run = rig.start();
        if by_hand {
            rig.tell(Event::Stop(StopReason::Asked));
        } else {
            rig.tell(Event::Exited { run, status: BAD });
        }
        prop_assert_eq!(rig.until_due(), stop_timeout);
        prop_assert_eq!(rig.due(), [Effect::KillTree(run)]);
    }
}

/// LIF-3: the words of the configuration.
#[test]
fn restart_policies_read_back_what_they_print() {
    for policy in RestartPolicy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(*policy));
    }
    assert_eq!(
        "sometimes".parse::<RestartPolicy>().unwrap_err().to_string(),
        "`sometimes` is no restart policy"
    );
}
