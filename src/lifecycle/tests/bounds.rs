//! One directed property per bound of a run and per rule of a limit's wait.

use proptest::prelude::*;

use super::*;

fn seconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_secs)
}

const TICK: Duration = Duration::from_nanos(1);

/// Nothing happens until just before `bound`, and then the run is stopped.
fn stopped_at(rig: &mut Rig, bound: Duration) -> Result<(), TestCaseError> {
    let run = rig.run();
    prop_assert_eq!(rig.until_due(), bound);
    if !bound.is_zero() {
        rig.pass(bound - TICK);
        prop_assert_eq!(rig.tell(Event::Due), []);
    }
    prop_assert_eq!(&rig.due()[0], &Effect::StopTree(run));
    Ok(())
}

fn outcome(effects: &[Effect]) -> Option<Outcome> {
    verdict(effects).map(|(outcome, _)| outcome)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// RUN-0 (`first_output_timeout`): a run without output is stopped exactly then, counted from the
    /// moment that its program runs; one output and it never is.
    #[test]
    fn first_output_timeout_bounds_the_first_silence(
        first in seconds(0..10_000), idle in prop::option::of(seconds(1..10_000)), slow in seconds(0..100), writes: bool,
    ) {
        let policy = Policy { first_output_timeout: Some(first), idle_timeout: idle, ..oneshot(RestartPolicy::No) };
        let mut rig = Rig::new(policy);
        rig.tell(Event::Start(request(Trigger::Manual)));
        rig.pass(slow);
        let run = rig.spawn();
        if writes {
            rig.tell(Event::Output(run));
            prop_assert_eq!(rig.machine.deadline(), idle.map(|bound| rig.now.mono + bound));
        } else {
            stopped_at(&mut rig, first)?;
            prop_assert_eq!(outcome(&rig.exit(GOOD)), Some(Outcome::NoOutput));
        }
    }

    /// RUN-0 (`idle_timeout`): a run is stopped exactly so long after its last output.
    #[test]
    fn idle_timeout_bounds_every_silence(idle in seconds(1..10_000), parts in prop::collection::vec(1..1000_u32, 0..30)) {
        let mut rig = Rig::new(Policy { idle_timeout: Some(idle), ..oneshot(RestartPolicy::No) });
        let run = rig.start();
        for part in parts {
            rig.pass(idle * part / 1000);
            prop_assert_eq!(rig.tell(Event::Due), []);
            rig.tell(Event::Output(run));
        }
        stopped_at(&mut rig, idle)?;
        prop_assert_eq!(outcome(&rig.exit(GOOD)), Some(Outcome::NoOutput));
    }

    /// RUN-8 (`linger_timeout`): a run is stopped exactly so long after its last statement, and has the
    /// outcome that it states.
    #[test]
    fn linger_timeout_bounds_what_follows_the_statement(
        linger in seconds(0..10_000), before in seconds(0..10_000), stated in prop::sample::select(Outcome::ALL),
    ) {
        let mut rig = Rig::new(Policy { linger_timeout: linger, idle_timeout: Some(SECOND * 20_000), ..oneshot(RestartPolicy::No) });
        let run = rig.start();
        rig.pass(before);
        let effects = rig.tell(Event::Reported { run, report: states(stated) });
        if linger.is_zero() {
            prop_assert_eq!(&effects[0], &Effect::StopTree(run));
        } else {
            stopped_at(&mut rig, linger)?;
        }
        let (_, end, _) = ended(&rig.exit(ExitStatus::Signal(15))).unwrap();
        prop_assert_eq!((end.outcome, end.lingered, end.cause.is_none()), (stated, true, stated == Outcome::Ok));
    }

    /// RUN-7 (`check`): a check is stopped exactly then; what it ends with in time decides.
    #[test]
    fn check_bounds_and_decides(bound in seconds(1..10_000), code in prop::option::of(0..256)) {
        let mut rig = Rig::new(Policy { check: Some(bound), ..oneshot(RestartPolicy::No) });
        rig.start();
        prop_assert_eq!(outcome(&rig.exit(GOOD)), None);
        match code {
            Some(code) => {
                let expected = if code == 0 { Outcome::Ok } else { Outcome::CheckFailed };
                prop_assert_eq!(outcome(&rig.exit(ExitStatus::Code(code))), Some(expected));
            }
            None => {
                stopped_at(&mut rig, bound)?;
                prop_assert_eq!(outcome(&rig.exit(GOOD)), Some(Outcome::CheckFailed));
            }
        }
    }

    /// LIF-3 (limits): a stated time is never run into, nor waited beyond by more than 10 % or five minutes.
    #[test]
    fn a_stated_limit_is_waited_for(wait in 1..(8 * 24 * 3600_u64), overloaded: bool, resides: bool) {
        let policy = if resides { resident(RestartPolicy::Always) } else { oneshot(RestartPolicy::OnFailure) };
        let mut rig = Rig::new(policy);
        let run = rig.start();
        let wait = Duration::from_secs(wait);
        let outcome = if overloaded { Outcome::Overloaded } else { Outcome::RateLimited };
        let report = Report { until: Some(rig.now.wall + wait), ..states(outcome) };
        rig.tell(Event::Reported { run, report });
        rig.exit(BAD);
        let longest = wait + (wait / 10).min(SECOND * 300);
        prop_assert!(rig.until_due() >= wait && rig.until_due() <= longest, "{:?}", rig.until_due());
        let wall = rig.machine.wall_deadline().unwrap().since(rig.now.wall);
        prop_assert!(wall >= wait && wall <= longest, "{:?}", wall);
        rig.pass(wait - TICK * 1000);
        prop_assert_eq!(rig.tell(Event::Due), []);
        prop_assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
    }

    /// LIF-4 (limits): pauses grow to their cap and no further, whatever stands between them that is a
    /// limit; failures, delays and the crash loop know nothing of them.
    #[test]
    fn limits_grow_their_pause_and_nothing_else(kinds in prop::collection::vec(any::<bool>(), 1..30), failures in 0..3_u32) {
        let mut rig = Rig::new(Policy { max_attempts: 4, crash_loop_exits: 4, ..resident(RestartPolicy::OnFailure) });
        rig.tell(Event::Start(request(Trigger::Manual)));
        for _ in 0..failures {
            rig.run_for(SECOND, BAD);
            rig.due();
        }
        for (met, overloaded) in (0..).zip(kinds) {
            let run = rig.spawn();
            let kind = if overloaded { Outcome::Overloaded } else { Outcome::RateLimited };
            rig.tell(Event::Reported { run, report: states(kind) });
            rig.exit(BAD);
            let first = if overloaded { SECOND * 30 } else { SECOND * 60 };
            let pause = (first * (1 << met.min(10_u32))).min(SECOND * 1800);
            prop_assert!(near(rig.until_due(), pause), "{:?}, not {:?}", rig.until_due(), pause);
            prop_assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, failures));
            rig.due();
        }
        rig.run_for(SECOND, BAD);
        prop_assert_eq!(rig.machine.failures(), failures + 1);
        if failures < 3 {
            prop_assert!(near(rig.until_due(), SECOND * (1 << failures)), "{:?}", rig.until_due());
        }
    }
}
