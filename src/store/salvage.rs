//! What can still be read of a damaged store.
//!
//! Invariant: it never fails and leaves the file as it is; a row that makes no
//! sense, and what lies behind a page that cannot be read, is left out.

use std::collections::BTreeMap;

use camino::Utf8Path;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, Transaction};

use super::account::{self, Progress};
use super::error::StoreProblem;
use super::rows;
use super::schema::STEPS;
use super::write::Turn;
use crate::base::{HarnessName, RunId, Wall};
use crate::wire::{Record, Run, Trail};

/// Orders in which a table is read: each goes another way through the pages, so that what one of them
/// cannot pass another may reach from behind.
const WAYS: [&str; 4] = ["ORDER BY r.id", "ORDER BY r.id DESC", "ORDER BY r.rowid", "ORDER BY r.rowid DESC"];

/// What a new store can begin with.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    pub(super) runs: BTreeMap<RunId, Run>,
    pub(super) intents: BTreeMap<HarnessName, bool>,
    pub(super) firings: BTreeMap<HarnessName, (String, Wall)>,
    pub(super) windows: BTreeMap<String, Window>,
    trails: BTreeMap<RunId, Trail>,
    profile: Option<String>,
    account: Progress,
}

/// A row of `windows` as it stands.
#[derive(Debug)]
pub(super) struct Window {
    harness: String,
    adapter: String,
    workdir: Option<String>,
    started_at: i64,
    ended_at: i64,
}

/// Reads what can be read of the database at `path`.
pub(super) fn salvage(path: &Utf8Path) -> Salvage {
    let mut found = Salvage::default();
    let Some(connection) = open(path) else { return found };
    for way in WAYS {
        // The older of two contradicting rows is not known; the first that was met stays.
        each(&connection, &format!("{}{way}", rows::SELECT), |row| {
            let run = rows::read(row)?;
            found.runs.entry(run.id).or_insert(run);
            Ok(())
        });
    }
    each(&connection, "SELECT harness, wanted FROM intents", |row| {
        found.intents.insert(name(row)?, row.get(1)?);
        Ok(())
    });
    each(&connection, "SELECT harness, expression, at FROM firings", |row| {
        found.firings.insert(name(row)?, (row.get(1)?, Wall(row.get(2)?)));
        Ok(())
    });
    each(&connection, "SELECT value FROM meta WHERE key = 'profile'", |row| {
        found.profile = Some(row.get(0)?);
        Ok(())
    });
    let windows = "SELECT id, harness, adapter, workdir, started_at, ended_at FROM windows";
    each(&connection, windows, |row| {
        let window = Window {
            harness: row.get(1)?,
            adapter: row.get(2)?,
            workdir: row.get(3)?,
            started_at: row.get(4)?,
            ended_at: row.get(5)?,
        };
        found.windows.insert(row.get(0)?, window);
        Ok(())
    });
    each(&connection, "SELECT run, format, workdir, stores, session FROM trails", |row| {
        let trail = Trail {
            format: row.get(1)?,
            workdir: row.get(2)?,
            stores: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
            session: row.get(4)?,
        };
        found.trails.insert(rows::id(&row.get::<_, String>(0)?)?, trail);
        Ok(())
    });
    // How far streams were read, and which runs are settled, is left behind: calls that could not be read
    // are read of the agents' files again, and those that could are not counted twice.
    each(&connection, account::SESSIONS, |row| {
        account::session(row).map(|one| found.account.sessions.push(one))
    });
    each(&connection, account::CALLS, |row| account::call(row).map(|one| found.account.calls.push(one)));
    let evidence = "SELECT run, format, session, evidence FROM evidence";
    each(&connection, evidence, |row| account::evidence(row).map(|one| found.account.known.push(one)));
    found
}

/// For writing, so that its log counts and rows of an older version can be read as ours; nothing of that
/// is committed.
fn open(path: &Utf8Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).ok()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok()?;
    connection.execute_batch("BEGIN").ok()?;
    // The version may be what is damaged: each step is tried. One that was made already fails at its first
    // statement; the first statements of another add the columns, and of the rest nothing is needed for reading.
    for step in STEPS {
        let _as_far_as_it_goes = connection.execute_batch(step);
    }
    Some(connection)
}

/// Hands over rows until one cannot be reached; one that makes no sense is passed over.
fn each(connection: &Connection, sql: &str, mut take: impl FnMut(&Row<'_>) -> Result<(), StoreProblem>) {
    let Ok(mut statement) = connection.prepare(sql) else { return };
    let Ok(mut rows) = statement.query([]) else { return };
    while let Ok(Some(row)) = rows.next() {
        // A damaged store may hold anything; what is wrong with this row is in no way more than that.
        let _taken = take(row);
    }
}

fn name(row: &Row<'_>) -> Result<HarnessName, StoreProblem> {
    let text: String = row.get(0)?;
    HarnessName::parse(&text).map_err(|cause| StoreProblem::Other(cause.to_string()))
}

impl Salvage {
    /// Writes everything into a store that is new. Since when each harness was known is not taken over: of
    /// the time before now something may be lost (COR-4).
    pub(super) fn restore(self, transaction: &Transaction<'_>, now: Wall) -> Result<(), StoreProblem> {
        let mut turn = Turn::new(transaction);
        for run in self.runs.into_values() {
            turn.apply(&Record::RunEnded(run))?;
        }
        for (harness, wanted) in self.intents {
            turn.apply(&Record::Intent { harness, wanted })?;
        }
        for (harness, (expression, at)) in self.firings {
            turn.apply(&Record::Fired { harness, expression, at })?;
        }
        if let Some(name) = self.profile {
            turn.apply(&Record::Profile { name })?;
        }
        let sql = "INSERT INTO windows (id, harness, adapter, workdir, started_at, ended_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut statement = transaction.prepare(sql)?;
        for (id, window) in self.windows {
            let Window { harness, adapter, workdir, started_at, ended_at } = window;
            statement.execute((id, harness, adapter, workdir, started_at, ended_at))?;
        }
        for (run, trail) in self.trails {
            account::write_trail(transaction, run, &trail)?;
        }
        account::progress(transaction, &self.account, now)?;
        account::settle_lost(transaction)
    }
}
