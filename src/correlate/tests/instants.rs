//! Each instant belongs to at most one run (COR-7).

use super::{at, facts, id, run};
use crate::base::RunId;
use crate::correlate::{Facts, owner};
use crate::wire::Evidence::{Inferred, LaunchId};

fn of(seconds: f64, runs: &[u64], facts: &Facts) -> Option<RunId> {
    let runs: Vec<_> = runs.iter().map(|number| (id(*number), LaunchId)).collect();
    owner(at(seconds), &runs, facts)
}

/// COR-7: only what lies in the window is shown under a run.
#[test]
fn only_what_lies_in_the_window_is_the_runs() {
    let facts = facts([run(1, "a", 10.0, 20.0)]);
    for (seconds, expected) in [(7.9, None), (8.0, Some(1)), (15.0, Some(1)), (22.0, Some(1)), (22.1, None)] {
        assert_eq!(of(seconds, &[1], &facts), expected.map(id), "{seconds}");
    }
    assert_eq!(owner(at(15.0), &[], &facts), None);
    assert_eq!(owner(at(15.0), &[(id(9), Inferred)], &facts), None);
}

/// COR-7: what a later run adds to a resumed session is not shown under the first, not even in its slack.
#[test]
fn what_a_later_run_adds_is_not_the_first_ones() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "a", 21.0, 40.0)]);
    assert_eq!(of(20.5, &[1], &facts), Some(id(1)));
    assert_eq!(of(21.5, &[1], &facts), None);
    assert_eq!(of(19.5, &[2], &facts), None);
}

/// COR-7: of two runs the one whose window holds the instant has it, else the nearest in the slack.
#[test]
fn of_two_runs_the_window_decides_and_then_the_distance() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "b", 21.0, 40.0)]);
    let cases =
        [(19.9, Some(1)), (20.4, Some(1)), (20.6, Some(2)), (21.0, Some(2)), (42.0, Some(2)), (42.1, None)];
    for (seconds, expected) in cases {
        assert_eq!(of(seconds, &[1, 2], &facts), expected.map(id), "{seconds}");
    }
}

/// COR-7: an instant of two runs is nobody's, be it that they overlap, or that its time is cut to a second
/// in which one ended and the other began.
#[test]
fn an_instant_of_two_runs_is_nobodys() {
    let facts = facts([run(1, "a", 10.0, 20.2), run(2, "b", 20.7, 40.0), run(3, "c", 35.0, 50.0)]);
    let cases =
        [(20.0, None), (20.1, Some(1)), (20.8, Some(2)), (21.0, Some(2)), (38.0, None), (45.0, Some(3))];
    for (seconds, expected) in cases {
        assert_eq!(of(seconds, &[1, 2, 3], &facts), expected.map(id), "{seconds}");
    }
    // Without the other one in the list the time may still be its.
    let facts = super::facts([run(1, "a", 10.0, 20.2), run(2, "a", 20.7, 40.0)]);
    assert_eq!(of(20.0, &[1], &facts), None);
}

/// COR-7: an instant at which an earlier run of the harness, to which the session does not belong, went on too is
/// nobody's, also if a later one had begun.
#[test]
fn an_instant_of_an_older_run_that_goes_on_is_nobodys() {
    let facts = facts([run(2, "a", 5.0, 50.0), run(1, "a", 10.0, 20.0)]);
    for seconds in [15.5, 20.5] {
        assert_eq!(of(seconds, &[1], &facts), None, "{seconds}");
    }
    assert_eq!(of(30.5, &[2], &facts), Some(id(2)));
}
