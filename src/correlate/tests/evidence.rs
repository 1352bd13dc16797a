//! What ties a session to a run beyond doubt (COR-8).

use super::{at, by_inference, claimants, facts, id, inferred, known, name, run, session};
use crate::correlate::{Attribution, Facts, Found, Known, Window, attribute};
use crate::wire::Evidence::{Inferred, LaunchId, OpenFile, Output, Pid};

fn knowing(facts: Facts, known: impl IntoIterator<Item = Known>) -> Facts {
    Facts { known: known.into_iter().collect(), ..facts }
}

/// COR-8: evidence replaces the time and the absence of others.
#[test]
fn evidence_replaces_time_and_claimants() {
    let both = facts([run(1, "a", 10.0, 20.0), run(2, "b", 10.0, 20.0)]);
    let facts = knowing(both, [known(2, LaunchId)]);
    for start in [15.5, 5.0, 500.0] {
        assert_eq!(attribute(&session(start), &facts), Attribution::To(vec![(id(2), LaunchId)]), "{start}");
    }
    let timeless = Found { started_at: None, ..session(0.0) };
    assert_eq!(attribute(&timeless, &facts), Attribution::To(vec![(id(2), LaunchId)]));
}

/// COR-8: it replaces neither the store nor the directory, and nobody else gets what it ties to one run.
#[test]
fn evidence_replaces_neither_store_nor_directory() {
    let away = [
        Window { workdir: Some("/v".to_owned()), ..run(2, "b", 10.0, 20.0) },
        Window { workdir: None, ..run(2, "b", 10.0, 20.0) },
        Window { stores: vec![inferred("/b")], ..run(2, "b", 10.0, 20.0) },
    ];
    for window in away {
        let facts = knowing(facts([run(1, "a", 10.0, 20.0), window]), [known(2, Pid)]);
        assert_eq!(claimants(&session(11.0), &facts).last().map(String::as_str), Some("b"));
    }
}

/// COR-8: the best of several kinds is said.
#[test]
fn of_several_kinds_the_best_is_said() {
    let facts =
        knowing(facts([run(1, "a", 10.0, 20.0)]), [known(1, OpenFile), known(1, LaunchId), known(1, Output)]);
    assert_eq!(attribute(&session(15.5), &facts), Attribution::To(vec![(id(1), LaunchId)]));
}

/// COR-8: a resumed session is shown in both runs, each its part.
#[test]
fn a_resumed_session_with_evidence_belongs_to_both_runs() {
    let two = facts([run(1, "a", 10.0, 20.0), run(2, "a", 30.0, 40.0), run(3, "b", 50.0, 60.0)]);
    let facts = knowing(two, [known(2, LaunchId), known(1, Output), known(3, Pid)]);
    let all = vec![(id(1), Output), (id(2), LaunchId), (id(3), Pid)];
    assert_eq!(attribute(&session(15.5), &facts), Attribution::To(all));
}

/// COR-8: the run that began a session keeps its part when a later one takes it up by evidence.
#[test]
fn the_run_that_began_a_session_keeps_its_part() {
    let two = facts([run(1, "a", 10.0, 20.0), run(2, "a", 30.0, 40.0)]);
    let facts = knowing(two, [known(2, LaunchId)]);
    let both = vec![(id(1), Inferred), (id(2), LaunchId)];
    assert_eq!(attribute(&session(15.5), &facts), Attribution::To(both));
    // What began with the run that has the evidence, began with no other.
    assert_eq!(attribute(&session(28.5), &facts), Attribution::To(vec![(id(2), LaunchId)]));
    // Whoever began it beside another one is unknown as ever.
    let mut crowd = facts;
    crowd.windows.push(run(3, "b", 10.0, 20.0));
    crowd.since.insert(name("b"), at(0.0));
    assert_eq!(attribute(&session(15.5), &crowd), Attribution::To(vec![(id(2), LaunchId)]));
}

/// COR-9: evidence for two runs that were under way at the same time is none.
#[test]
fn conflicting_evidence_is_refused() {
    let two = facts([run(1, "a", 10.0, 20.0), run(2, "b", 15.0, 40.0)]);
    let facts = knowing(two, [known(1, LaunchId), known(2, OpenFile)]);
    assert_eq!(
        attribute(&session(12.5), &facts),
        Attribution::Excluded {
            claimants: vec![name("a"), name("b")],
            reason: "there is evidence for runs that were under way at the same time".to_owned(),
        }
    );
}

/// COR-9: so it is where only one of the two could be credited, and of two runs of one harness; of two that are
/// both elsewhere nothing is said here.
#[test]
fn conflicting_evidence_is_refused_whosever_it_is() {
    let away =
        |number, harness| Window { workdir: Some("/v".to_owned()), ..run(number, harness, 15.0, 40.0) };
    let one = facts([run(1, "a", 10.0, 20.0), away(2, "b")]);
    let one = knowing(one, [known(1, LaunchId), known(2, Pid)]);
    assert_eq!(claimants(&session(12.5), &one), ["a", "b"]);
    let twice = facts([run(1, "a", 10.0, 20.0), run(2, "a", 15.0, 40.0)]);
    assert_eq!(claimants(&session(12.5), &knowing(twice, [known(1, Output), known(2, Pid)])), ["a"]);
    let none = knowing(facts([away(2, "b"), away(3, "c")]), [known(2, Pid), known(3, Pid)]);
    assert_eq!(attribute(&session(16.0), &none), Attribution::Nobody);
}

/// COR-8, COR-9: a run that is evidently in a session from elsewhere leaves it to the run that began it, unless
/// that one was still under way: who of them wrote when, nobody can tell. From here each has its part.
#[test]
fn who_takes_a_session_up_from_elsewhere_leaves_it_to_a_run_that_had_ended() {
    let away = |from, to| Window { workdir: Some("/v".to_owned()), ..run(2, "b", from, to) };
    let with = |taker| knowing(facts([run(1, "a", 10.0, 20.0), taker]), [known(2, Pid)]);
    assert_eq!(attribute(&session(11.5), &with(away(30.0, 40.0))), by_inference(1));
    assert_eq!(claimants(&session(11.5), &with(away(16.0, 40.0))), ["b"]);
    let both = vec![(id(1), Inferred), (id(2), Pid)];
    assert_eq!(attribute(&session(11.5), &with(run(2, "b", 16.0, 40.0))), Attribution::To(both));
}

/// COR-9: what a run did that nobody knows of is not taken for another's.
#[test]
fn evidence_for_an_unknown_run_credits_nobody() {
    let facts = knowing(facts([run(1, "a", 10.0, 20.0)]), [known(9, LaunchId)]);
    assert_eq!(attribute(&session(15.5), &facts), Attribution::Nobody);
}

/// COR-8: evidence about one session says nothing of another.
#[test]
fn evidence_is_of_one_session() {
    let facts = knowing(facts([run(1, "a", 10.0, 20.0)]), [known(9, LaunchId)]);
    let other = Found { id: "t".to_owned(), ..session(15.5) };
    assert_eq!(attribute(&other, &facts), by_inference(1));
}

/// COR-8: evidence for a run that has nothing to do with the place, where nobody else claims it, makes it nobody's;
/// and where others exclude one another, they are those who are named.
#[test]
fn evidence_of_elsewhere_names_nobody_who_is_here() {
    let away = Window { workdir: Some("/v".to_owned()), ..run(2, "b", 10.0, 20.0) };
    let alone = knowing(facts([away.clone()]), [known(2, Pid)]);
    assert_eq!(attribute(&session(11.0), &alone), Attribution::Nobody);
    let crowd = knowing(facts([run(1, "a", 10.0, 20.0), away, run(3, "c", 10.0, 20.0)]), [known(2, Pid)]);
    assert_eq!(claimants(&session(11.0), &crowd), ["a", "c"]);
}
