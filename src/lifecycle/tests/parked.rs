//! Harnesses whose agent is not logged in: RUN-0.

use super::*;

const CAUSE: &str = "parked: its agent is not logged in";

impl Rig {
    fn refuse_login(&mut self) -> Vec<Effect> {
        let run = self.run();
        self.tell(Event::Exited { run, status: BAD });
        self.tell(Event::Emptied { run, report: Some(states(Outcome::AuthRequired)) })
    }

    fn parked(policy: Policy) -> Self {
        let mut rig = Self::new(policy);
        rig.start();
        rig.refuse_login();
        rig
    }
}

/// RUN-0: `auth-required` parks under any policy: stopped, nothing due, told once.
#[test]
fn a_login_that_is_refused_parks() {
    for policy in RestartPolicy::ALL.iter().flat_map(|restart| [resident(*restart), oneshot(*restart)]) {
        for trigger in [Trigger::Manual, Trigger::Once, Trigger::Boot] {
            let mut rig = Rig::new(policy.clone());
            rig.tell(Event::Start(request(trigger)));
            let run = rig.spawn();
            let effects = rig.refuse_login();
            let end = End::new(Outcome::AuthRequired, Some("it says so".to_owned()));
            assert_eq!(
                effects,
                [
                    Effect::Ended { run, end, status: Some(BAD) },
                    Effect::Changed { from: State::Stopping, to: State::Stopped },
                    Effect::Parked,
                ]
            );
            assert_eq!((rig.machine.standing(), rig.machine.waits()), (Standing::Parked, Some(Wait::Login)));
            assert_eq!((rig.machine.deadline(), rig.tell(Event::Due)), (None, Vec::new()));
        }
    }
}

/// RUN-0, SCH-11: a firing of a parked harness is a skipped run.
#[test]
fn a_firing_of_a_parked_harness_is_skipped() {
    let slot = Wall(3);
    for overlap in [Firing::Skip, Firing::Queue, Firing::Replace] {
        let mut rig = Rig::parked(oneshot(RestartPolicy::No));
        let skipped = Effect::Skipped { slot, cause: CAUSE.to_owned() };
        assert_eq!(rig.tell(Event::Fire { slot, overlap }), [skipped]);
        assert_eq!(rig.machine.standing(), Standing::Parked);
    }
}

/// RUN-0: a firing that waits for a run that is refused is skipped with it; a start by hand is not.
#[test]
fn a_firing_that_waits_is_skipped_when_it_parks() {
    let slot = Wall(3);
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    rig.tell(Event::Fire { slot, overlap: Firing::Queue });
    let effects = rig.refuse_login();
    assert!(effects.contains(&Effect::Skipped { slot, cause: CAUSE.to_owned() }), "{effects:?}");
    assert!(effects.contains(&Effect::Dropped), "{effects:?}");
    assert_eq!(rig.machine.standing(), Standing::Parked);

    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    rig.tell(Event::Exited { run, status: BAD });
    rig.tell(Event::Start(request(Trigger::Manual)));
    let report = Some(states(Outcome::AuthRequired));
    assert_eq!(launch(&rig.tell(Event::Emptied { run, report })), Some((Trigger::Manual, 1)));
}

/// RUN-0: who starts it by hand unparks it, in whichever way; so does a stop, which starts nothing.
#[test]
fn a_start_by_hand_unparks() {
    for order in [
        Event::Start(request(Trigger::Manual)),
        Event::Start(request(Trigger::Once)),
        Event::Restart(request(Trigger::Manual)),
    ] {
        let mut rig = Rig::parked(oneshot(RestartPolicy::No));
        assert_eq!(launch(&rig.tell(order)).map(|(_, attempt)| attempt), Some(1));
        rig.spawn();
        assert!(rig.refuse_login().contains(&Effect::Parked), "and it is parked anew");
    }
    let mut rig = Rig::parked(resident(RestartPolicy::Always));
    assert_eq!(rig.tell(Event::Stop(StopReason::Asked)), []);
    assert_eq!((rig.machine.standing(), rig.tell(Event::Unpark)), (Standing::Idle, Vec::new()));
}

/// RUN-0: when the login has changed, what the policy wants starts; what is scheduled waits for its
/// slot, and what the policy never wanted stays stopped.
#[test]
fn a_changed_login_starts_what_is_wanted() {
    for restart in RestartPolicy::ALL {
        for policy in [resident(*restart), oneshot(*restart)] {
            let mut rig = Rig::parked(policy);
            let wanted = *restart != RestartPolicy::No;
            let expected = wanted.then_some((Trigger::Restart, 2));
            assert_eq!(launch(&rig.tell(Event::Unpark)), expected, "{restart}");
            assert_ne!(rig.machine.standing(), Standing::Parked);
        }
    }
    let mut rig = Rig::parked(Policy { scheduled: true, ..oneshot(RestartPolicy::OnFailure) });
    assert_eq!(rig.tell(Event::Unpark), []);
    let fire = Event::Fire { slot: Wall(3), overlap: Firing::Skip };
    assert_eq!(launch(&rig.tell(fire)), Some((Trigger::Schedule, 1)));

    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Once)));
    rig.spawn();
    rig.refuse_login();
    assert_eq!(rig.tell(Event::Unpark), [], "nobody wants it but who ran it once");
    assert_eq!(rig.machine.standing(), Standing::Idle);
}

/// RUN-0: that the login has changed concerns nobody who is not parked.
#[test]
fn a_changed_login_disturbs_nothing_else() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    assert_eq!(rig.tell(Event::Unpark), []);
    rig.start();
    assert_eq!(rig.tell(Event::Unpark), []);
    rig.exit(BAD);
    assert_eq!(rig.tell(Event::Unpark), []);
    assert_eq!(rig.state(), State::Backoff);
}

/// LIF-4: a login that is refused is no failed attempt, no part of a crash loop, and forgets the limits
/// before it.
#[test]
fn a_refused_login_is_no_crash() {
    let mut rig =
        Rig::new(Policy { max_attempts: 2, crash_loop_exits: 2, ..resident(RestartPolicy::Always) });
    rig.start();
    rig.exit(BAD);
    rig.due();
    for attempt in 3..9 {
        rig.spawn();
        rig.refuse_login();
        assert_eq!(launch(&rig.tell(Event::Unpark)), Some((Trigger::Restart, attempt)));
        assert_eq!((rig.machine.failures(), rig.state()), (1, State::Starting));
    }
    for _ in 0..3 {
        let run = rig.spawn();
        rig.tell(Event::Reported { run, report: states(Outcome::RateLimited) });
        rig.exit(GOOD);
        assert!(near(rig.until_due(), SECOND * 60), "{:?}", rig.until_due());
        rig.due();
        rig.spawn();
        rig.refuse_login();
        rig.tell(Event::Unpark);
    }
}

/// LIF-5: who asked for a stop gets it: a refusal that was stated before parks nothing.
#[test]
fn a_stop_by_hand_does_not_park() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let run = rig.start();
    rig.tell(Event::Reported { run, report: states(Outcome::AuthRequired) });
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(verdict(&rig.exit(GOOD)), Some((Outcome::AuthRequired, Some("it says so"))));
    assert_eq!(rig.machine.standing(), Standing::Idle);
}
