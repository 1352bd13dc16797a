//! Harnesses whose agent is not logged in, in the fleet: RUN-0, RUN-5, SCH-11.

use super::*;
use crate::base::RunIds;
use crate::config::Notify;
use crate::wire::{Waiting, WaitingReason};

fn parks(rig: &Rig) -> Vec<&'static str> {
    let kind = |effect: &Effect| match effect {
        Effect::Park { .. } => Some("park"),
        Effect::Unpark { .. } => Some("unpark"),
        _ => None,
    };
    rig.effects.iter().filter_map(kind).collect()
}

impl Rig {
    fn refuse_login(&mut self, text: &str) {
        self.spawn(text);
        self.exit_stating(text, BAD, states(Outcome::AuthRequired));
    }

    fn parked(harness: Harness) -> Self {
        let mut rig = Self::boot([harness]);
        rig.start("a", false);
        rig.refuse_login("a");
        rig
    }
}

/// RUN-0: a parked harness is stopped, waits for a login, asks for attention, and its login is watched.
#[test]
fn a_parked_harness_is_shown_and_watched() {
    let rig = Rig::parked(resident("a"));
    assert!(rig.effects.contains(&Effect::Park { harness: Arc::new(resident("a")) }));
    let view = rig.fleet.view(&name("a")).unwrap();
    let waiting = Waiting { reason: WaitingReason::Login, until: None };
    assert_eq!((view.state, view.waiting), (State::Stopped, Some(waiting)));
    let reasons: Vec<_> = rig.fleet.attention().into_iter().map(|one| one.reason).collect();
    assert_eq!(reasons, ["parked until its agent is logged in, or it is started: it says so"]);
    assert_eq!((rig.fleet.deadline(), rig.fleet.wall_deadline()), (None, None));
}

/// What ends a parking.
type Way = fn(&mut Rig);

/// RUN-0: its login is watched no more once it is parked no more, by whatever way.
#[test]
fn whatever_ends_the_parking_ends_the_watch() {
    let ways: [(&str, Way); 7] = [
        ("start", |rig| _ = rig.start("a", false)),
        ("restart", |rig| _ = rig.restart("a", false)),
        ("stop", |rig| assert_eq!(word(rig.stop("a", false)), "stopped")),
        ("once", |rig| {
            let ticket = rig.ticket();
            rig.tell(Event::Once { ticket, name: name("a") });
        }),
        ("login", |rig| rig.tell(Event::LoginChanged { harness: name("a") })),
        ("removal", |rig| rig.tell(Event::Configure(configuration([])))),
        ("shutdown", |rig| rig.tell(Event::Shutdown { at_once: false })),
    ];
    for (way, make) in ways {
        let mut rig = Rig::parked(resident("a"));
        make(&mut rig);
        assert_eq!(parks(&rig), ["unpark"], "{way}");
        let launched = matches!(way, "start" | "restart" | "once" | "login");
        assert_eq!(rig.launches().len(), usize::from(launched), "{way}");
        if launched {
            rig.refuse_login("a");
            assert_eq!(parks(&rig), ["park"], "{way}");
        }
    }
}

/// RUN-0: a login that has changed starts what the policy wants as a restart; of others nothing.
#[test]
fn a_changed_login_is_a_restart() {
    let mut rig = Rig::parked(resident("a"));
    rig.tell(Event::LoginChanged { harness: name("a") });
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Restart, 2)]);
    let mut rig =
        Rig::parked(with_restart(scheduled("a", "@hourly", Overlap::Skip), RestartPolicy::OnFailure));
    rig.tell(Event::LoginChanged { harness: name("a") });
    assert_eq!((rig.launches(), rig.state("a")), (Vec::new(), State::Stopped));
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
    rig.tell(Event::LoginChanged { harness: name("nobody") });
    assert_eq!(rig.effects, []);
}

/// RUN-0, RUN-5, SCH-11: each slot of a parked harness is a skipped run with the cause; somebody who
/// wants to hear of such ends hears of the run that parked it, and of that only.
#[test]
fn firings_of_a_parked_harness_are_skipped_with_one_notice() {
    let mut rig = Rig::boot([]);
    let mut next = Arc::unwrap_or_clone(configuration([scheduled("a", "@hourly", Overlap::Queue)]));
    let on = vec![Outcome::AuthRequired, Outcome::Skipped];
    next.notify = Some(Arc::new(Notify { command: vec!["tell".to_owned()], on, timeout: SECOND }));
    rig.tell(Event::Configure(Arc::new(next)));
    let notices = |rig: &Rig| rig.effects.iter().filter(|one| matches!(one, Effect::Notify { .. })).count();
    rig.tick_after(MINUTE * 30);
    rig.refuse_login("a");
    assert_eq!(notices(&rig), 1);
    for _ in 0..3 {
        rig.tick_after(HOUR);
        let run = rig.skipped()[0];
        assert_eq!((run.planned_at, run.outcome), (Some(rig.now.wall), Some(Outcome::Skipped)));
        assert_eq!(run.cause.as_deref(), Some("parked: its agent is not logged in"));
        assert_eq!((notices(&rig), rig.launches()), (0, Vec::new()));
    }
}

/// CFG-10: another definition may keep its login elsewhere: it is watched anew, and stays parked.
#[test]
fn a_changed_definition_is_watched_anew() {
    let mut rig = Rig::parked(resident("a"));
    let next = edited(resident("a"));
    rig.tell(Event::Configure(configuration([next.clone()])));
    assert!(rig.effects.contains(&Effect::Park { harness: Arc::new(next.clone()) }));
    rig.tell(Event::Configure(configuration([next])));
    assert_eq!(parks(&rig), [""; 0], "nothing has changed");
    rig.tell(Event::LoginChanged { harness: name("a") });
    assert_eq!(parks(&rig), ["unpark"]);
}

/// CTL-5: who waits for a start that parks hears the outcome; who waits for a firing that is dropped with it, why.
#[test]
fn who_waits_for_a_parked_harness_hears_so() {
    let mut rig = Rig::boot([oneshot("a")]);
    assert_eq!(rig.start("a", true), None);
    rig.refuse_login("a");
    let expected = "the run of harness `a` ended `auth-required`: it says so".to_owned();
    assert_eq!(failure(rig.last_reply()), (ErrorCode::RunFailed, expected));

    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Queue)]);
    rig.start("a", false);
    let run = rig.spawn("a");
    rig.tick_after(MINUTE * 30);
    rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(rig.start("a", true), None);
    let report = Some(states(Outcome::AuthRequired));
    rig.tell(Event::Emptied { run, rest: Rest { report, ..Rest::default() } });
    let expected = "`a` is parked: its agent is not logged in".to_owned();
    assert_eq!(failure(rig.last_reply()), (ErrorCode::RunFailed, expected));
    let skipped = |effect: &&Effect| matches!(effect, Effect::Emit(EventKind::FiringSkipped { .. }));
    assert_eq!(rig.effects.iter().filter(skipped).count(), 1);
}

/// RUN-0: a scheduled harness that an earlier daemon had parked is parked again, and its slots are skipped. Not
/// one whose definition has changed since, nor one whose next run went otherwise.
#[test]
fn a_new_daemon_parks_again_what_was_parked() {
    let nightly = || scheduled("a", "@hourly", Overlap::Skip);
    let after = |outcome, hash: &str| {
        let run = Run::new(
            RunIds::new(1).next(Wall(1)),
            name("a"),
            Trigger::Schedule,
            "generic".to_owned(),
            hash.to_owned(),
        );
        let run = Run { outcome: Some(outcome), ended_at: Some(Wall(2)), ..run };
        let last_runs = BTreeMap::from([(name("a"), run)]);
        Rig::boot_with([nightly()], Remembered { last_runs, ..Remembered::default() })
    };
    let hash = nightly().definition_hash;
    let mut rig = after(Outcome::AuthRequired, &hash);
    assert_eq!(parks(&rig), ["park"]);
    let waiting = Waiting { reason: WaitingReason::Login, until: None };
    assert_eq!(rig.fleet.view(&name("a")).unwrap().waiting, Some(waiting));
    rig.pass(MINUTE * 60);
    rig.tell(Event::Tick);
    let skipped = |effect: &Effect| matches!(effect, Effect::Emit(EventKind::FiringSkipped { .. }));
    assert!(rig.effects.iter().any(skipped) && rig.fleet.view(&name("a")).unwrap().run.is_none());
    rig.tell(Event::LoginChanged { harness: name("a") });
    assert_eq!((parks(&rig), rig.fleet.view(&name("a")).unwrap().waiting), (vec!["unpark"], None));

    for (outcome, hash) in [(Outcome::AuthRequired, "another"), (Outcome::Failed, hash.as_str())] {
        assert_eq!(parks(&after(outcome, hash)), Vec::<&str>::new(), "{outcome} {hash}");
    }
}
