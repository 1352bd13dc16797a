//! The tables and their versions.
//!
//! Invariant: a step, once released, never changes; `user_version` counts the
//! steps that a file has seen, and a file that has seen more than we know is
//! left alone.

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreProblem;

/// Marks the file as ours (`hrns`).
const APPLICATION: i32 = 0x6872_6e73;

/// No program will ever have made so many steps: a greater version is damage.
const PLAUSIBLE: i64 = 1000;

/// Step `n` leads from version `n` to `n + 1`.
///
/// Version 1: instants are microseconds since 1970; a list is a JSON array;
/// equal lists of skills are kept once; of a pruned run its window stays.
///
/// Version 2: what an agent states of its end, watchdogs, missed stretches and
/// receipts. `meta` holds facts about the store itself: `made_at`, before which
/// it knows of no run; `profile`, the one in use, came later and is absent until one is used. The index of a harness's runs holds the outcome too, so
/// that runs and slots that were not run are counted apart without reading rows.
///
/// Version 3: where the transcripts of a run lie, what was read of them and how far, what ties sessions to
/// runs, and since when each harness is known. A call belongs to a session by number, as its store's path
/// is long and calls are many; `written_at` and `read_at` say when a row was last of use.
pub(super) const STEPS: &[&str] = &[
    "
    CREATE TABLE skill_sets (
        id     INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        list   TEXT NOT NULL
    ) STRICT;

    CREATE TABLE runs (
        id              TEXT NOT NULL PRIMARY KEY,
        harness         TEXT NOT NULL,
        trigger         TEXT NOT NULL,
        attempt         INTEGER NOT NULL,
        planned_at      INTEGER,
        started_at      INTEGER,
        ended_at        INTEGER,
        outcome         TEXT,
        cause           TEXT,
        exit_code       INTEGER,
        signal          TEXT,
        pid             INTEGER,
        adapter         TEXT NOT NULL,
        command         TEXT NOT NULL,
        workdir         TEXT,
        definition_hash TEXT NOT NULL,
        log             TEXT,
        skills          INTEGER REFERENCES skill_sets (id)
    ) STRICT;
    CREATE INDEX runs_by_harness ON runs (harness, id);
    CREATE INDEX runs_open ON runs (id) WHERE outcome IS NULL;
    CREATE INDEX runs_by_skills ON runs (skills) WHERE skills IS NOT NULL;

    CREATE TABLE firings (
        harness    TEXT NOT NULL PRIMARY KEY,
        expression TEXT NOT NULL,
        at         INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE intents (
        harness TEXT NOT NULL PRIMARY KEY,
        wanted  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE windows (
        id         TEXT NOT NULL PRIMARY KEY,
        harness    TEXT NOT NULL,
        adapter    TEXT NOT NULL,
        workdir    TEXT,
        started_at INTEGER NOT NULL,
        ended_at   INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX windows_by_end ON windows (ended_at);
",
    "
    ALTER TABLE runs ADD COLUMN limit_until INTEGER;
    ALTER TABLE runs ADD COLUMN lingered INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN missed_first INTEGER;
    ALTER TABLE runs ADD COLUMN missed_last INTEGER;
    ALTER TABLE runs ADD COLUMN missed_count INTEGER;
    ALTER TABLE runs ADD COLUMN process_start INTEGER;
    ALTER TABLE runs ADD COLUMN agent_version TEXT;
    ALTER TABLE runs ADD COLUMN git_before TEXT;
    ALTER TABLE runs ADD COLUMN git_after TEXT;
    ALTER TABLE runs ADD COLUMN report TEXT;
    ALTER TABLE runs ADD COLUMN dropped_bytes INTEGER NOT NULL DEFAULT 0;

    DROP INDEX runs_by_harness;
    CREATE INDEX runs_by_harness ON runs (harness, id, outcome);

    CREATE TABLE meta (
        key   TEXT NOT NULL PRIMARY KEY,
        value ANY NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO meta (key, value) VALUES ('made_at', CAST(unixepoch('subsec') * 1000000 AS INTEGER));
",
    "
    CREATE TABLE trails (
        run     TEXT NOT NULL PRIMARY KEY,
        format  TEXT,
        workdir TEXT,
        stores  TEXT NOT NULL,
        session TEXT,
        settled INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX trails_unsettled ON trails (run) WHERE settled = 0 AND format IS NOT NULL;

    CREATE TABLE sessions (
        number     INTEGER PRIMARY KEY,
        format     TEXT NOT NULL,
        store      TEXT NOT NULL,
        id         TEXT NOT NULL,
        streams    TEXT NOT NULL,
        parent     TEXT,
        kinship    TEXT,
        cwd        TEXT,
        started_at INTEGER,
        last_at    INTEGER,
        models     TEXT NOT NULL,
        written_at INTEGER NOT NULL,
        UNIQUE (format, store, id)
    ) STRICT;
    CREATE INDEX sessions_by_cwd ON sessions (cwd);
    CREATE INDEX sessions_by_end ON sessions (coalesce(last_at, started_at, 9223372036854775807));

    CREATE TABLE calls (
        format   TEXT NOT NULL,
        key      TEXT NOT NULL,
        session  INTEGER NOT NULL REFERENCES sessions (number),
        at       INTEGER NOT NULL,
        model    TEXT,
        input    INTEGER,
        cached   INTEGER,
        output   INTEGER,
        cost_usd REAL,
        PRIMARY KEY (format, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX calls_by_time ON calls (at);
    CREATE INDEX calls_by_session ON calls (session, at);

    CREATE TABLE cursors (
        format  TEXT NOT NULL,
        store   TEXT NOT NULL,
        stream  TEXT NOT NULL,
        device  INTEGER NOT NULL,
        inode   INTEGER NOT NULL,
        offset  INTEGER NOT NULL,
        stamp   TEXT NOT NULL,
        decoder TEXT NOT NULL,
        read_at INTEGER NOT NULL,
        PRIMARY KEY (format, store, stream)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE evidence (
        run      TEXT NOT NULL,
        format   TEXT NOT NULL,
        session  TEXT NOT NULL,
        evidence TEXT NOT NULL,
        PRIMARY KEY (run, format, session, evidence)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE seen (
        harness    TEXT NOT NULL PRIMARY KEY,
        first_seen INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO seen (harness, first_seen)
        SELECT harness, coalesce((SELECT value FROM meta WHERE key = 'made_at'),
                                 CAST(unixepoch('subsec') * 1000000 AS INTEGER))
        FROM (SELECT harness FROM runs UNION SELECT harness FROM windows);
",
];

/// The newest version that this program knows.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// How far a file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Nothing is in it yet.
    Empty,
    /// An earlier version of ours.
    Older,
    /// What this program reads and writes.
    Current,
}

/// Whose file it is and how old, without touching it.
pub(super) fn version(connection: &Connection) -> Result<Version, StoreProblem> {
    // The mark is read last: another process may be making the store just now, and what was read of
    // a file that has no mark yet was read before there was anything in it.
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION {
        let own =
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs', 'firings', 'intents', 'windows')";
        return match connection.query_row(own, [], |row| row.get(0))? {
            0_i64 if application == 0 && found == 0 && tables == 0 => Ok(Version::Empty),
            4 => Err(StoreProblem::Damaged("its mark is not ours, its tables are".to_owned())),
            _ => Err(StoreProblem::Foreign),
        };
    }
    // The same for the version: the mark may have come after it was read.
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        _ if found == known() => Ok(Version::Current),
        _ if found > PLAUSIBLE => Err(StoreProblem::Damaged(format!("its schema has version {found}"))),
        _ if found > known() => Err(StoreProblem::Newer { found, known: known() }),
        _ => Ok(Version::Older),
    }
}

/// Makes a file as an older program did.
#[cfg(test)]
pub(super) fn make(connection: &Connection, version: usize) {
    STEPS[..version].iter().for_each(|step| connection.execute_batch(step).unwrap());
    connection.pragma_update(None, "application_id", APPLICATION).unwrap();
    connection.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
}

/// Brings a file to the newest version; all steps or none.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreProblem> {
    if version(connection)? == Version::Current {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while we waited for the lock.
    if version(&transaction)? != Version::Current {
        let seen: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for step in STEPS.iter().skip(usize::try_from(seen).unwrap_or(0)) {
            // A step fits every file of its version; one that it does not fit is none.
            transaction.execute_batch(step).map_err(|cause| match StoreProblem::from(cause) {
                StoreProblem::Other(text) => StoreProblem::Damaged(text),
                other => other,
            })?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", known())?;
    }
    transaction.commit()?;
    Ok(())
}
