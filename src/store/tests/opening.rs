//! Opening: what is made, what is refused, and looking without touching.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Barrier;
use std::thread;

use camino::Utf8Path;
use nix::unistd::{Gid, Uid, geteuid, setfsgid, setfsuid};

use super::{State, ended, name, started};
use crate::base::Outcome;
use crate::store::{RunQuery, Store, StoreProblem};
use crate::wire::Record;

/// Does `work` without root's privileges over files; ordinary users have none anyway.
fn as_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !geteuid().is_root() {
        return work();
    }
    // Only the thread's own file system identity changes, and the thread ends with the work.
    let thread = || {
        setfsgid(Gid::from_raw(65534));
        setfsuid(Uid::from_raw(65534));
        work()
    };
    thread::scope(|scope| scope.spawn(thread).join().unwrap())
}

/// Makes a state directory that anybody may read and nobody may write, for as long as `work` lasts.
fn read_only<T>(state: &State, work: impl FnOnce() -> T) -> T {
    let mode = |path: &Utf8Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(state.dir.parent().unwrap(), 0o755);
    for file in state.names() {
        mode(&state.dir.join(file), 0o444);
    }
    mode(&state.dir, 0o555);
    let done = work();
    mode(&state.dir, 0o755);
    done
}

/// CTL-12: what is recorded is for the user alone.
#[test]
fn the_store_is_made_for_its_owner_alone() {
    let state = State::new();
    drop(state.open());
    assert_eq!(fs::metadata(&state.dir).unwrap().mode() & 0o7777, 0o700);
    for file in state.names() {
        assert_eq!(fs::metadata(state.dir.join(&file)).unwrap().mode() & 0o7777, 0o600, "{file}");
    }
}

/// CTL-5: the store is in WAL mode, small in memory, and of a stated version.
#[test]
fn the_settings_of_the_store_are_in_force() {
    let state = State::new();
    let store = state.open();
    let connection = &store.writer.as_ref().unwrap().connection;
    let number =
        |pragma: &str| -> i64 { connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap() };
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(number("cache_size"), -256);
    assert_eq!(number("mmap_size"), 0);
    assert_eq!(number("busy_timeout"), 2000);
    assert_eq!(number("user_version"), 4);
}

/// Many processes may start at once: one makes the store, all of them find it.
#[test]
fn a_store_may_be_made_by_several_at_once() {
    for _ in 0..5 {
        let state = State::new();
        let gate = Barrier::new(6);
        thread::scope(|scope| {
            for n in 1..=6 {
                let (gate, dir) = (&gate, &state.dir);
                scope.spawn(move || {
                    gate.wait();
                    let mut store = Store::open(dir).unwrap();
                    store.commit(&[Record::RunStarted(started(n, "tick"))]).unwrap();
                });
            }
        });
        assert_eq!(state.open().open_runs().unwrap().len(), 6);
    }
}

/// CTL-5: whoever only looks makes nothing, and no store is no error.
#[test]
fn looking_creates_nothing() {
    let state = State::new();
    assert!(Store::open_read(&state.dir).unwrap().is_none());
    assert!(!state.dir.exists());
    fs::create_dir(&state.dir).unwrap();
    assert!(Store::open_read(&state.dir).unwrap().is_none());
    assert_eq!(state.names(), [""; 0]);

    // As another program leaves it: closed, without log and index.
    drop(state.open());
    state.open().commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    drop(state.raw());
    for file in ["state.db-wal", "state.db-shm"] {
        fs::remove_file(state.dir.join(file)).unwrap();
    }
    let store = Store::open_read(&state.dir).unwrap().unwrap();
    assert_eq!(store.open_runs(), Ok(vec![started(1, "tick")]));
    assert_eq!(state.names(), ["state.db"]);
}

/// CTL-5: a reader sees what a writer has committed, as soon as it has, and cannot write itself.
#[test]
fn a_reader_sees_what_a_writer_commits() {
    let state = State::new();
    let mut writer = state.open();
    let mut reader = Store::open_read(&state.dir).unwrap().unwrap();
    assert_eq!(reader.open_runs(), Ok(Vec::new()));
    writer.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    assert_eq!(reader.open_runs(), Ok(vec![started(1, "tick")]));
    drop(writer);
    assert_eq!(reader.open_runs(), Ok(vec![started(1, "tick")]));
    let error = reader.commit(&[Record::RunStarted(started(2, "tick"))]).unwrap_err();
    assert_eq!(error.to_string(), format!("state store `{}`: it was opened for reading only", state.file()));
    assert_eq!(reader.expire(&name("tick")), Err(error));
}

/// CTL-5: a reader keeps nothing open, so that it never hinders the writer.
#[test]
fn a_reader_that_lies_open_holds_no_lock() {
    let state = State::new();
    drop(state.open());
    let reader = Store::open_read(&state.dir).unwrap().unwrap();
    reader.runs(&RunQuery::default()).unwrap();
    assert!(reader.writer.is_none());
    let raw = state.raw();
    raw.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT").unwrap();
}

/// CTL-5: the store is readable where nothing can be written, with and without a writer, after a crash too.
#[test]
fn a_store_in_a_read_only_directory_is_readable() {
    let state = State::new();
    let mut writer = state.open();
    writer.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    let look = || as_ordinary_user(|| Store::open_read(&state.dir).unwrap().unwrap().open_runs());
    let expected = Ok(vec![started(1, "tick")]);
    assert_eq!(read_only(&state, look), expected, "beside a writer");

    // What a killed writer leaves: the same files with nobody behind them.
    let crashed = State::new();
    fs::create_dir(&crashed.dir).unwrap();
    for file in state.names() {
        fs::copy(state.dir.join(&file), crashed.dir.join(&file)).unwrap();
    }
    let look = || as_ordinary_user(|| Store::open_read(&crashed.dir).unwrap().unwrap().open_runs());
    assert_eq!(read_only(&crashed, look), expected, "after a crash");
    assert_eq!(look(), expected, "without its privileges");

    drop(writer);
    let look = || as_ordinary_user(|| Store::open_read(&state.dir).unwrap().unwrap().open_runs());
    assert_eq!(read_only(&state, look), expected, "closed");
    for file in ["state.db-wal", "state.db-shm"] {
        fs::remove_file(state.dir.join(file)).unwrap();
    }
    assert_eq!(read_only(&state, look), expected, "alone");
}

/// "An unwritable state directory": clear error, nothing made.
#[test]
fn an_unwritable_directory_is_said() {
    let state = State::new();
    let refused = |dir: &Utf8Path| as_ordinary_user(|| Store::open(dir).unwrap_err());
    fs::create_dir(&state.dir).unwrap();
    let error = read_only(&state, || refused(&state.dir));
    assert_eq!(
        error.to_string(),
        format!("state store `{}`: cannot be written: permission denied", state.file())
    );
    let help = "check owner and mode of the file and its directory, and whether its file system is mounted read-only";
    assert_eq!(error.body().help.as_deref(), Some(help));
    assert_eq!(state.names(), [""; 0]);

    drop(state.open());
    let error = read_only(&state, || refused(&state.dir));
    assert_eq!(error.problem, StoreProblem::NotWritable("permission denied".into()));

    let blocked = state.dir.join("file");
    fs::write(&blocked, "").unwrap();
    let error = Store::open(&blocked).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("state store `{blocked}/state.db`: cannot be written: its directory is a file")
    );
    assert!(Store::open_read(&blocked).unwrap().is_none());
}

/// A file that is no store of ours is refused for writing and for reading, and stays as it is.
#[test]
fn a_file_that_is_no_store_is_refused() {
    let refused = |state: &State| {
        let error = Store::open(&state.dir).unwrap_err();
        assert_eq!(Store::open_read(&state.dir).unwrap_err(), error);
        assert_eq!(error.path, state.file());
        error.to_string().replace(state.dir.as_str(), "DIR")
    };
    let text = State::new();
    fs::create_dir(&text.dir).unwrap();
    fs::write(text.file(), "not a database at all ".repeat(100)).unwrap();
    assert_eq!(refused(&text), "state store `DIR/state.db`: not a database");
    assert_eq!(fs::read_to_string(text.file()).unwrap(), "not a database at all ".repeat(100));

    let directory = State::new();
    fs::create_dir_all(directory.file()).unwrap();
    assert_eq!(refused(&directory), "state store `DIR/state.db`: cannot be opened: it is a directory");

    let foreign = State::new();
    fs::create_dir(&foreign.dir).unwrap();
    foreign.raw().execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(refused(&foreign), "state store `DIR/state.db`: a database of another program");
    assert_eq!(foreign.names(), ["state.db"]);
}

/// A store of a newer version is refused, with both versions, and left as it is.
#[test]
fn a_newer_store_is_refused() {
    let state = State::new();
    drop(state.open());
    state.raw().execute_batch("PRAGMA user_version = 7").unwrap();
    let error = Store::open(&state.dir).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "state store `{}`: its schema has version 7, this program knows versions up to 4",
            state.file()
        )
    );
    assert_eq!(
        error.body().help.as_deref(),
        Some("use the newer `harnessd` that wrote it, or another state directory")
    );
    assert_eq!(Store::open_read(&state.dir).unwrap_err(), error);
    let version: i64 = state.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 7);
}

/// A store that another program holds: the error names the file, and nothing is lost when it is free again.
#[test]
fn a_locked_store_is_said() {
    let state = State::new();
    let mut store = state.open();
    let other = state.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap_err();
    assert_eq!(error.to_string(), format!("state store `{}`: database is locked", state.file()));
    other.execute_batch("ROLLBACK").unwrap();
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    assert_eq!(store.open_runs().unwrap().len(), 1);
}

/// "A full disk": the turn is refused whole, what was there stays, and it goes on when there is room.
#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    let bound = |store: &Store, pages: i64| {
        let connection = &store.writer.as_ref().unwrap().connection;
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    bound(&store, 1);
    let turn: Vec<Record> = (2..500).map(|n| Record::RunEnded(ended(n, "tick", Outcome::Ok))).collect();
    let error = store.commit(&turn).unwrap_err();
    assert_eq!(error.to_string(), format!("state store `{}`: the disk is full", state.file()));
    assert_eq!(error.body().help.as_deref(), Some("free some space on that disk"));
    assert_eq!(store.runs(&RunQuery::default()), Ok(vec![started(1, "tick")]));
    bound(&store, 1 << 20);
    store.commit(&turn).unwrap();
    assert_eq!(store.runs(&RunQuery { limit: 1000, ..RunQuery::default() }).unwrap().len(), 499);
}

/// "A store on a read-only file system", while it runs: the turn is refused whole, and goes on when it can.
#[test]
fn a_store_that_becomes_read_only_is_said_and_loses_nothing() {
    let state = State::new();
    let mut store = state.open();
    let forbid = |store: &Store, wanted: bool| {
        let connection = &store.writer.as_ref().unwrap().connection;
        connection.pragma_update(None, "query_only", wanted).unwrap();
    };
    forbid(&store, true);
    let turn = [Record::RunStarted(started(1, "tick")), Record::RunStarted(started(2, "tick"))];
    let error = store.commit(&turn).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("state store `{}`: cannot be written: attempt to write a readonly database", state.file())
    );
    assert_eq!(store.open_runs(), Ok(Vec::new()));
    forbid(&store, false);
    store.commit(&turn).unwrap();
    assert_eq!(store.open_runs().unwrap().len(), 2);
}

/// A row that cannot be understood is named, not skipped.
#[test]
fn a_row_that_makes_no_sense_is_named() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    state.raw().execute_batch("UPDATE runs SET trigger = 'whim'").unwrap();
    assert_eq!(
        store.open_runs().unwrap_err().to_string(),
        format!(
            "state store `{}`: row `{}`, column `trigger`: `whim` is no trigger",
            state.file(),
            super::id(1)
        )
    );
}

/// Characters that mean something in a URI are only characters in a path.
#[test]
fn any_path_will_do() {
    let state = State::new();
    let odd = state.dir.join("a b?c#d%20é&mode=rwc");
    Store::open(&odd).unwrap().commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    for file in ["state.db-wal", "state.db-shm"] {
        fs::remove_file(odd.join(file)).unwrap();
    }
    assert_eq!(Store::open_read(&odd).unwrap().unwrap().open_runs().unwrap().len(), 1);
    let link = state.dir.join("link");
    symlink(&odd, &link).unwrap();
    assert_eq!(Store::open_read(&link).unwrap().unwrap().open_runs().unwrap().len(), 1);
}

/// A store whose file could not be written for a while is written again as soon as it can be: SQLite gives its empty
/// log the same mode, opens that for reading only even when the file may be written again, and stays at that.
#[test]
fn a_log_that_was_opened_for_reading_only_is_opened_again() {
    let state = State::new();
    fs::set_permissions(state.dir.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = as_ordinary_user(|| {
        drop(state.open());
        let log = state.dir.join("state.db-wal");
        fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
        fs::set_permissions(&log, fs::Permissions::from_mode(0o400)).unwrap();
        let mut store = state.open();
        let record = [Record::RunStarted(started(1, "tick"))];
        let refused = store.commit(&record).unwrap_err();
        assert!(store.is_read_only());
        state.open().commit(&record).unwrap();
        refused
    });
    assert!(matches!(refused.problem, StoreProblem::NotWritable(_)), "{refused}");
}
