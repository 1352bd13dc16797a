//! Waits for limits that agents meet: LIF-3, LIF-4, RUN-0.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

impl Rig {
    /// The run ends with a limit that lasts until then.
    fn meet_limit(&mut self, outcome: Outcome, until: Option<Wall>) -> Vec<Effect> {
        let run = self.run();
        self.tell(Event::Exited { run, status: BAD });
        let report = Report { until, ..states(outcome) };
        self.tell(Event::Emptied { run, report: Some(report) })
    }

    fn limited(policy: Policy, outcome: Outcome, until: Option<Wall>) -> Self {
        let mut rig = Self::new(policy);
        rig.start();
        rig.meet_limit(outcome, until);
        rig
    }
}

/// LIF-3: a limit is waited for until its stated time and a little longer, and shown as such.
#[test]
fn a_stated_time_is_waited_for() {
    for outcome in [Outcome::RateLimited, Outcome::Overloaded] {
        let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
        rig.start();
        let until = rig.now.wall + HOUR;
        let effects = rig.meet_limit(outcome, Some(until));
        let end = End { until: Some(until), ..End::new(outcome, Some("it says so".to_owned())) };
        assert_eq!(ended(&effects).map(|(_, end, _)| end), Some(end));
        assert_eq!(shown(&effects), [State::Backoff]);
        let wait = rig.until_due();
        assert!(wait >= HOUR && wait <= HOUR + MINUTE * 5, "{wait:?}");
        assert_eq!(rig.machine.waits(), Some(Wait::Limit(rig.now.wall + wait)));
        assert_eq!(rig.machine.standing(), Standing::Waiting);
        assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
    }
}

/// LIF-3: a time that is past, or more than eight days ahead, is none: a pause, longer each time.
#[test]
fn a_time_that_cannot_be_believed_is_none() {
    let now = Rig::new(oneshot(RestartPolicy::No)).now.wall;
    let days = Duration::from_secs(24 * 3600);
    for (until, believed) in [
        (now, false),
        (now - HOUR, false),
        (now + days * 8, true),
        (now + days * 8 + SECOND, false),
        (Wall(i64::MAX), false),
        (Wall(i64::MIN), false),
    ] {
        let rig = Rig::limited(oneshot(RestartPolicy::OnFailure), Outcome::RateLimited, Some(until));
        assert_eq!(near(rig.until_due(), MINUTE), !believed, "{until:?}: {:?}", rig.until_due());
        assert_eq!(rig.until_due() > days * 8, believed);
    }
}

/// LIF-4: without a time the pause doubles from one minute (half of one when it is the provider that
/// is overloaded) to half an hour, while nothing but limits is met; anything else forgets that.
#[test]
fn without_a_time_the_pause_grows() {
    for (outcome, first) in [(Outcome::RateLimited, MINUTE), (Outcome::Overloaded, SECOND * 30)] {
        let mut rig = Rig::limited(resident(RestartPolicy::Always), outcome, None);
        let mut pause = first;
        for _ in 0..12 {
            assert!(near(rig.until_due(), pause), "{:?}, not {pause:?}", rig.until_due());
            pause = (pause * 2).min(MINUTE * 30);
            rig.due();
            rig.spawn();
            rig.meet_limit(outcome, None);
        }
        rig.due();
        rig.run_for(SECOND, GOOD);
        rig.due();
        rig.spawn();
        rig.meet_limit(outcome, None);
        assert!(near(rig.until_due(), first), "{:?}", rig.until_due());
    }
}

/// RUN-0: a time that is near, has come and is stated anew again and again is no busy loop: what is waited
/// at least doubles from nothing over a second to half an hour; a time that is farther stands.
#[test]
fn a_near_time_that_is_stated_again_and_again_is_no_busy_loop() {
    let wait = |rig: &mut Rig, ahead: Duration| {
        rig.meet_limit(Outcome::RateLimited, Some(rig.now.wall + ahead));
        let wait = rig.until_due();
        rig.due();
        rig.spawn();
        wait
    };
    let beyond =
        |wait: Duration, least: Duration| wait >= least && wait <= least + (least / 10).min(MINUTE * 5);
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    rig.start();
    for least in [3, 3, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800, 1800].map(Duration::from_secs) {
        let waited = wait(&mut rig, SECOND * 3);
        assert!(beyond(waited, least), "{waited:?}, not {least:?}");
    }
    let waited = wait(&mut rig, HOUR * 5);
    assert!(beyond(waited, HOUR * 5), "{waited:?}");
    rig.exit(BAD);
    rig.due();
    rig.spawn();
    let waited = wait(&mut rig, SECOND * 3);
    assert!(beyond(waited, SECOND * 3), "{waited:?}: anything else forgets that");
}

/// LIF-4: a limit is no failed attempt, no part of a crash loop, and lets no delay grow.
#[test]
fn limits_are_never_spent_as_crashes() {
    for policy in [resident(RestartPolicy::Always), oneshot(RestartPolicy::OnFailure)] {
        let mut rig = Rig::new(Policy { max_attempts: 2, crash_loop_exits: 2, ..policy });
        rig.start();
        rig.exit(BAD);
        assert!(near(rig.until_due(), SECOND));
        for round in 0..40 {
            rig.due();
            rig.spawn();
            let effects = rig.meet_limit(Outcome::RateLimited, None);
            assert!(!effects.iter().any(|effect| matches!(effect, Effect::Flapping { .. })), "{round}");
            assert_eq!((rig.state(), rig.machine.failures()), (State::Backoff, 1));
        }
        rig.due();
        rig.spawn();
        rig.exit(BAD);
        assert_eq!((rig.state(), rig.machine.failures()), (State::Failed, 2), "only crashes are counted");
    }
}

/// LIF-3: `no` retries nothing, limits included; a foreground run is not followed either.
#[test]
fn a_limit_is_not_waited_for_where_nothing_is_retried() {
    for policy in [oneshot(RestartPolicy::No), resident(RestartPolicy::No)] {
        let rig = Rig::limited(policy, Outcome::RateLimited, None);
        assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
    }
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Once)));
    rig.spawn();
    rig.meet_limit(Outcome::RateLimited, None);
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// LIF-3: the wait ends by either clock: a suspended machine's monotonic clock stands still, and a
/// real-time clock that is set back delays nothing.
#[test]
fn a_limit_ends_by_either_clock() {
    for suspended in [false, true] {
        let mut rig = Rig::limited(resident(RestartPolicy::Always), Outcome::RateLimited, None);
        let (wait, wall) = (rig.until_due(), rig.machine.wall_deadline().unwrap());
        assert_eq!(wall.since(rig.now.wall), Duration::from_micros(wait.as_micros() as u64));
        if suspended {
            rig.now.wall = wall;
        } else {
            rig.now = Now { mono: rig.now.mono + wait, wall: rig.now.wall - HOUR };
        }
        assert_eq!(launch(&rig.tell(Event::Due)), Some((Trigger::Restart, 2)));
    }
    let mut rig = Rig::limited(resident(RestartPolicy::Always), Outcome::RateLimited, None);
    rig.pass(SECOND * 50);
    assert_eq!(rig.tell(Event::Due), []);
}

/// LIF-5: a stop ends the wait, a start does not wait, and a policy that no longer wants it gives it up.
#[test]
fn orders_end_the_wait_for_a_limit() {
    let limited = || Rig::limited(oneshot(RestartPolicy::OnFailure), Outcome::RateLimited, None);
    let mut rig = limited();
    assert_eq!(shown(&rig.tell(Event::Stop(StopReason::Asked))), [State::Stopped]);
    assert_eq!((rig.machine.deadline(), rig.machine.wall_deadline()), (None, None));
    for order in [Event::Start(request(Trigger::Manual)), Event::Restart(request(Trigger::Manual))] {
        assert_eq!(launch(&limited().tell(order)), Some((Trigger::Manual, 1)));
    }
    let mut rig = limited();
    rig.policy.restart = RestartPolicy::No;
    assert_eq!(shown(&rig.tell(Event::Revised)), [State::Stopped]);
    let mut rig = limited();
    let fire = Event::Fire { slot: Wall(1), overlap: Firing::Skip };
    assert_eq!(launch(&rig.tell(fire)), Some((Trigger::Schedule, 1)));
}

/// RUN-4: a wait for a limit that ends in another process's run becomes a wait for that one.
#[test]
fn a_limit_and_then_another_process() {
    let mut rig = Rig::limited(resident(RestartPolicy::OnFailure), Outcome::RateLimited, None);
    rig.due();
    let run = rig.run();
    rig.tell(Event::Busy { run, cause: "it runs already, under process 123".to_owned() });
    assert!(matches!(rig.machine.waits(), Some(Wait::Backoff(_))), "{:?}", rig.machine.waits());
    assert!(near(rig.until_due(), SECOND));
}

/// SCH-4, SCH-8: a firing takes the place of a wait for a stated time, too: what it meets is recorded, and
/// the wait that follows is its own.
#[test]
fn a_firing_does_not_wait_for_a_stated_time() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    rig.start();
    let until = rig.now.wall + HOUR * 5;
    rig.meet_limit(Outcome::RateLimited, Some(until));
    rig.pass(HOUR);
    let fire = Event::Fire { slot: rig.now.wall, overlap: Firing::Skip };
    assert_eq!(launch(&rig.tell(fire)), Some((Trigger::Schedule, 1)));
    assert_eq!((rig.machine.deadline(), rig.machine.wall_deadline()), (None, None));
    rig.spawn();
    rig.meet_limit(Outcome::RateLimited, Some(until));
    assert!(rig.until_due() >= HOUR * 4 && rig.until_due() <= HOUR * 4 + MINUTE * 5, "{:?}", rig.until_due());
}
