//! Whose transcripts may be, and for how long what is known of them is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use super::account::{call, cursor, place, session, spawned, trail};
use super::{State, damage, ended, id, name, started};
use crate::base::{Outcome, RunId, Wall};
use crate::correlate::{Facts, Known, Window};
use crate::store::{AccountQuery, Progress, Store, Unsettled};
use crate::trajectory::Format;
use crate::wire::{Evidence, Record, Run, Trail};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// COR-4, COR-6: the windows of all runs, pruned ones too, as they were when they started.
#[test]
fn facts_are_of_all_runs_and_of_pruned_ones() {
    let state = State::new();
    let mut store = state.open();
    let run = |n: u32| Run { workdir: Some("/row".into()), ..started(n, "a") };
    let generic = Trail { format: None, workdir: None, stores: Vec::new(), session: None };
    store
        .commit(&[
            Record::RunStarted(run(1)),
            spawned(1, Some(trail(Some("chosen")))),
            Record::RunEnded(Run { workdir: Some("/row".into()), ..ended(1, "a", Outcome::Ok) }),
            Record::RunStarted(Run { adapter: "codex".into(), ..run(2) }),
            Record::RunStarted(run(3)),
            spawned(3, Some(generic)),
            Record::Skipped(super::skipped(4, "a")),
            Record::RunStarted(started(5, "b")),
            spawned(5, Some(Trail { format: Some("of-tomorrow".into()), ..trail(Some("x")) })),
        ])
        .unwrap();
    let known = Known { run: id(3), format: Format::Pi, session: "p".into(), evidence: Evidence::OpenFile };
    store.commit_progress(&Progress { known: vec![known.clone()], ..Progress::default() }).unwrap();
    let window = |n: u32| Window {
        run: id(n),
        harness: name("a"),
        adapter: "generic".into(),
        format: Some(Format::ClaudeCode),
        workdir: Some("/w".into()),
        stores: trail(None).stores,
        from: Wall(i64::from(n) * 1_000_000),
        to: None,
        live: false,
    };
    let expected = [
        Window { to: Some(Wall(1_500_000)), ..window(1) },
        Window {
            adapter: "codex".into(),
            format: Some(Format::Codex),
            workdir: Some("/row".into()),
            stores: Vec::new(),
            ..window(2)
        },
        Window { format: None, workdir: None, stores: Vec::new(), ..window(3) },
        Window { harness: name("b"), format: None, ..window(5) },
    ];
    let launched = Known {
        run: id(1),
        format: Format::ClaudeCode,
        session: "chosen".into(),
        evidence: Evidence::LaunchId,
    };
    let sorted = |store: &Store| {
        let Facts { mut windows, mut known, .. } = store.facts().unwrap();
        windows.sort_by_key(|window| window.run);
        known.sort_by_key(|known| known.run);
        (windows, known)
    };
    assert_eq!(sorted(&store), (expected.to_vec(), vec![launched, known]));
    let before = sorted(&store);
    store.prune_at(&name("a"), 0, Wall(2_000_000)).unwrap();
    assert_eq!(store.run(&id(1).to_string()).map(|run| run.id).ok(), None::<RunId>, "it is pruned");
    assert_eq!(sorted(&store), before);
    let recent = store.facts_since(Wall(1_500_001)).unwrap().windows;
    assert_eq!(recent.iter().filter(|window| window.run == id(1)).count(), 0, "its end is before that");
}

/// A run is looked for until it is settled, also when it is pruned before.
#[test]
fn runs_are_unsettled_until_they_were_looked_at() {
    let state = State::new();
    let mut store = state.open();
    store
        .commit(&[
            Record::RunStarted(started(1, "a")),
            spawned(1, Some(trail(None))),
            Record::RunEnded(ended(1, "a", Outcome::Ok)),
            Record::RunStarted(started(2, "a")),
            spawned(2, Some(trail(Some("s")))),
            Record::RunStarted(started(3, "a")),
            spawned(3, Some(Trail { format: None, ..trail(None) })),
            Record::RunStarted(started(4, "a")),
        ])
        .unwrap();
    store.prune_at(&name("a"), 0, Wall(2_000_000)).unwrap();
    let unsettled = |n: u32, to: Option<i64>, session: Option<&str>| Unsettled {
        run: id(n),
        harness: name("a"),
        trail: trail(session),
        from: Wall(i64::from(n) * 1_000_000),
        to: to.map(Wall),
    };
    let first = unsettled(1, Some(1_500_000), None);
    assert_eq!(store.unsettled().unwrap(), [first, unsettled(2, None, Some("s"))]);
    store.commit_progress(&Progress { settled: vec![id(1)], ..Progress::default() }).unwrap();
    assert_eq!(store.unsettled().unwrap(), [unsettled(2, None, Some("s"))]);
}

/// COR-4: a harness is known since it was first configured or first ran, whichever was seen, and never since
/// before the store was made or its kept windows begin.
#[test]
fn a_harness_is_known_since_it_was_first_seen() {
    let state = State::new();
    let mut store = state.open();
    let made = store.recorded().unwrap().made_at;
    let since = |store: &Store| store.facts().unwrap().since;
    let later = made + DAY;
    store.see(&[name("a"), name("b")], later).unwrap();
    store.see(&[name("a"), name("b")], later + DAY).unwrap();
    assert_eq!(since(&store), BTreeMap::from([(name("a"), later), (name("b"), later)]));
    // Of one that is gone its first run tells; of one that never ran there is nothing to tell.
    store.commit(&[Record::RunStarted(Run { started_at: Some(later + DAY), ..started(1, "once") })]).unwrap();
    store.see(&[name("a"), name("c")], later + DAY).unwrap();
    let expected =
        BTreeMap::from([(name("a"), later), (name("c"), later + DAY), (name("once"), later + DAY)]);
    assert_eq!(since(&store), expected);
    // A run of before the store was made was recorded in another one.
    store.commit(&[Record::RunStarted(started(2, "moved"))]).unwrap();
    assert_eq!(since(&store)[&name("moved")], made);
    // One that has runs and was never seen is older than the way to remember it.
    store.commit(&[Record::RunEnded(ended(3, "older", Outcome::Ok))]).unwrap();
    assert_eq!(since(&store)[&name("older")], made);
    state.raw().execute_batch("UPDATE seen SET first_seen = 5").unwrap();
    assert!(since(&store)[&name("a")] > Wall(5), "windows of that time are gone");
}

/// RUN-3: trails and evidence go with the window of their run; sessions, calls and cursors when they are older
/// than any run that can be asked for.
#[test]
fn what_is_too_old_is_forgotten() {
    let state = State::new();
    let mut store = state.open();
    let now = store.recorded().unwrap().made_at;
    let long = Wall(2_000_000) + 401 * DAY;
    store
        .commit(&[
            Record::RunStarted(started(1, "a")),
            spawned(1, Some(trail(Some("s")))),
            Record::RunEnded(ended(1, "a", Outcome::Ok)),
        ])
        .unwrap();
    let known = Known { run: id(1), format: Format::Pi, session: "p".into(), evidence: Evidence::Pid };
    let brought = Progress {
        sessions: vec![session("s")],
        calls: vec![call("k", "s", 900_000, 1), call("l", "s", 1_100_000, 1)],
        cursors: vec![cursor("x", 1)],
        known: vec![known],
        ..Progress::default()
    };
    store.commit_progress(&brought).unwrap();
    let counts = |state: &State| {
        ["runs", "windows", "trails", "evidence", "sessions", "calls", "cursors"].map(|table| {
            let sql = format!("SELECT count(*) FROM {table}");
            state.raw().query_row(&sql, [], |row| row.get::<_, u32>(0)).unwrap()
        })
    };
    store.prune_at(&name("a"), 0, Wall(2_000_000)).unwrap();
    store.forget_old_at(now + 401 * DAY).unwrap();
    assert_eq!(counts(&state), [0, 1, 1, 1, 1, 1, 1], "a call of before its window is gone");
    store.commit(&[Record::RunEnded(ended(2, "a", Outcome::Ok))]).unwrap();
    store.prune_at(&name("a"), 0, long).unwrap();
    assert_eq!(counts(&state), [0, 0, 0, 0, 1, 1, 1]);
    store.forget_old_at(now).unwrap();
    assert_eq!(counts(&state), [0, 0, 0, 0, 1, 0, 1], "they were written less than 400 days ago");
    store.forget_old_at(now + 401 * DAY).unwrap();
    assert_eq!(counts(&state), [0; 7]);
    // A daemon that lives for long asks for it again and again, and has it done once a day.
    store
        .commit_progress(&Progress { calls: vec![call("k", "s", 900_000, 1)], ..Progress::default() })
        .unwrap();
    store.forget_old_at(now + 401 * DAY + DAY / 2).unwrap();
    assert_eq!(counts(&state), [0, 0, 0, 0, 1, 1, 0]);
    store.forget_old_at(now + 402 * DAY).unwrap();
    assert_eq!(counts(&state), [0; 7]);
}

/// USE-2: of the account what can be read is kept, and read again from where nothing is lost: streams from
/// their beginnings, for runs that are still recorded. Since when harnesses are known begins anew (COR-4).
#[test]
fn an_account_that_can_be_read_is_kept() {
    let (intact, _) = damage::filled();
    let mut before = intact.open();
    before.see(&[name("even")], Wall(0)).unwrap();
    let all = AccountQuery::default();
    let account = |store: &Store| (store.sessions(&all).unwrap(), store.calls(&all).unwrap());
    let (kept, facts) = (account(&before), before.facts().unwrap());
    assert_eq!((kept.0.len(), kept.1.len(), facts.known.len()), (20, 20, 21));
    before.commit_progress(&Progress { settled: vec![id(201)], ..Progress::default() }).unwrap();
    drop(before);
    intact.raw().execute_batch("UPDATE intents SET harness = '?' WHERE harness = 'harness-1'").unwrap();
    let (store, replaced) = Store::open_or_replace(&intact.dir).unwrap();
    assert!(replaced.is_some());
    let after = store.facts().unwrap();
    assert_eq!((account(&store), &after.known), (kept, &facts.known));
    assert_eq!(store.cursors(Format::ClaudeCode, &place("/s")).unwrap(), []);
    assert_eq!(store.unsettled().unwrap().len(), 1);
    let made_at = store.recorded().unwrap().made_at;
    assert_eq!(after.since[&name("even")], made_at);
}
