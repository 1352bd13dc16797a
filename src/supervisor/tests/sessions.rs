//! In which session a run works: TRJ-8.

use super::*;
use crate::supervisor::{Snapshot, Wish};

fn resuming(text: &str) -> Harness {
    Harness { resume: true, ..resident(text) }
}

impl Rig {
    /// A start in a session.
    fn start_in(&mut self, text: &str, wait: bool, session: Wish) -> Option<Result<Value, ErrorBody>> {
        let ticket = self.ticket();
        self.tell(Event::Start { ticket, names: vec![name(text)], wait, session: Some(session) });
        self.reply(ticket)
    }

    /// The sessions of the launches among the effects.
    fn sessions(&self) -> Vec<Option<Wish>> {
        let session = |effect: &Effect| match effect {
            Effect::Launch { session, .. } => Some(session.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(session).collect()
    }
}

fn old() -> Wish {
    Wish::Resume("old".into())
}

/// TRJ-8: a start by hand begins anew; every restart goes on: by the policy, by hand, and with the daemon.
#[test]
fn every_restart_goes_on_where_that_is_wanted() {
    let mut rig = Rig::boot([resuming("a"), resident("plain")]);
    rig.start("a", false);
    assert_eq!(rig.sessions(), [None]);
    rig.spawn("a");
    rig.exit("a", ExitStatus::Code(1));
    rig.tick_after(SECOND * 2);
    assert_eq!(rig.sessions(), [Some(Wish::GoOn)]);
    rig.spawn("a");
    rig.restart("a", false);
    rig.exit("a", GOOD);
    assert_eq!(rig.sessions(), [Some(Wish::GoOn)]);
    rig.spawn("a");
    rig.stop("a", false);
    rig.exit("a", GOOD);
    rig.start("a", false);
    assert_eq!(rig.sessions(), [None]);
    rig.start("plain", false);
    rig.spawn("plain");
    rig.exit("plain", ExitStatus::Code(1));
    rig.tick_after(SECOND * 2);
    assert_eq!(rig.sessions(), [None]);
    let wanted = Remembered { intents: BTreeMap::from([(name("a"), true)]), ..Remembered::default() };
    assert_eq!(Rig::boot_with([resuming("a")], wanted).sessions(), [Some(Wish::GoOn)]);
}

/// TRJ-8: the session that is asked for is that of this start, and of no other.
#[test]
fn a_session_that_is_asked_for_counts_once() {
    let mut rig = Rig::boot([resident("a"), oneshot("b")]);
    assert_eq!(word(rig.start_in("a", false, old())), "starting");
    assert_eq!(rig.sessions(), [Some(old())]);
    rig.spawn("a");
    rig.exit("a", ExitStatus::Code(1));
    rig.tick_after(SECOND * 2);
    assert_eq!(rig.sessions(), [None]);
    let fork = Wish::Fork("old".into());
    rig.start_in("b", false, fork.clone());
    assert_eq!(rig.sessions(), [Some(fork)]);
}

/// LIF-5: what runs is in a session already; what is being ended is followed by the one that is asked for,
/// unless a stop comes.
#[test]
fn a_session_waits_for_what_is_being_ended() {
    let mut rig = Rig::boot([resident("a")]);
    rig.start("a", false);
    rig.spawn("a");
    let (code, message) = failure(rig.start_in("a", false, old()));
    assert_eq!(code, ErrorCode::AlreadyRunning);
    assert_eq!(message, "`a` runs already, in a session of its own");
    rig.stop("a", false);
    assert_eq!(rig.start_in("a", true, old()), None);
    rig.exit("a", GOOD);
    assert_eq!(rig.sessions(), [Some(old())]);
    rig.spawn("a");
    rig.stop("a", false);
    rig.start_in("a", true, old());
    rig.stop("a", false);
    rig.exit("a", GOOD);
    assert_eq!(rig.sessions(), []);
    rig.start("a", false);
    assert_eq!(rig.sessions(), [None], "what was dropped is forgotten");
}

/// SCH-9: a one-shot that waits for its turn is started in its session then.
#[test]
fn a_session_waits_in_the_queue() {
    let shared = |text: &str| Harness { exclusive: true, ..oneshot(text) };
    let mut rig = Rig::boot([shared("a"), shared("b")]);
    rig.start("a", false);
    rig.spawn("a");
    rig.start_in("b", false, old());
    assert_eq!(rig.sessions(), []);
    let text = serde_json::to_string(&rig.fleet.snapshot()).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&text).unwrap();
    // CTL-11: it crosses a re-execution, too.
    rig.fleet = Supervisor::restore(snapshot, &configuration([shared("a"), shared("b")]), 1);
    rig.exit("a", GOOD);
    assert_eq!(rig.sessions(), [Some(old())]);
}
