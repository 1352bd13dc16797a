//! The scenarios of the source specification's section Run Correlation, and the conditions of COR-1 to COR-6.

use super::{at, by_inference, claimants, facts, id, name, peer, run, session};
use crate::correlate::{Attribution, Facts, Found, Window, attribute};
use crate::trajectory::Format;
use crate::wire::Evidence;

/// Scenario: A session started during the run is attributed.
#[test]
fn a_session_started_during_the_run_is_attributed() {
    assert_eq!(attribute(&session(15.5), &facts([run(1, "a", 10.0, 20.0)])), by_inference(1));
    let live = Window { to: None, live: true, ..run(1, "a", 10.0, 0.0) };
    assert_eq!(attribute(&session(999.0), &facts([live])), by_inference(1));
}

/// Scenario: Sessions outside the run or the workdir are not attributed (COR-1: not a subdirectory either).
#[test]
fn sessions_outside_the_run_or_the_workdir_are_not_attributed() {
    let facts = facts([run(1, "a", 10.0, 20.0)]);
    for start in [7.9, 22.1] {
        assert_eq!(attribute(&session(start), &facts), Attribution::Nobody, "{start}");
    }
    for cwd in [Some("/v"), Some("/w/below"), Some("/"), None] {
        let found = Found { cwd: cwd.map(str::to_owned), ..session(15.0) };
        assert_eq!(attribute(&found, &facts), Attribution::Nobody, "{cwd:?}");
    }
}

/// Scenario: Overlapping runs in a shared workdir exclude the session. COR-5: both are named.
#[test]
fn overlapping_runs_in_a_shared_workdir_exclude_the_session() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "b", 14.0, 30.0)]);
    let excluded = Attribution::Excluded {
        claimants: vec![name("a"), name("b")],
        reason: "`a` and `b` were running when it began".to_owned(),
    };
    assert_eq!(attribute(&session(15.5), &facts), excluded);
    assert_eq!(attribute(&session(10.5), &facts), by_inference(1), "before the other one");
    assert_eq!(attribute(&session(25.5), &facts), by_inference(2), "after the other one");
    let three = super::facts([facts.windows, vec![run(3, "c", 10.0, 20.0)]].concat());
    assert_eq!(
        attribute(&session(15.5), &three),
        Attribution::Excluded {
            claimants: vec![name("a"), name("b"), name("c")],
            reason: "`a`, `b` and `c` were running when it began".to_owned(),
        }
    );
}

/// Scenario: Staggered runs in a shared workdir are separated by time.
#[test]
fn staggered_runs_in_a_shared_workdir_are_separated_by_time() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "b", 30.0, 40.0), run(3, "a", 50.0, 60.0)]);
    for (start, number) in [(15.5, 1), (30.5, 2), (39.5, 2), (51.5, 3)] {
        assert_eq!(attribute(&session(start), &facts), by_inference(number), "{start}");
    }
    assert_eq!(attribute(&session(45.0), &facts), Attribution::Nobody);
}

/// Scenario: Post-mortem after a daemon restart.
#[test]
fn post_mortem_after_a_daemon_restart() {
    let facts = Facts { daemon_started: Some(at(500.0)), ..facts([run(1, "a", 10.0, 20.0)]) };
    assert_eq!(attribute(&session(15.5), &facts), by_inference(1));
}

/// Scenario: A run the daemon died with does not stay open (COR-6); the answer says that its end is assumed.
#[test]
fn a_run_the_daemon_died_with_does_not_stay_open() {
    let lost = Window { to: None, ..run(1, "a", 10.0, 0.0) };
    let facts = Facts { daemon_started: Some(at(100.0)), ..facts([lost.clone()]) };
    assert_eq!((facts.closes(&lost), Facts::is_end_assumed(&lost)), (at(100.0), true));
    assert_eq!(attribute(&session(99.5), &facts), by_inference(1));
    assert_eq!(attribute(&session(102.5), &facts), Attribution::Nobody);
    let live = Window { live: true, ..lost };
    assert_eq!((facts.closes(&live), Facts::is_end_assumed(&live)), (at(1000.0), false));
}

/// COR-6: a run whose end nobody knows ends where the next one of its harness begins.
#[test]
fn a_run_without_an_end_ends_where_the_next_one_begins() {
    let lost = Window { to: None, ..run(1, "a", 10.0, 0.0) };
    let facts = facts([lost.clone(), run(2, "a", 50.0, 60.0)]);
    assert_eq!(facts.closes(&lost), at(50.0));
    assert_eq!(attribute(&session(40.5), &facts), by_inference(1));
    assert_eq!(attribute(&session(55.5), &facts), by_inference(2));
}

/// COR-4: a process of a run whose end nobody knows may still write, though nothing is credited to it.
#[test]
fn a_run_without_an_end_remains_a_claimant() {
    let lost = Window { to: None, ..run(1, "a", 10.0, 0.0) };
    let facts = Facts { daemon_started: Some(at(100.0)), ..facts([lost, run(2, "b", 200.0, 300.0)]) };
    assert_eq!(claimants(&session(250.5), &facts), ["a", "b"]);
}

/// Scenario: A latest-run view does not guess across a restarted sibling.
#[test]
fn a_latest_run_view_does_not_guess_across_a_restarted_sibling() {
    let latest = [run(1, "a", 10.0, 100.0), run(2, "b", 50.0, 100.0)];
    let since = latest.iter().map(|window| (window.harness.clone(), window.from)).collect();
    let facts = Facts { since, ..facts(latest) };
    assert_eq!(claimants(&session(30.5), &facts), ["a", "b"]);
    // Without a word about it, too, the record begins at the first window.
    let facts = Facts { since: [(name("a"), at(0.0))].into(), ..facts };
    assert_eq!(
        attribute(&session(30.5), &facts),
        Attribution::Excluded {
            claimants: vec![name("a"), name("b")],
            reason: "`a` was running when it began, and nothing is recorded of `b` so far back".to_owned(),
        }
    );
}

/// COR-1 (3): two seconds of slack at both ends, for times that are cut to the second.
#[test]
fn the_slack_is_two_seconds() {
    let facts = facts([run(1, "a", 10.0, 20.0)]);
    for (start, attributed) in [(7.999, false), (8.0, true), (22.0, true), (22.001, false)] {
        assert_eq!(attribute(&session(start), &facts) == by_inference(1), attributed, "{start}");
    }
}

/// COR-4: a claimant has the same slack.
#[test]
fn a_claimant_has_the_slack_too() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "b", 21.0, 30.0)]);
    assert_eq!(claimants(&session(19.5), &facts), ["a", "b"]);
    assert_eq!(claimants(&session(21.5), &facts), ["a", "b"]);
    assert_eq!(attribute(&session(18.9), &facts), by_inference(1));
}

/// COR-4: a harness's own other runs are no claimants; a start in the slack of two goes to one.
#[test]
fn a_start_near_two_runs_of_one_harness_goes_to_one_of_them() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "a", 21.0, 30.0)]);
    for (start, number) in [(19.5, 1), (20.0, 1), (20.4, 1), (20.5, 2), (20.6, 2), (21.0, 2), (22.5, 2)] {
        assert_eq!(attribute(&session(start), &facts), by_inference(number), "{start}");
    }
}

/// COR-9: a time that is cut to the second may stand for either of two runs within that second.
#[test]
fn a_start_cut_to_a_second_of_two_runs_is_nobodys() {
    let facts = facts([run(1, "a", 10.0, 20.2), run(2, "a", 20.7, 30.0)]);
    assert_eq!(
        attribute(&session(20.0), &facts),
        Attribution::Excluded {
            claimants: vec![name("a")],
            reason: "`a` had more than one run when it began".to_owned(),
        }
    );
    assert_eq!(attribute(&session(19.0), &facts), by_inference(1));
    assert_eq!(attribute(&session(20.1), &facts), by_inference(1));
    assert_eq!(attribute(&session(21.0), &facts), by_inference(2));
}

/// COR-4: one that never ran is no claimant of sessions after its record began, and one of those before.
#[test]
fn a_harness_that_never_ran_is_a_claimant_before_its_record_begins() {
    let facts = facts([run(1, "a", 10.0, 100.0)]);
    let facts = Facts { peers: vec![peer("b")], ..facts };
    let with = |since| {
        let mut all = facts.clone();
        all.since.insert(name("b"), at(since));
        all
    };
    assert_eq!(attribute(&session(50.5), &with(20.0)), by_inference(1));
    assert_eq!(claimants(&session(15.5), &with(20.0)), ["a", "b"]);
    assert_eq!(claimants(&session(21.5), &with(20.0)), ["a", "b"], "the slack");
    assert_eq!(claimants(&session(50.5), &facts), ["a", "b"], "never seen");
    let elsewhere =
        Facts { peers: vec![crate::correlate::Peer { workdir: Some("/v".into()), ..peer("b") }], ..facts };
    assert_eq!(attribute(&session(50.5), &elsewhere), by_inference(1));
}

/// COR-4: a removed or renamed harness remains a claimant by its kept windows.
#[test]
fn a_removed_or_renamed_harness_remains_a_claimant() {
    let gone = run(2, "old-name", 14.0, 18.0);
    let facts = facts([run(1, "a", 10.0, 100.0), gone]);
    assert_eq!(claimants(&session(15.5), &facts), ["a", "old-name"]);
    assert_eq!(attribute(&session(50.5), &facts), by_inference(1));
}

/// COR-4: `generic` may run any agent. Nothing is attributed to it.
#[test]
fn generic_is_a_claimant_and_gets_nothing() {
    let generic = |number, from, to| Window {
        adapter: "generic".to_owned(),
        format: None,
        stores: Vec::new(),
        ..run(number, "shell", from, to)
    };
    let facts = facts([run(1, "a", 10.0, 20.0), generic(2, 15.0, 40.0)]);
    assert_eq!(claimants(&session(18.5), &facts), ["a", "shell"]);
    assert_eq!(attribute(&session(30.5), &facts), Attribution::Nobody);
}

/// COR-4: another agent in the same directory does not write sessions of this one.
#[test]
fn another_agent_is_no_claimant() {
    let other = Window { adapter: "pi".into(), format: Some(Format::Pi), ..run(2, "b", 10.0, 20.0) };
    // One adapter in two guises: a run from before its format was recorded writes what the others write.
    let old = Window { format: None, stores: Vec::new(), ..run(3, "c", 30.0, 40.0) };
    let facts = facts([run(1, "a", 10.0, 20.0), other, old, run(4, "a", 30.0, 40.0)]);
    assert_eq!(attribute(&session(15.5), &facts), by_inference(1));
    assert_eq!(claimants(&session(35.5), &facts), ["a", "c"]);
}

/// COR-1 (2), COR-4: a harness without a workdir works at home. It gets nothing, and is a claimant there.
#[test]
fn a_harness_without_a_workdir_is_a_claimant_at_home() {
    let homeless = Window { workdir: None, ..run(2, "b", 10.0, 20.0) };
    let at_home = Window { workdir: Some("/home/u".to_owned()), ..run(1, "a", 10.0, 20.0) };
    let found = Found { cwd: Some("/home/u".to_owned()), ..session(15.5) };
    assert_eq!(attribute(&found, &facts([homeless.clone()])), Attribution::Nobody);
    assert_eq!(claimants(&found, &facts([at_home, homeless.clone()])), ["a", "b"]);
    let both = facts([run(1, "a", 10.0, 20.0), homeless]);
    assert_eq!(attribute(&session(15.5), &both), by_inference(1));
    let lost = Facts { home: None, ..both };
    assert_eq!(claimants(&session(15.5), &lost), ["a", "b"], "where it works, nobody knows");
}

/// COR-1 (3): a session that does not say when it began is nobody's.
#[test]
fn a_session_without_a_start_is_nobodys() {
    let found = Found { started_at: None, ..session(0.0) };
    assert_eq!(attribute(&found, &facts([run(1, "a", 10.0, 20.0)])), Attribution::Nobody);
}

/// COR-9: two runs of one harness at the same time cannot be told apart.
#[test]
fn two_runs_of_one_harness_at_once_are_not_told_apart() {
    let facts = facts([run(1, "a", 10.0, 20.0), run(2, "a", 12.0, 18.0)]);
    assert_eq!(claimants(&session(15.5), &facts), ["a"]);
    assert_eq!(attribute(&session(11.5), &facts), by_inference(1));
    let long = super::facts([run(1, "a", 10.0, 100.0), run(2, "a", 20.0, 30.0)]);
    assert_eq!(attribute(&session(80.5), &long), by_inference(1), "long after the later one has ended");
}

/// COR-1: the answer for one session is that for many.
#[test]
fn many_runs_and_sessions_are_quick() {
    let workdir = |harness: u64| Some(format!("/w{}", harness % 10));
    let windows = (0..100_u64).flat_map(|harness| {
        (0..100_u32).map(move |turn| {
            let from = f64::from(turn) * 100.0 + f64::from(u32::try_from(harness / 10).unwrap()) * 10.0;
            let number = harness * 100 + u64::from(turn);
            Window { workdir: workdir(harness), ..run(number, &format!("h{harness}"), from, from + 6.0) }
        })
    });
    let facts = Facts { now: at(1e6), ..facts(windows) };
    let ledger = facts.prepare();
    let credited = (0..10_000_u32).filter(|number| {
        let cwd = Some(format!("/w{}", number % 10));
        let found = Found { cwd, ..session(f64::from(*number) + 0.5) };
        matches!(ledger.attribute(&found), Attribution::To(runs) if runs[0].1 == Evidence::Inferred)
    });
    assert_eq!(credited.count(), 9_996);
    assert_eq!(ledger.owner(at(0.5), &[(id(0), Evidence::Inferred)]), Some(id(0)));
}
