//! What was read of transcripts, whose it may be, and for how long it is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{State, ended, id, name, started};
use crate::base::{Outcome, RunId, Wall};
use crate::correlate::{Facts, Known, Window};
use crate::store::{AccountQuery, CallRow, Cursor, Progress, SessionRow, Store, Unsettled};
use crate::trajectory::{Format, Kinship, Parent, Tokens};
use crate::wire::{Evidence, Launched, Record, Run, StorePlace, Trail};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn place(path: &str) -> StorePlace {
    StorePlace { path: path.into(), named: false, cwd: None }
}

pub(super) fn trail(session: Option<&str>) -> Trail {
    Trail {
        format: Some("claude-code".into()),
        workdir: Some("/w".into()),
        stores: vec![place("/s"), StorePlace { named: true, cwd: Some("/w".into()), ..place("/t") }],
        session: session.map(str::to_owned),
    }
}

pub(super) fn spawned(n: u32, trail: Option<Trail>) -> Record {
    Record::RunSpawned { id: id(n), facts: Launched { pid: 1, trail, ..Launched::default() } }
}

pub(super) fn session(of: &str) -> SessionRow {
    SessionRow {
        format: Format::ClaudeCode,
        id: of.into(),
        store: "/s".into(),
        streams: vec![format!("-w/{of}.jsonl")],
        parent: None,
        cwd: Some("/w".into()),
        started_at: Some(Wall(1_000)),
        last_at: Some(Wall(2_000)),
        models: vec!["m1".into()],
    }
}

pub(super) fn call(key: &str, of: &str, at: i64, input: u64) -> CallRow {
    CallRow {
        format: Format::ClaudeCode,
        key: key.into(),
        store: "/s".into(),
        session: of.into(),
        at: Wall(at),
        model: Some("m1".into()),
        tokens: Some(Tokens { input, cached: 1, output: 2 }),
        cost_usd: Some(0.5),
    }
}

pub(super) fn cursor(stream: &str, offset: u64) -> Cursor {
    Cursor {
        format: Format::ClaudeCode,
        store: "/s".into(),
        stream: stream.into(),
        file: (u64::MAX, 7),
        offset,
        stamp: format!("{offset} 17"),
        decoder: "{}".into(),
    }
}

fn all(store: &Store) -> (Vec<SessionRow>, Vec<CallRow>) {
    let all = AccountQuery::default();
    (store.sessions(&all).unwrap(), store.calls(&all).unwrap())
}

/// USE-2: what a look brought is there whole, and reading the same once more changes nothing.
#[test]
fn progress_reads_back_equal_and_counts_once() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[Record::RunStarted(started(1, "a")), spawned(1, Some(trail(None)))]).unwrap();
    let parent = Some(Parent { id: "s1".into(), kinship: Kinship::Forked });
    let untold =
        SessionRow { cwd: None, started_at: None, last_at: None, models: Vec::new(), ..session("s3") };
    let brought = Progress {
        sessions: vec![session("s1"), SessionRow { parent, ..session("s2") }, untold],
        cursors: vec![cursor("-w/s1.jsonl", 100), cursor("-w/s2.jsonl", 200)],
        calls: vec![
            call("k1", "s1", 1_500, 10),
            CallRow { tokens: None, model: None, ..call("k2", "s2", 1_600, 0) },
            CallRow { cost_usd: None, ..call("k3", "s2", 1_700, 30) },
        ],
        known: vec![Known {
            run: id(1),
            format: Format::ClaudeCode,
            session: "s1".into(),
            evidence: Evidence::Pid,
        }],
        settled: vec![id(1)],
    };
    assert_eq!(store.unsettled().unwrap().len(), 1);
    for _ in 0..2 {
        store.commit_progress(&brought).unwrap();
        assert_eq!(all(&store), (brought.sessions.clone(), brought.calls.clone()));
        assert_eq!(store.cursors(Format::ClaudeCode, &place("/s")).unwrap(), brought.cursors);
        assert_eq!(store.facts().unwrap().known, brought.known);
        assert_eq!(store.unsettled().unwrap(), Vec::new());
    }
    assert_eq!(store.cursors(Format::Codex, &place("/s")).unwrap(), Vec::new());
    assert_eq!(store.cursors(Format::ClaudeCode, &place("/t")).unwrap(), Vec::new());
    let reader = Store::open_read(&state.dir).unwrap().unwrap();
    assert_eq!(all(&reader), (brought.sessions, brought.calls));
}

/// USE-3: of a key the last numbers count; the call stays with the session that told it first, at its time.
#[test]
fn a_call_is_its_first_sessions_and_has_its_last_numbers() {
    let state = State::new();
    let mut store = state.open();
    let calls = |calls: Vec<CallRow>| Progress { calls, ..Progress::default() };
    store.commit_progress(&calls(vec![call("k", "s1", 1_500, 1), call("k", "s1", 1_600, 10)])).unwrap();
    assert_eq!(all(&store).1, [call("k", "s1", 1_600, 10)]);
    store.commit_progress(&calls(vec![call("k", "copy", 9_000, 20)])).unwrap();
    assert_eq!(all(&store).1, [call("k", "s1", 1_600, 20)]);
    let codex = CallRow { format: Format::Codex, ..call("k", "s1", 1_700, 5) };
    store.commit_progress(&calls(vec![codex.clone()])).unwrap();
    assert_eq!(all(&store).1, [call("k", "s1", 1_600, 20), codex], "a key is one within its format");
}

/// TRJ-3: whatever number a transcript states, it keeps nothing else out.
#[test]
fn numbers_beyond_all_measure_are_bounded() {
    let state = State::new();
    let mut store = state.open();
    let most = i64::MAX.cast_unsigned();
    let tokens = |input| Some(Tokens { input, cached: u64::MAX, output: u64::MAX });
    let mad = CallRow { tokens: tokens(u64::MAX), cost_usd: Some(f64::NAN), ..call("k", "s", 1, 1) };
    store.commit_progress(&Progress { calls: vec![mad.clone()], ..Progress::default() }).unwrap();
    let bounded = Some(Tokens { input: most, cached: most, output: most });
    assert_eq!(all(&store).1, [CallRow { tokens: bounded, cost_usd: None, ..mad }]);
}

/// What a session was known for stays, when a later look says less of it.
#[test]
fn a_session_loses_nothing_that_was_known() {
    let state = State::new();
    let mut store = state.open();
    let sessions = |row| Progress { sessions: vec![row], ..Progress::default() };
    let parent = Some(Parent { id: "p".into(), kinship: Kinship::Reset });
    store.commit_progress(&sessions(SessionRow { parent: parent.clone(), ..session("s") })).unwrap();
    let later = SessionRow {
        streams: vec!["elsewhere.jsonl".into()],
        cwd: None,
        started_at: None,
        last_at: Some(Wall(1_500)),
        models: vec!["m2".into(), "m1".into()],
        ..session("s")
    };
    store.commit_progress(&sessions(later)).unwrap();
    let joined = SessionRow {
        parent,
        streams: vec!["-w/s.jsonl".into(), "elsewhere.jsonl".into()],
        models: vec!["m1".into(), "m2".into()],
        ..session("s")
    };
    assert_eq!(all(&store).0, [joined]);
}

/// USE-2: a cursor goes forward only, but for another file, or one that was begun anew.
#[test]
fn a_cursor_goes_forward_only() {
    let state = State::new();
    let mut store = state.open();
    let at = |store: &Store| store.cursors(Format::ClaudeCode, &place("/s")).unwrap();
    let mut put = |cursor: &Cursor| {
        store.commit_progress(&Progress { cursors: vec![cursor.clone()], ..Progress::default() }).unwrap();
        at(&store)
    };
    let first = cursor("a", 100);
    assert_eq!(put(&first), [first.clone()]);
    let older = Cursor { stamp: "180 16".into(), ..cursor("a", 50) };
    assert_eq!(put(&older), [first]);
    let same = Cursor { stamp: "100 18".into(), decoder: "[]".into(), ..cursor("a", 100) };
    assert_eq!(put(&same), [same.clone()]);
    let shorter = cursor("a", 60);
    assert_eq!(put(&shorter), [shorter], "of its 60 bytes 100 cannot have been read");
    let other = Cursor { file: (1, 8), stamp: "500 1".into(), ..cursor("a", 10) };
    assert_eq!(put(&other), [other]);
}

/// Sessions and calls are found by directory and by time.
#[test]
fn sessions_and_calls_are_asked_for_by_directory_and_time() {
    let state = State::new();
    let mut store = state.open();
    let at = |id: &str, cwd: &str, from: Option<i64>, to: Option<i64>| SessionRow {
        cwd: Some(cwd.into()),
        started_at: from.map(Wall),
        last_at: to.map(Wall),
        ..session(id)
    };
    let sessions = vec![
        at("early", "/w", Some(100), Some(200)),
        at("late", "/w", Some(300), Some(400)),
        at("elsewhere", "/x", Some(100), Some(400)),
        at("begun", "/w", Some(300), None),
        at("untold", "/w", None, None),
    ];
    let calls = vec![call("1", "early", 150, 1), call("2", "late", 350, 1), call("3", "elsewhere", 200, 1)];
    store.commit_progress(&Progress { sessions, calls, ..Progress::default() }).unwrap();
    let ask = |cwd: Option<&str>, from: Option<i64>, to: Option<i64>| {
        let query = AccountQuery { cwd: cwd.map(str::to_owned), from: from.map(Wall), to: to.map(Wall) };
        let sessions = store.sessions(&query).unwrap().into_iter().map(|one| one.id).collect::<Vec<_>>();
        let calls = store.calls(&query).unwrap().into_iter().map(|one| one.key).collect::<Vec<_>>();
        (sessions.join(" "), calls.join(" "))
    };
    let told = |sessions: &str, calls: &str| (sessions.to_owned(), calls.to_owned());
    assert_eq!(ask(None, None, None), told("early late elsewhere begun untold", "1 3 2"));
    assert_eq!(ask(Some("/w"), None, None), told("early late begun untold", "1 2"));
    assert_eq!(ask(Some("/w"), Some(201), None), told("late begun untold", "2"));
    assert_eq!(ask(None, None, Some(299)), told("early elsewhere untold", "1 3"));
    assert_eq!(ask(None, Some(200), Some(200)), told("early elsewhere untold", "3"));
    assert_eq!(ask(Some("/none"), None, None), told("", ""));
}

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
}

/// What 60,000 calls of 2,000 sessions and 20,000 windows cost; `cargo test --release -- --ignored measure`.
#[test]
#[ignore = "it measures"]
fn measure_a_large_account() {
    let state = State::new();
    let mut store = state.open();
    let records = (0..20_000).flat_map(|n| {
        let start = Record::RunStarted(started(n, "a"));
        [start, spawned(n, Some(trail(None))), Record::RunEnded(ended(n, "a", Outcome::Ok))]
    });
    store.commit(&records.collect::<Vec<_>>()).unwrap();
    store.prune_at(&name("a"), 50, Wall(0)).unwrap();
    let id = |n: i64| format!("0192a000-0000-7000-8000-{n:012}");
    let brought = Progress {
        sessions: (0..2_000).map(|n| session(&id(n))).collect(),
        calls: (0..60_000).map(|n| call(&format!("msg_{n:024}"), &id(n / 30), n * 1_000, 10)).collect(),
        cursors: (0..2_000).map(|n| cursor(&id(n), 100)).collect(),
        ..Progress::default()
    };
    let time = |what: &str, work: &mut dyn FnMut() -> usize| {
        let begun = std::time::Instant::now();
        let count = work();
        println!("{what}: {count} in {:?}", begun.elapsed());
    };
    for what in ["first commit", "the same once more"] {
        time(what, &mut || store.commit_progress(&brought).map(|()| brought.calls.len()).unwrap());
    }
    let all = AccountQuery::default();
    let of = AccountQuery { cwd: Some("/w".into()), ..AccountQuery::default() };
    let day = AccountQuery { from: Some(Wall(59_000_000)), ..AccountQuery::default() };
    for (what, query) in [("all", &all), ("of a directory", &of), ("the last sixtieth", &day)] {
        time(&format!("sessions, {what}"), &mut || store.sessions(query).unwrap().len());
        time(&format!("calls, {what}"), &mut || store.calls(query).unwrap().len());
    }
    time("cursors", &mut || store.cursors(Format::ClaudeCode, &place("/s")).unwrap().len());
    time("facts", &mut || store.facts().unwrap().windows.len());
    time("facts_since", &mut || store.facts_since(Wall(19_000_000_000)).unwrap().windows.len());
    time("unsettled", &mut || store.unsettled().unwrap().len());
    state.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    println!("{} bytes", std::fs::metadata(state.file()).unwrap().len());
}
