//! Another process (`harnessd once`) runs the harness: RUN-4.

use super::*;

const HELD: &str = "it runs already, under process 123";

impl Rig {
    fn meet(&mut self, text: &str) -> RunId {
        let run = self.run(text);
        self.tell(Event::NotSpawned { run, cause: HELD.to_owned(), code: ErrorCode::AlreadyRunning });
        run
    }

    /// The runs of a kind of event among the effects.
    fn told(&self, kind: fn(&EventKind) -> Option<&Run>) -> Vec<RunId> {
        let emitted = |effect: &Effect| match effect {
            Effect::Emit(event) => kind(event).map(|run| run.id),
            _ => None,
        };
        self.effects.iter().filter_map(emitted).collect()
    }
}

fn ended(event: &EventKind) -> Option<&Run> {
    if let EventKind::RunEnded { run } = event { Some(run) } else { None }
}

fn skipped(event: &EventKind) -> Option<&Run> {
    if let EventKind::FiringSkipped { run } = event { Some(run) } else { None }
}

/// RUN-4, SCH-4: a firing ends as a skipped run and is told as one; the last real run stays the last.
#[test]
fn a_firing_that_meets_another_process_is_a_skipped_run() {
    let mut rig = Rig::boot([scheduled("a", "@hourly", Overlap::Skip)]);
    rig.tick_after(MINUTE * 30);
    let last = rig.spawn("a");
    rig.exit("a", BAD);
    rig.tick_after(HOUR);
    let run = rig.meet("a");
    let row = rig.ended().unwrap();
    assert_eq!((row.id, row.outcome, row.planned_at), (run, Some(Outcome::Skipped), Some(rig.now.wall)));
    assert_eq!(row.cause.as_deref(), Some(HELD));
    assert_eq!((rig.told(ended), rig.told(skipped)), (vec![run], vec![run]));
    assert_eq!(rig.state("a"), State::Stopped);
    assert_eq!(rig.fleet.view(&name("a")).unwrap().last_run.unwrap().id, last);
    rig.tick_after(HOUR);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Schedule, 1)]);
}

/// RUN-4: a start by hand is refused; the harness is stopped and needs nobody.
#[test]
fn a_start_that_meets_another_process_is_refused() {
    for harness in [resident("a"), oneshot("a")] {
        let mut rig = Rig::boot([harness]);
        assert_eq!(rig.start("a", true), None);
        rig.meet("a");
        let expected = (ErrorCode::AlreadyRunning, format!("harness `a` could not be started: {HELD}"));
        assert_eq!(failure(rig.last_reply()), expected);
        assert_eq!(rig.ended().unwrap().outcome, Some(Outcome::Skipped));
        assert_eq!(rig.told(skipped), []);
        assert_eq!((rig.state("a"), rig.fleet.attention()), (State::Stopped, Vec::new()));
    }
}

/// RUN-4: an enabled resident harness comes up when the other process is gone.
#[test]
fn an_enabled_resident_comes_up_when_the_other_process_is_gone() {
    let mut rig = Rig::boot([enabled("a")]);
    for _ in 0..20 {
        rig.meet("a");
        assert_eq!((rig.state("a"), rig.fleet.attention()), (State::Backoff, Vec::new()));
        rig.tick_after(MINUTE * 6);
        assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Restart, 1)]);
    }
    rig.spawn("a");
    let view = rig.fleet.view(&name("a")).unwrap();
    assert_eq!((view.state, view.restarts), (State::Running, 0));
}

/// RUN-4: a lock that fails for another reason is a launch that failed.
#[test]
fn a_lock_that_fails_is_a_failed_launch() {
    let mut rig = Rig::boot([oneshot("a")]);
    rig.start("a", true);
    let (run, cause) = (rig.run("a"), "its run cannot be locked: no locks".to_owned());
    rig.tell(Event::NotSpawned { run, cause, code: ErrorCode::Internal });
    assert_eq!(failure(rig.last_reply()).0, ErrorCode::Internal);
    assert_eq!(rig.ended().unwrap().outcome, Some(Outcome::SpawnFailed));
    assert_eq!(rig.state("a"), State::Failed);
}
