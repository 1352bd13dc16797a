//! Named and inferred stores (COR-2 to COR-4).

use super::{SHARED, by_inference, claimants, facts, in_store, inferred, name, named, peer, run, session};
use crate::correlate::{Attribution, Facts, Found, Peer, Window, attribute};
use crate::wire::StorePlace;

fn own(number: u64, harness: &str, from: f64, to: f64, store: &str) -> Window {
    Window { stores: vec![named(store)], ..run(number, harness, from, to) }
}

/// Scenario: Named stores separate harnesses that share a workdir.
#[test]
fn named_stores_separate_harnesses_that_share_a_workdir() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db"), own(2, "b", 10.0, 20.0, "/b/crush.db")]);
    assert_eq!(attribute(&in_store(15.5, "/a/crush.db"), &facts), by_inference(1));
    assert_eq!(attribute(&in_store(15.5, "/b/crush.db"), &facts), by_inference(2));
}

/// Scenario: A named store is not widened by the shared ones.
#[test]
fn a_named_store_is_not_widened_by_the_shared_ones() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db")]);
    assert_eq!(attribute(&session(15.5), &facts), Attribution::Nobody);
    assert_eq!(attribute(&in_store(15.5, "/w/.crush/crush.db"), &facts), Attribution::Nobody);
}

/// Scenario: An inferred store rules nothing out.
#[test]
fn an_inferred_store_rules_nothing_out() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db"), run(2, "b", 10.0, 20.0)]);
    assert_eq!(claimants(&in_store(15.5, "/a/crush.db"), &facts), ["a", "b"]);
}

/// COR-4: a session's own store rules out whoever names another one, and no more.
#[test]
fn the_store_of_a_session_rules_out_who_names_another_one() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db"), run(2, "b", 10.0, 20.0)]);
    assert_eq!(attribute(&session(15.5), &facts), by_inference(2));
}

/// COR-4: two harnesses that name the same store are each other's claimants.
#[test]
fn the_same_named_store_separates_nobody() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db"), own(2, "b", 10.0, 20.0, "/a/crush.db")]);
    assert_eq!(claimants(&in_store(15.5, "/a/crush.db"), &facts), ["a", "b"]);
}

/// COR-9: what is written to a store inside another one is found in both.
#[test]
fn a_store_inside_another_one_is_not_elsewhere() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/s"), own(2, "b", 10.0, 20.0, "/s/below")]);
    assert_eq!(claimants(&in_store(15.5, "/s"), &facts), ["a", "b"]);
    assert_eq!(claimants(&in_store(15.5, "/s/below"), &facts), ["a", "b"]);
    // One whose name begins alike lies beside it.
    let beside = super::facts([own(1, "a", 10.0, 20.0, "/s"), own(2, "b", 10.0, 20.0, "/s2")]);
    assert_eq!(attribute(&in_store(15.5, "/s2"), &beside), by_inference(2));
}

/// COR-4: a harness with a store of its own has it before its record begins, too.
#[test]
fn a_named_store_separates_without_a_record_too() {
    let facts = facts([own(1, "a", 10.0, 20.0, "/a/crush.db")]);
    let with = |stores: Vec<StorePlace>| Facts { peers: vec![Peer { stores, ..peer("b") }], ..facts.clone() };
    let found = in_store(15.5, "/a/crush.db");
    assert_eq!(attribute(&found, &with(vec![named("/b/crush.db")])), by_inference(1));
    assert_eq!(claimants(&found, &with(vec![inferred("/b/crush.db")])), ["a", "b"]);
    assert_eq!(claimants(&found, &with(Vec::new())), ["a", "b"]);
}

/// COR-1 (1): a session in a store that the run does not write to is not its own.
#[test]
fn a_session_in_another_store_is_nobodys() {
    let facts = facts([run(1, "a", 10.0, 20.0)]);
    assert_eq!(attribute(&in_store(15.5, "/elsewhere/crush.db"), &facts), Attribution::Nobody);
}

/// A store that records no directory is read for the directory of whoever reads it: everybody who writes to
/// it is a claimant, wherever he works (COR-9), and each is credited with what is his alone.
#[test]
fn a_store_without_directories_is_shared_by_all_who_write_to_it() {
    let place = |cwd: &str| StorePlace { cwd: Some(cwd.to_owned()), ..named(SHARED) };
    let window = |number, harness, from, to, cwd: &str| Window {
        workdir: Some(cwd.to_owned()),
        stores: vec![place(cwd)],
        ..run(number, harness, from, to)
    };
    let facts = facts([window(1, "a", 10.0, 20.0, "/w"), window(2, "b", 15.0, 40.0, "/v")]);
    for cwd in ["/w", "/v"] {
        let found = |start| Found { cwd: Some(cwd.to_owned()), ..session(start) };
        assert_eq!(attribute(&found(11.5), &facts), by_inference(1), "{cwd}");
        assert_eq!(claimants(&found(18.5), &facts), ["a", "b"], "{cwd}");
        assert_eq!(attribute(&found(35.5), &facts), by_inference(2), "{cwd}");
    }
    let mut unrecorded = facts;
    unrecorded.since.insert(name("b"), super::at(14.0));
    assert_eq!(claimants(&session(11.5), &unrecorded), ["a", "b"]);
}

/// COR-4: whoever works where such a store lies may write to it too, though its directory is another one's.
#[test]
fn who_works_where_a_store_without_directories_lies_is_a_claimant() {
    let store = "/w/.crush/crush.db";
    let place = StorePlace { cwd: Some("/v".to_owned()), ..named(store) };
    let away = Window { workdir: Some("/v".to_owned()), stores: vec![place], ..run(1, "a", 10.0, 20.0) };
    let found = Found { cwd: Some("/v".to_owned()), ..in_store(15.5, store) };
    assert_eq!(claimants(&found, &facts([away, run(2, "b", 10.0, 20.0)])), ["a", "b"]);
}
