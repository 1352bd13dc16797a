//! Stores that do not hold what was written to them.

use std::fs;

use super::{State, account, ended, id, name, skills, skipped, started};
use crate::base::{Outcome, Wall};
use crate::correlate::Known;
use crate::store::connect;
use crate::store::{Progress, Replaced, RunQuery, Store, StoreProblem};
use crate::trajectory::Format;
use crate::wire::{Evidence, Record, Run};

const PAGE: usize = 4096;

/// A store with something in every table, closed and with an empty log: its file holds everything.
pub(super) fn filled() -> (State, Vec<u8>) {
    let state = State::new();
    let mut store = state.open();
    let mut records: Vec<Record> = (1..200)
        .map(|n| {
            let run = ended(n, if n % 2 == 0 { "even" } else { "odd" }, Outcome::Ok);
            Record::RunEnded(Run { skills: skills(&["a", "b"]), ..run })
        })
        .collect();
    records.push(Record::Skipped(skipped(200, "odd")));
    records.push(Record::RunStarted(started(201, "even")));
    for n in 0..60 {
        let harness = name(&format!("harness-{n}"));
        records.push(Record::Intent { harness: harness.clone(), wanted: n % 2 == 0 });
        records.push(Record::Fired { harness, expression: "@hourly".into(), at: Wall(n) });
    }
    records.push(Record::Profile { name: "night".into() });
    store.commit(&records).unwrap();
    store.commit(&[account::spawned(201, Some(account::trail(Some("s-0"))))]).unwrap();
    let sessions: Vec<_> = (0..20).map(|n| format!("s-{n}")).collect();
    let known = |session: &String| Known {
        run: id(201),
        format: Format::ClaudeCode,
        session: session.clone(),
        evidence: Evidence::OpenFile,
    };
    let brought = Progress {
        sessions: sessions.iter().map(|id| account::session(id)).collect(),
        calls: sessions.iter().map(|id| account::call(&format!("key of {id}"), id, 1_500, 7)).collect(),
        cursors: sessions.iter().map(|id| account::cursor(id, 100)).collect(),
        known: sessions.iter().map(known).collect(),
        settled: Vec::new(),
    };
    store.commit_progress(&brought).unwrap();
    store.prune_at(&name("odd"), 50, Wall(0)).unwrap();
    drop(store);
    state.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let bytes = fs::read(state.file()).unwrap();
    (state, bytes)
}

/// A fresh state directory with these bytes as its store.
fn with(bytes: &[u8]) -> State {
    let state = State::new();
    fs::create_dir(&state.dir).unwrap();
    fs::write(state.file(), bytes).unwrap();
    state
}

/// What a start of the daemon makes of a store; afterwards it works, and the next start finds it sound.
fn start(state: &State, what: &str) -> Option<Replaced> {
    let (mut store, replaced) =
        Store::open_or_replace(&state.dir).unwrap_or_else(|error| panic!("{what}: {error}"));
    let next = format!("fresh-{}", state.names().len());
    store.commit(&[Record::Intent { harness: name(&next), wanted: true }]).unwrap();
    assert!(store.remembered().unwrap().intents[&name(&next)], "{what}");
    drop(store);
    let (_, again) = Store::open_or_replace(&state.dir).unwrap();
    assert_eq!(again, None, "{what}");
    replaced
}

/// Trap 25: a store that is cut off anywhere is moved aside as it is, and the daemon has a new one. A file
/// of no bytes is what a start leaves that was killed at its first step.
#[test]
fn a_store_that_is_cut_off_is_moved_aside() {
    let (_state, whole) = filled();
    let pages = whole.len() / PAGE;
    assert!(pages > 20, "{pages}");
    let edges = (0..pages).flat_map(|page| [page * PAGE + 1, (page + 1) * PAGE - 1, page * PAGE]);
    let inside = (0..pages).step_by(3).map(|page| page * PAGE + 1 + (page * 977) % (PAGE - 2));
    for length in edges.chain(inside).chain([2, 15, 16, 17, 99, 100, 101, 511, 512]) {
        let state = with(&whole[..length]);
        let replaced = start(&state, &format!("cut off at {length}"));
        if length == 0 {
            assert_eq!(replaced, None);
            continue;
        }
        let replaced = replaced.unwrap_or_else(|| panic!("cut off at {length} and not noticed"));
        assert!(replaced.aside.as_str().starts_with(&format!("{}.corrupt-", state.file())));
        assert_eq!(fs::read(&replaced.aside).unwrap(), whole[..length], "cut off at {length}");
    }
}

/// Trap 25: a byte that flipped is noticed, or it changed nothing that a start depends on; whatever it is,
/// the daemon starts. Only a version that is too new is refused: it may be true.
#[test]
fn a_flipped_byte_stops_no_start() {
    let (_state, whole) = filled();
    let header = 0..100;
    let spread = (100..whole.len()).step_by(1511);
    let mut noticed = 0;
    for at in header.chain(spread) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let state = with(&bytes);
        if (60..64).contains(&at) {
            let refused = Store::open_or_replace(&state.dir).map(|(_, replaced)| replaced);
            match refused {
                Err(error) => assert!(matches!(error.problem, StoreProblem::Newer { .. }), "{error}"),
                Ok(replaced) => assert!(replaced.is_some(), "byte {at}"),
            }
            continue;
        }
        if let Some(replaced) = start(&state, &format!("byte {at}")) {
            noticed += 1;
            assert_eq!(fs::read(&replaced.aside).unwrap().len(), whole.len(), "byte {at}");
        }
    }
    assert!(noticed > 30, "{noticed}");
}

/// Trap 25: of a store whose version has flipped nothing is lost: not if it seems to be an older one, nor if no
/// program can have written it. One that the next program may have written is refused as it is.
#[test]
fn a_flipped_version_loses_nothing() {
    for bit in 0..32 {
        let (state, _) = filled();
        let before = state.open();
        let all = RunQuery { limit: 1000, ..RunQuery::default() };
        let (runs, remembered) = (before.runs(&all).unwrap(), before.remembered().unwrap());
        drop(before);
        let version = 3 ^ (1_u32 << bit);
        state.raw().execute_batch(&format!("PRAGMA user_version = {}", version.cast_signed())).unwrap();
        match Store::open_or_replace(&state.dir) {
            Ok((store, replaced)) => {
                let replaced = replaced.unwrap_or_else(|| panic!("version {version} is noticed"));
                assert_eq!(replaced.runs, runs.len(), "version {version}");
                assert_eq!(store.runs(&all).unwrap(), runs, "version {version}");
                assert_eq!(store.remembered().unwrap(), remembered, "version {version}");
            }
            Err(error) => {
                let newer = StoreProblem::Newer { found: version.into(), known: 3 };
                assert_eq!((error.problem, version < 1000), (newer, true));
            }
        }
    }
}

/// Trap 25: nor if an older store seems to be one of this version.
#[test]
fn an_older_store_that_calls_itself_current_loses_nothing() {
    for (version, claimed) in [(1, 2), (1, 3), (2, 3)] {
        let state = State::new();
        fs::create_dir(&state.dir).unwrap();
        fs::copy(format!("tests/data/state/v{version}/state.db"), state.file()).unwrap();
        state.raw().execute_batch(&format!("PRAGMA user_version = {claimed}")).unwrap();
        let recorded: usize =
            state.raw().query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
        let (store, replaced) = Store::open_or_replace(&state.dir).unwrap();
        assert_eq!(replaced.map(|replaced| replaced.runs), Some(recorded), "{version} as {claimed}");
        assert_eq!(store.runs(&RunQuery { limit: 1000, ..RunQuery::default() }).unwrap().len(), recorded);
    }
}

/// A check that could not have a page tells of a disk that fails or of memory that is short, and of no damage.
#[test]
fn a_page_that_could_not_be_had_is_not_damaged() {
    let unread = [
        "Tree 5 page 9: unable to get the page. error code=266",
        "Tree 5 page 9: unable to get the page. error code=7\nmore",
        "Tree 5 page 9: btreeInitPage() returns error code 7",
        "Tree 5 page 9 cell 3: failed to get page 77",
    ];
    let damaged = [
        "Tree 5 page 9: btreeInitPage() returns error code 11",
        "Tree 5 page 9: unable to get the page. error code=26",
        "Tree 5 page 9 cell 3: invalid page number 77",
        "wrong # of entries in index runs_open",
    ];
    for (said, expected) in
        unread.iter().map(|said| (said, true)).chain(damaged.iter().map(|said| (said, false)))
    {
        assert_eq!(connect::is_unread(said), expected, "{said}");
    }
}

/// A store whose newest pages stand in its log only is whole: another process may write while it is looked at.
#[test]
fn a_file_that_grows_in_its_log_is_not_cut_off() {
    let (state, _) = filled();
    let look = state.raw();
    look.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).unwrap();
    assert_eq!(connect::is_as_long_as_it_says(&look), Ok(()));
    let mut other = state.open();
    let records = (300..600).map(|n| Record::RunEnded(ended(n, "even", Outcome::Ok)));
    other.commit(&records.collect::<Vec<_>>()).unwrap();
    let pages: u64 = look.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    assert!(fs::metadata(state.file()).unwrap().len() < pages * 4096, "the newest pages are in the log");
    assert_eq!(connect::is_as_long_as_it_says(&look), Ok(()));
}

/// A store that another process is too busy with, or that SQLite had no memory for, is not damaged.
#[test]
fn what_passes_is_no_damage() {
    for code in [5, 6, 7, 9, 10, 13, 14, 15, 22] {
        let failure = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let problem = StoreProblem::from(failure);
        assert!(!problem.is_damage() && !matches!(problem, StoreProblem::Other(_)), "{code}: {problem:?}");
    }
}

/// A store that cannot be written for another reason than its header stays where it is.
#[test]
fn only_a_header_that_says_so_forbids_writing() {
    let (state, whole) = filled();
    assert!(!connect::header_forbids_writing(&state.file()));
    let mut bytes = whole;
    bytes[18] = 3;
    assert!(connect::header_forbids_writing(&with(&bytes).file()));
}

/// LIF-9, SCH-11: what can still be read of a damaged store is in the new one: claims and intents, so that
/// nothing runs twice or against its owner's will, open runs, so that they are closed, and the history.
#[test]
fn what_can_be_read_is_kept() {
    let (intact, whole) = filled();
    let before = intact.open();
    // The root page of an index that no salvage needs.
    let root: usize = intact
        .raw()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_open'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = whole;
    bytes[(root - 1) * PAGE..root * PAGE].fill(0xff);
    let state = with(&bytes);
    let (store, replaced) = Store::open_or_replace(&state.dir).unwrap();
    let replaced = replaced.expect("it is noticed");
    let all = RunQuery { limit: 1000, ..RunQuery::default() };
    let runs = before.runs(&all).unwrap();
    assert_eq!((replaced.runs, replaced.intents, replaced.firings), (runs.len(), 60, 60));
    assert_eq!(store.runs(&all), Ok(runs));
    assert_eq!(store.open_runs(), before.open_runs());
    assert_eq!(store.remembered(), before.remembered());
    assert_eq!(store.run(&id(1).to_string()), before.run(&id(1).to_string()), "its window");
    let said = replaced.to_string();
    let StoreProblem::Damaged(problem) = &replaced.problem else { panic!("{said}") };
    let expected = format!(
        "the state store was damaged (the database is damaged: {problem}): it lies at `{}`, a new one was made, and \
         {} runs, 60 intents and the last slots of 60 schedules could be read",
        replaced.aside, replaced.runs
    );
    assert_eq!(said, expected);
}

/// Trap 25: so is a row that makes no sense although its page is sound, and only that row is lost.
#[test]
fn a_row_that_makes_no_sense_costs_no_other() {
    let (state, _) = filled();
    state.raw().execute_batch("UPDATE runs SET trigger = 'whim' WHERE outcome IS NULL").unwrap();
    let (store, replaced) = Store::open_or_replace(&state.dir).unwrap();
    let replaced = replaced.expect("it is noticed");
    assert_eq!(
        replaced.problem,
        StoreProblem::BadRow {
            row: id(201).to_string(),
            column: "trigger",
            cause: "`whim` is no trigger".into()
        }
    );
    assert_eq!(store.open_runs(), Ok(Vec::new()));
    assert_eq!(store.runs(&RunQuery { limit: 1000, ..RunQuery::default() }).unwrap().len(), replaced.runs);
}

/// Trap 25: a file that is no database, and companions of another one, are moved aside together.
#[test]
fn foreign_companions_stop_no_start() {
    let (other, _) = filled();
    let store = other.open();
    let raw = other.raw();
    raw.execute_batch("UPDATE firings SET at = at + 1").unwrap();
    let wal = fs::read(other.dir.join("state.db-wal")).unwrap();
    assert!(wal.len() > PAGE);
    let (_state, whole) = filled();
    for (what, bytes) in [("text", b"not a database ".repeat(1000)), ("nothing", Vec::new()), ("ours", whole)]
    {
        for companion in ["-wal", "-shm", "-journal"] {
            let state = with(&bytes);
            for contents in [&wal[..], b"nonsense", &wal[..wal.len() / 2]] {
                fs::write(format!("{}{companion}", state.file()), contents).unwrap();
                let replaced = start(&state, &format!("{what} with {companion}"));
                assert_eq!(replaced.is_some(), state.names().iter().any(|file| file.contains("corrupt")));
                fs::write(state.file(), &bytes).unwrap();
            }
        }
    }
    drop(store);
}

/// An earlier file that was moved aside is never written over.
#[test]
fn files_that_were_moved_aside_stay() {
    let state = State::new();
    for n in 0..5 {
        fs::create_dir_all(&state.dir).unwrap();
        fs::write(state.file(), format!("no database {n}").repeat(100)).unwrap();
        let replaced = start(&state, "text").expect("it is no database");
        assert_eq!(replaced.problem, StoreProblem::NotADatabase);
    }
    let aside: Vec<String> = state.names().into_iter().filter(|file| file.contains("corrupt")).collect();
    let aside: Vec<_> =
        aside.iter().filter(|file| !file.ends_with("-wal") && !file.ends_with("-shm")).collect();
    assert_eq!(aside.len(), 5, "{aside:?}");
}

/// `once` and whoever only looks move nothing and change nothing, not even by closing what they opened; they
/// say what will be done about it.
#[test]
fn nobody_else_moves_a_damaged_store() {
    let (other, _) = filled();
    let store = other.open();
    other.raw().execute_batch("UPDATE firings SET at = at + 1").unwrap();
    let state = with(&b"not a database ".repeat(1000));
    for companion in ["-wal", "-shm"] {
        let from = format!("{}{companion}", other.file());
        fs::copy(from, format!("{}{companion}", state.file())).unwrap();
    }
    drop(store);
    // The index is of another file: the log is read anew.
    fs::write(format!("{}-shm", state.file()), "").unwrap();
    for error in [Store::open(&state.dir).unwrap_err(), Store::open_read(&state.dir).unwrap_err()] {
        assert_eq!(error.problem, StoreProblem::NotADatabase);
        assert_eq!(
            error.body().help.as_deref(),
            Some(
                "the next `harnessd run` moves it aside, keeps what can still be read of it, and makes a new one"
            )
        );
    }
    assert_eq!(state.names(), ["state.db", "state.db-shm", "state.db-wal"]);
    assert_eq!(fs::read(state.file()).unwrap(), b"not a database ".repeat(1000));
}

/// A database of another program is nobody's to move.
#[test]
fn a_foreign_database_is_refused_and_stays() {
    let state = State::new();
    fs::create_dir(&state.dir).unwrap();
    state.raw().execute_batch("CREATE TABLE t (x)").unwrap();
    let error = Store::open_or_replace(&state.dir).map(drop).unwrap_err();
    assert_eq!(error.problem, StoreProblem::Foreign);
    assert_eq!(state.names(), ["state.db"]);
}

/// LIF-9: a store that is removed or replaced under its writer is noticed by the commit that would have gone
/// with it; a log that is removed alone is made again and costs nothing.
#[test]
fn a_store_that_goes_away_is_noticed() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    for companion in ["state.db-wal", "state.db-shm"] {
        fs::remove_file(state.dir.join(companion)).unwrap();
        let n = u32::try_from(store.open_runs().unwrap().len()).unwrap() + 1;
        store.commit(&[Record::RunStarted(started(n, "tick"))]).unwrap();
        let seen = Store::open_read(&state.dir).unwrap().unwrap().open_runs().unwrap();
        assert_eq!(seen.len(), usize::try_from(n).unwrap(), "after {companion}");
    }
    let gone = |store: &mut Store, n| {
        let error = store.commit(&[Record::RunStarted(started(n, "tick"))]).unwrap_err();
        assert_eq!(error.problem, StoreProblem::Gone);
    };
    fs::remove_file(state.file()).unwrap();
    gone(&mut store, 10);
    let (mut store, _) = Store::open_or_replace(&state.dir).unwrap();
    fs::rename(state.file(), state.dir.join("elsewhere")).unwrap();
    fs::copy(state.dir.join("elsewhere"), state.file()).unwrap();
    gone(&mut store, 11);
}
