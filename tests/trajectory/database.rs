//! TRJ-1: a database of an agent is read in every state in which an agent may leave or hold it, and nothing
//! about its files changes by that.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::host::transcript::database::SessionDatabase;
use harnessd::trajectory::{Database, Head, Row, Watermark};
use rusqlite::Connection;
use serde_json::json;

use crate::agent::{Agent, written};

const LAYOUT: Database = Database {
    needs: &[("session", &["id", "changed"]), ("record", &["session", "at", "text"])],
    sessions: "SELECT id, changed FROM session ORDER BY id",
    head,
    records: "SELECT at, text FROM record WHERE session = :session AND at >= :time ORDER BY at",
};

fn head(row: &Row) -> Option<Head> {
    let id = row.get("id")?.as_str()?.to_owned();
    let changed = row.get("changed")?.as_i64()?;
    Some(Head { id, cwd: None, started_at: None, changed, parent: None })
}

struct Place {
    _dir: tempfile::TempDir,
    dir: Utf8PathBuf,
    path: Utf8PathBuf,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(temp.path()).unwrap().join("with #?% ü");
    fs::create_dir(&dir).unwrap();
    Place { path: dir.join("agent.db"), dir, _dir: temp }
}

/// Size, time of change, inode and contents of each file, and the directory's own time.
fn seen(dir: &Utf8Path) -> BTreeMap<String, (u64, i64, i64, u64, Vec<u8>)> {
    let look = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        let contents = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        (found.len(), found.mtime(), found.mtime_nsec(), found.ino(), contents)
    };
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut all: BTreeMap<_, _> = files.map(|path| (path.display().to_string(), look(&path))).collect();
    all.insert(".".to_owned(), look(dir.as_std_path()));
    all
}

/// What a whole reading gives, which leaves everything as it was.
fn read(place: &Place) -> Vec<String> {
    let before = seen(&place.dir);
    let mut rows = Vec::new();
    {
        let database = SessionDatabase::open(&place.path, &LAYOUT).unwrap().unwrap();
        assert_eq!(seen(&place.dir), before);
        database.sessions(&mut |row| rows.push(json!(row).to_string())).unwrap();
        assert_eq!(seen(&place.dir), before);
        let after = Watermark { time: 2, id: String::new() };
        database.records("s", &after, &mut |row| rows.push(json!(row).to_string())).unwrap();
        database.records("nobody", &after, &mut |_| panic!("it has no records")).unwrap();
        assert_eq!(seen(&place.dir), before);
    }
    assert_eq!(seen(&place.dir), before);
    rows
}

fn rows() -> Vec<String> {
    let rows = [
        r#"{"id":"s","changed":1}"#,
        r#"{"at":2,"text":null}"#,
        "{\"at\":3,\"text\":\"t\u{fffd}\"}",
        r#"{"at":4,"text":1.5}"#,
    ];
    rows.map(str::to_owned).to_vec()
}

/// An agent that writes all the time is never hindered, and what is read of it is of one moment.
#[test]
fn a_database_is_read_while_its_agent_writes() {
    let place = place();
    let layout = Database {
        sessions: "SELECT id, changed, (SELECT count(*) FROM record WHERE session = 'n') AS count FROM session",
        ..LAYOUT
    };
    let mut agent = Agent::begin(&place.path, "write");
    let (mut read, mut missed) = (0, Vec::new());
    while agent.lives() {
        let opened = SessionDatabase::open(&place.path, &layout).map(Option::unwrap);
        let done = opened.and_then(|database| {
            database.sessions(&mut |row| {
                assert_eq!(row["changed"].as_i64().unwrap(), row["count"].as_i64().unwrap() + 1);
                read += 1;
            })
        });
        missed.extend(done.err().map(|problem| problem.message));
    }
    agent.end();
    assert!(read > 0);
    missed
        .retain(|message| !["it was written while it was read", "it is locked"].contains(&message.as_str()));
    assert_eq!(missed, [""; 0]);
    // An agent that closes it while it is read leaves its log, as it does beside any other reader; nothing is
    // lost by that, and its next end clears it up.
    Connection::open(&place.path).unwrap().query_row(layout.sessions, [], |_| Ok(())).unwrap();
    let left: Vec<_> = fs::read_dir(&place.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["agent.db"]);
}

#[test]
fn a_database_without_a_log_is_read_and_none_is_made() {
    for mode in ["DELETE", "WAL"] {
        let place = place();
        drop(written(&place.path, mode));
        assert_eq!(fs::read_dir(&place.dir).unwrap().count(), 1);
        assert_eq!(read(&place), rows(), "{mode}");
    }
}

#[test]
fn a_database_is_read_while_its_agent_has_it_open() {
    let place = place();
    let agent = Agent::begin(&place.path, "hold");
    assert!(fs::metadata(format!("{}-wal", place.path)).unwrap().len() > 0);
    assert_eq!(read(&place), rows());
    agent.end();
    assert_eq!(read(&place), rows());
}

#[test]
fn a_transaction_that_is_open_is_not_seen() {
    let place = place();
    let agent = Agent::begin(&place.path, "transaction");
    assert_eq!(read(&place), rows());
    agent.kill();
    assert_eq!(read(&place), rows());
}

#[test]
fn a_database_is_read_after_its_agent_was_killed() {
    let place = place();
    Agent::begin(&place.path, "hold").kill();
    assert!(fs::metadata(format!("{}-wal", place.path)).unwrap().len() > 0);
    assert_eq!(read(&place), rows());
}

#[test]
fn a_database_is_read_after_an_end_that_left_its_log() {
    let place = place();
    Agent::begin(&place.path, "leave").end();
    assert!(fs::metadata(format!("{}-wal", place.path)).unwrap().len() > 0);
    assert!(fs::metadata(format!("{}-shm", place.path)).is_ok());
    assert_eq!(read(&place), rows());
}

#[test]
fn a_log_without_its_index_is_read_from_a_copy() {
    let place = place();
    Agent::begin(&place.path, "hold").kill();
    fs::remove_file(format!("{}-shm", place.path)).unwrap();
    assert_eq!(read(&place), rows());
}

#[test]
fn a_log_whose_index_is_no_index_is_read() {
    let place = place();
    Agent::begin(&place.path, "hold").kill();
    for index in [b"".as_slice(), b"garbage", &[0x5a; 32768]] {
        fs::write(format!("{}-shm", place.path), index).unwrap();
        assert_eq!(read(&place), rows());
    }
}

#[test]
fn a_transaction_that_was_cut_off_is_not_seen() {
    let place = place();
    Agent::begin(&place.path, "journal").kill();
    assert!(fs::metadata(format!("{}-journal", place.path)).unwrap().len() > 0);
    assert_eq!(read(&place), rows());
}

/// As root this shows the same by other means.
#[test]
fn a_database_in_a_directory_that_nobody_may_write_is_read() {
    for what in ["hold", "leave"] {
        let place = place();
        let agent = Agent::begin(&place.path, what);
        if what == "hold" {
            agent.kill()
        } else {
            agent.end()
        }
        for entry in fs::read_dir(&place.dir).unwrap() {
            fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(&place.dir, Permissions::from_mode(0o555)).unwrap();
        assert_eq!(read(&place), rows(), "{what}");
        fs::set_permissions(&place.dir, Permissions::from_mode(0o755)).unwrap();
    }
}

/// What is committed after it was opened is seen by the next statement.
#[test]
fn an_open_database_is_read_on() {
    let place = place();
    let agent = Agent::begin(&place.path, "hold");
    let database = SessionDatabase::open(&place.path, &LAYOUT).unwrap().unwrap();
    let count = || {
        let mut count = 0;
        database.sessions(&mut |_| count += 1).unwrap();
        count
    };
    assert_eq!(count(), 1);
    Agent::begin(&place.path, "add").end();
    assert_eq!(count(), 2);
    agent.end();
}

/// Without a log nobody is meant to write; if somebody does, what was handed out is of one state, or the
/// reading is begun again.
#[test]
fn a_writer_that_comes_between_is_noticed() {
    let place = place();
    let writer = written(&place.path, "WAL");
    writer
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO record SELECT 's', 10 + i, 'old' FROM n;",
        )
        .unwrap();
    drop(writer);
    let change = || {
        let writer = Connection::open(&place.path).unwrap();
        writer.execute("UPDATE record SET text = 'new' WHERE at > 10", []).unwrap();
    };
    let database = SessionDatabase::open(&place.path, &LAYOUT).unwrap().unwrap();
    let from = Watermark { time: 11, id: String::new() };
    // Before the first row: it is begun again.
    change();
    let (mut all, mut new) = (0, 0);
    database
        .records("s", &from, &mut |row| {
            all += 1;
            new += usize::from(row["text"] == "new");
        })
        .unwrap();
    assert_eq!((all, new), (2000, 2000));
    // Between rows: those before hold, and it is said.
    let mut texts = Vec::new();
    let halted = database.records("s", &from, &mut |row| {
        if texts.is_empty() {
            let writer = Connection::open(&place.path).unwrap();
            writer.execute("UPDATE record SET text = 'newer' WHERE at > 10", []).unwrap();
        }
        texts.push(row["text"].as_str().unwrap().to_owned());
    });
    assert_eq!(halted.unwrap_err().message, "it was written while it was read");
    assert_eq!(texts, vec!["new"; 256]);
}

/// Each is named, and nothing waits.
#[test]
fn what_is_no_database_is_said() {
    let place = place();
    let message = |place: &Place| {
        let before = fs::metadata(&place.path).ok().map(|found| (found.len(), found.mtime_nsec()));
        let unreadable = SessionDatabase::open(&place.path, &LAYOUT).unwrap_err();
        assert_eq!(fs::metadata(&place.path).ok().map(|found| (found.len(), found.mtime_nsec())), before);
        assert_eq!(unreadable.path, place.path);
        unreadable.message
    };
    assert!(SessionDatabase::open(&place.path, &LAYOUT).unwrap().is_none(), "no such file");
    fs::write(&place.path, "").unwrap();
    assert!(SessionDatabase::open(&place.path, &LAYOUT).unwrap().is_none(), "nothing in it yet");
    fs::write(&place.path, "short").unwrap();
    assert_eq!(message(&place), "it is no database");
    fs::write(&place.path, "long enough ".repeat(100)).unwrap();
    assert_eq!(message(&place), "it is no database");
    fs::remove_file(&place.path).unwrap();
    fs::create_dir(&place.path).unwrap();
    assert_eq!(message(&place), "it is a directory");
    fs::remove_dir(&place.path).unwrap();
    nix::unistd::mkfifo(place.path.as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(message(&place), "it is not a regular file");
    fs::remove_file(&place.path).unwrap();
    std::os::unix::fs::symlink(place.path.as_std_path(), place.path.as_std_path()).unwrap();
    assert!(message(&place).contains("symbolic links"), "a link to itself");
    fs::remove_file(&place.path).unwrap();
    drop(written(&place.path, "DELETE"));
    fs::set_permissions(&place.path, Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    if fs::File::open(&place.path).is_err() {
        assert_eq!(message(&place), "permission denied");
    }
    assert_eq!(fs::read_dir(&place.dir).unwrap().count(), 1);
}

#[test]
fn a_damaged_database_is_said() {
    let place = place();
    drop(written(&place.path, "DELETE"));
    let mut bytes = fs::read(&place.path).unwrap();
    bytes[100..4096].fill(0x5a);
    fs::write(&place.path, &bytes).unwrap();
    let unreadable = SessionDatabase::open(&place.path, &LAYOUT).unwrap_err();
    assert_eq!(unreadable.message, "it is damaged");
    // Only a table is: what can be read is.
    drop(fs::remove_file(&place.path));
    drop(written(&place.path, "DELETE"));
    let mut bytes = fs::read(&place.path).unwrap();
    bytes.truncate(8192);
    fs::write(&place.path, &bytes).unwrap();
    let database = SessionDatabase::open(&place.path, &LAYOUT);
    let read = database
        .map(|database| database.map(|database| database.records("s", &Watermark::default(), &mut |_| ())));
    assert!(!matches!(read, Ok(None)));
    assert_eq!(fs::read_dir(&place.dir).unwrap().count(), 1);
}

#[test]
fn an_unknown_schema_is_said() {
    for (schema, message) in [
        ("CREATE TABLE session (id, changed)", "its schema is unknown: it has no table `record`"),
        (
            "CREATE TABLE session (id, changed); CREATE TABLE record (session, at)",
            "its schema is unknown: the table `record` has no column `text`",
        ),
    ] {
        let place = place();
        Connection::open(&place.path).unwrap().execute_batch(schema).unwrap();
        let unreadable = SessionDatabase::open(&place.path, &LAYOUT).unwrap_err();
        assert_eq!(unreadable.message, message);
    }
    let place = place();
    Connection::open(&place.path).unwrap().execute_batch("CREATE TABLE t (x); DROP TABLE t").unwrap();
    assert!(SessionDatabase::open(&place.path, &LAYOUT).unwrap().is_none(), "nothing in it yet");
}

/// Nothing can be written through it, whatever a statement says.
#[test]
fn a_statement_that_writes_is_refused() {
    let place = place();
    Agent::begin(&place.path, "hold").kill();
    let layout = Database { sessions: "UPDATE session SET changed = 5 RETURNING id", ..LAYOUT };
    let before = seen(&place.dir);
    let database = SessionDatabase::open(&place.path, &layout).unwrap().unwrap();
    assert!(database.sessions(&mut |_| ()).is_err());
    drop(database);
    assert_eq!(seen(&place.dir), before);
}
