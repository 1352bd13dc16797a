//! USE-5: a run that uses up its budget.

use super::*;
use crate::lifecycle::Overspent;

const KILLED: ExitStatus = ExitStatus::Signal(9);
const SPENT: Overspent = Overspent::Tokens { spent: 1200, most: 1000 };

/// USE-5: it is ended as by a timeout: with the stop signal, then by force, and its outcome says why.
#[test]
fn an_overspent_run_is_ended_like_a_timeout() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    let run = rig.start();
    let effects = rig.tell(Event::Overspent { run, overspent: SPENT });
    assert_eq!(effects.first(), Some(&Effect::StopTree(run)));
    assert_eq!(rig.due(), [Effect::KillTree(run)]);
    let effects = rig.exit(KILLED);
    let cause = "used 1200 tokens of its `budget` of 1000";
    assert_eq!(verdict(&effects), Some((Outcome::Budget, Some(cause))));
    // To try it again would spend as much again.
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// RUN-0: what its agent had stated before stands, and a run that is being ended is told nothing new.
#[test]
fn what_was_decided_before_stands() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let run = rig.start();
    rig.tell(Event::Reported { run, report: good() });
    rig.tell(Event::Overspent { run, overspent: SPENT });
    assert_eq!(verdict(&rig.exit(KILLED)), Some((Outcome::Ok, None)));

    let run = rig.start();
    rig.tell(Event::Stop(StopReason::Asked));
    assert_eq!(rig.tell(Event::Overspent { run, overspent: SPENT }), []);
    assert_eq!(verdict(&rig.exit(KILLED)), Some((Outcome::Stopped, Some("asked to stop"))));
}

/// An answer about another run ends nothing.
#[test]
fn a_late_sum_ends_no_other_run() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    let before = rig.start();
    rig.exit(GOOD);
    rig.start();
    assert_eq!(rig.tell(Event::Overspent { run: before, overspent: SPENT }), []);
    assert_eq!(rig.state(), State::Running);
}
