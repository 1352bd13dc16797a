//! The machine as a specification: directed tests; one property a policy field is in `fields` and `bounds`.

mod bounds;
mod budget;
mod busy;
mod check;
mod ends;
mod fields;
mod firings;
mod handover;
mod limits;
mod orders;
mod outcomes;
mod parked;
mod watch;

use std::time::Duration;

use super::{
    Chance, Effect, End, Event, Firing, Machine, Policy, Request, RestartPolicy, Standing, StopReason, Wait,
};
use crate::base::{ExitStatus, Mono, Now, Outcome, Report, RunId, State, Trigger, Wall};

/// A second.
pub(super) const SECOND: Duration = Duration::from_secs(1);
/// Exits as it should.
pub(super) const GOOD: ExitStatus = ExitStatus::Code(0);
/// Fails.
pub(super) const BAD: ExitStatus = ExitStatus::Code(3);

/// A machine with its clock and policy, told what happens one event at a time.
pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) policy: Policy,
    pub(super) now: Now,
    chance: Chance,
}

/// A resident harness with the defaults of the configuration.
pub(super) fn resident(restart: RestartPolicy) -> Policy {
    Policy {
        oneshot: false,
        scheduled: false,
        restart,
        restart_delay: SECOND,
        backoff_max: Duration::from_secs(300),
        crash_loop_exits: 5,
        crash_loop_window: Duration::from_secs(60),
        max_attempts: 10,
        timeout: None,
        first_output_timeout: None,
        idle_timeout: None,
        linger_timeout: Duration::from_secs(30),
        check: None,
        stop_timeout: Duration::from_secs(10),
    }
}

/// A one-shot.
pub(super) fn oneshot(restart: RestartPolicy) -> Policy {
    Policy { oneshot: true, ..resident(restart) }
}

pub(super) const fn request(trigger: Trigger) -> Request {
    Request { trigger, planned_at: None }
}

impl Rig {
    pub(super) fn new(policy: Policy) -> Self {
        let now = Now { mono: Mono(Duration::from_secs(1000)), wall: Wall(1_700_000_000_000_000) };
        Self { machine: Machine::new(), policy, now, chance: Chance::new(11) }
    }

    pub(super) fn tell(&mut self, event: Event) -> Vec<Effect> {
        self.machine.handle(event, &self.policy, self.now, &mut self.chance)
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = Now { mono: self.now.mono + time, wall: self.now.wall + time };
    }

    pub(super) fn run(&self) -> RunId {
        self.machine.run().expect("a run is in progress")
    }

    pub(super) fn state(&self) -> State {
        self.machine.state()
    }

    /// Starts it by hand and lets it run.
    pub(super) fn start(&mut self) -> RunId {
        self.tell(Event::Start(request(Trigger::Manual)));
        self.spawn()
    }

    /// The launch that was asked for succeeds.
    pub(super) fn spawn(&mut self) -> RunId {
        let run = self.run();
        self.tell(Event::Spawned(run));
        run
    }

    /// The launch that was asked for fails.
    pub(super) fn fail_spawn(&mut self) -> Vec<Effect> {
        let run = self.run();
        self.tell(Event::NotSpawned { run, cause: "`x`: not found".to_owned(), blameless: false })
    }

    /// The main process ends, and nothing else is alive.
    pub(super) fn exit(&mut self, status: ExitStatus) -> Vec<Effect> {
        let run = self.run();
        let mut effects = self.tell(Event::Exited { run, status });
        effects.extend(self.tell(Event::Emptied { run, report: None }));
        effects
    }

    /// Runs for a while and ends.
    pub(super) fn run_for(&mut self, time: Duration, status: ExitStatus) -> Vec<Effect> {
        self.spawn();
        self.pass(time);
        self.exit(status)
    }

    /// How long until it wants to be told the time.
    pub(super) fn until_due(&self) -> Duration {
        self.machine.deadline().expect("something is due").since(self.now.mono)
    }

    /// Waits until something is due and tells it.
    pub(super) fn due(&mut self) -> Vec<Effect> {
        let wait = self.until_due();
        self.pass(wait);
        self.tell(Event::Due)
    }
}

/// The outcome and cause of the run that ended.
pub(super) fn verdict(effects: &[Effect]) -> Option<(Outcome, Option<&str>)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Ended { end, .. } => Some((end.outcome, end.cause.as_deref())),
        _ => None,
    })
}

/// The whole end of the run that ended.
pub(super) fn ended(effects: &[Effect]) -> Option<(RunId, End, Option<ExitStatus>)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Ended { run, end, status } => Some((*run, end.clone(), *status)),
        _ => None,
    })
}

/// An agent states that it did what it should.
pub(super) fn good() -> Report {
    Report { outcome: Outcome::Ok, cause: None, until: None }
}

/// An agent states another outcome.
pub(super) fn states(outcome: Outcome) -> Report {
    Report { outcome, cause: Some("it says so".to_owned()), until: None }
}

/// The run that a firing will be which does nothing but wait.
fn awaited(effects: &[Effect]) -> RunId {
    match effects {
        [Effect::Awaits { run, .. }] => *run,
        other => panic!("{other:?}"),
    }
}

/// The launch among the effects: its trigger and attempt.
pub(super) fn launch(effects: &[Effect]) -> Option<(Trigger, u32)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Launch { request, attempt, .. } => Some((request.trigger, *attempt)),
        _ => None,
    })
}

/// The states that were shown, in order.
pub(super) fn shown(effects: &[Effect]) -> Vec<State> {
    let to = |effect: &Effect| match effect {
        Effect::Changed { to, .. } => Some(*to),
        _ => None,
    };
    effects.iter().filter_map(to).collect()
}

/// Whether `delay` is `base`, give or take the jitter.
pub(super) fn near(delay: Duration, base: Duration) -> bool {
    delay >= base * 9 / 10 && delay <= base * 11 / 10
}

/// LIF-1: the machine shows each of the seven states, and tells each change once.
#[test]
fn every_state_is_shown_and_every_change_told() {
    let mut rig =
        Rig::new(Policy { max_attempts: 5, crash_loop_exits: 2, ..resident(RestartPolicy::Always) });
    assert_eq!(rig.state(), State::Stopped);
    let mut seen = shown(&rig.tell(Event::Start(request(Trigger::Manual))));
    let run = rig.run();
    seen.extend(shown(&rig.tell(Event::Spawned(run))));
    seen.extend(shown(&rig.exit(BAD)));
    seen.extend(shown(&rig.due()));
    seen.extend(shown(&rig.fail_spawn()));
    assert_eq!(
        seen,
        [State::Starting, State::Running, State::Stopping, State::Backoff, State::Starting, State::Degraded]
    );
    for _ in 0..3 {
        rig.due();
        rig.fail_spawn();
    }
    assert_eq!(rig.state(), State::Failed);
}

/// LIF-1: a start while a run is alive launches nothing, whatever the phase.
#[test]
fn at_most_one_run_is_alive() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    rig.tell(Event::Start(request(Trigger::Manual)));
    assert_eq!(rig.tell(Event::Start(request(Trigger::Manual))), []);
    let run = rig.spawn();
    assert_eq!(rig.tell(Event::Start(request(Trigger::Manual))), []);
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(rig.tell(Event::Start(request(Trigger::Manual))), []);
    assert_eq!(launch(&rig.tell(Event::Exited { run, status: GOOD })), None);
    assert_eq!(launch(&rig.tell(Event::Emptied { run, report: None })), Some((Trigger::Manual, 1)));
}

/// LIF-8: what the shell says of a run that is over changes nothing.
#[test]
fn late_answers_about_an_older_run_are_ignored() {
    let mut rig = Rig::new(resident(RestartPolicy::Always));
    let old = rig.start();
    rig.exit(BAD);
    let moves: [fn(&mut Rig); 4] = [
        |_| (),
        |rig| assert_ne!(rig.due(), []),
        |rig| assert_eq!(rig.spawn(), rig.run()),
        |rig| assert_ne!(rig.tell(Event::Stop(StopReason::Asked)), []),
    ];
    for make in moves {
        make(&mut rig);
        let before = rig.state();
        for late in [
            Event::Spawned(old),
            Event::NotSpawned { run: old, cause: String::new(), blameless: false },
            Event::Busy { run: old, cause: String::new() },
            Event::Exited { run: old, status: GOOD },
            Event::Emptied { run: old, report: None },
            Event::Output(old),
            Event::Reported { run: old, report: good() },
            Event::CheckRefused { run: old, cause: String::new() },
        ] {
            assert_eq!(rig.tell(late), [], "while {before}");
        }
        assert_eq!(rig.state(), before);
    }
    assert_eq!(rig.state(), State::Stopping);
}
