//! What was read of transcripts: it counts once, and is found again.

use super::{State, id, started};
use crate::base::Wall;
use crate::correlate::Known;
use crate::store::{AccountQuery, CallRow, Cursor, Progress, SessionRow, Store};
use crate::trajectory::{Format, Kinship, Parent, Tokens};
use crate::wire::{Evidence, Launched, Record, StorePlace, Trail};

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
    assert_eq!(put(&first), std::slice::from_ref(&first));
    let older = Cursor { stamp: "180 16".into(), ..cursor("a", 50) };
    assert_eq!(put(&older), [first]);
    let same = Cursor { stamp: "100 18".into(), decoder: "[]".into(), ..cursor("a", 100) };
    assert_eq!(put(&same), std::slice::from_ref(&same));
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
