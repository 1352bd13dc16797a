//! An agent that has its database open: another process, since locks and maps are a process's own.

use std::env;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Where the child finds its database, and what it is to do with it; in no other process they are set.
const DATABASE: &str = "HARNESSD_TEST_AGENT_DATABASE";
const WHAT: &str = "HARNESSD_TEST_AGENT_WHAT";

const SCHEMA: &str = "
CREATE TABLE session (id TEXT PRIMARY KEY, changed INTEGER);
CREATE TABLE record (session TEXT, at INTEGER, text);
INSERT INTO session VALUES ('s', 1);
INSERT INTO record VALUES ('s', 1, 'one'), ('s', 2, NULL), ('s', 3, x'74ff'), ('s', 4, 1.5), ('t', 5, 'other');";

/// A database in this journal mode, and the connection that wrote it.
pub(crate) fn written(path: &Utf8Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// Another process that has the database open, and what it does on the way.
pub(crate) struct Agent(Child, Lines<BufReader<ChildStdout>>);

impl Agent {
    /// Begins one; on return it has done `what` and waits.
    pub(crate) fn begin(path: &Utf8Path, what: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "agent::child_that_has_the_database_open", "--nocapture"])
            .env(DATABASE, path)
            .env(WHAT, what)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("AGENT-WAITS")), "the agent waits");
        Self(child, lines)
    }

    pub(crate) fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn end(mut self) {
        drop(self.0.stdin.take());
        self.1.by_ref().for_each(drop);
        assert!(self.0.wait().unwrap().success());
    }
}

/// The other process.
#[test]
fn child_that_has_the_database_open() {
    let (Ok(path), Ok(what)) = (env::var(DATABASE), env::var(WHAT)) else { return };
    let path = Utf8PathBuf::from(path);
    let connection = match what.as_str() {
        "add" => Connection::open(&path).unwrap(),
        "journal" => written(&path, "DELETE"),
        _ => written(&path, "WAL"),
    };
    match what.as_str() {
        // More than the cache holds, so that changed pages are on the disk.
        "journal" | "transaction" => {
            connection.pragma_update(None, "cache_size", 2).unwrap();
            connection
                .execute_batch(
                    "BEGIN; UPDATE record SET text = 'changed'; UPDATE session SET changed = 9;
                     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                     INSERT INTO record SELECT 's', 10 + i, hex(zeroblob(200)) FROM n;",
                )
                .unwrap();
        }
        "add" => drop(connection.execute("INSERT INTO session VALUES ('u', 2)", []).unwrap()),
        "leave" => {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        }
        _ => {}
    }
    println!("AGENT-WAITS");
    if what == "write" {
        drop(connection);
        return (0..150).for_each(|turn| write(&path, turn));
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// One turn of an agent that opens its database, writes and closes it: so the log comes and goes.
fn write(path: &Utf8Path, turn: u32) {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 1 + turn % 3, |_| Ok(())).unwrap();
    for _ in 0..4 {
        connection
            .execute_batch(
                "BEGIN; UPDATE session SET changed = changed + 1;
                 INSERT INTO record SELECT 'n', changed, hex(zeroblob(500)) FROM session; COMMIT",
            )
            .unwrap();
    }
}
