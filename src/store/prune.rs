//! Forgetting old runs, but not when they were.
//!
//! Invariants: a run that has not ended is never pruned; of each pruned run that
//! was started its window stays for 400 days, and with it its trail (RUN-3, COR-6). Runs and slots that were not
//! run are counted apart, so that the skipped slots of a busy schedule never push
//! out the runs that somebody will ask for.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params};

use super::error::StoreProblem;
use super::rows;
use crate::base::{HarnessName, RunId, Wall};

/// How long the window of a pruned run is kept.
pub(super) const WINDOW: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// A run that is gone from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedRun {
    /// Its id.
    pub id: RunId,
    /// Its log, which nothing refers to any more.
    pub log: Option<String>,
}

/// What is counted together: the same bound holds for each.
const KINDS: [&str; 2] = ["outcome NOT IN ('skipped', 'missed')", "outcome IN ('skipped', 'missed')"];

/// The newest ended run of each kind that is one too many; none: nothing to prune.
///
/// An open run has no outcome and is of neither kind.
pub(super) fn boundaries(
    connection: &Connection,
    harness: &HarnessName,
    keep: u32,
) -> Result<[Option<String>; 2], StoreProblem> {
    let boundary = |kind: &str| {
        let sql =
            format!("SELECT id FROM runs WHERE harness = ?1 AND {kind} ORDER BY id DESC LIMIT 1 OFFSET ?2");
        let mut statement = connection.prepare_cached(&sql)?;
        Ok::<_, StoreProblem>(
            statement.query_row((harness.as_str(), keep), |row| row.get::<_, String>(0)).optional()?,
        )
    };
    Ok([boundary(KINDS[0])?, boundary(KINDS[1])?])
}

/// Reduces the runs of each kind up to its boundary to their windows, within the caller's transaction.
pub(super) fn prune(
    connection: &Connection,
    harness: &HarnessName,
    boundaries: &[Option<String>; 2],
    now: Wall,
) -> Result<Vec<PrunedRun>, StoreProblem> {
    let mut pruned = Vec::new();
    for (kind, boundary) in KINDS.iter().zip(boundaries) {
        if let Some(boundary) = boundary {
            let old = format!("harness = ?1 AND id <= ?2 AND {kind}");
            pruned.extend(reduce(connection, &old, (harness.as_str(), boundary))?);
        }
    }
    let mut statement = connection.prepare_cached("DELETE FROM windows WHERE ended_at < ?1 RETURNING id")?;
    let gone = statement.query_map([(now - WINDOW).0], |row| row.get::<_, String>(0))?;
    for run in gone.collect::<Result<Vec<_>, _>>()? {
        forget_trail(connection, &run)?;
    }
    Ok(pruned)
}

/// Removes what is older than any window of a harness that is gone: no new run of it makes an old one
/// one too many.
pub(super) fn expire(
    connection: &Connection,
    harness: &HarnessName,
    now: Wall,
) -> Result<Vec<PrunedRun>, StoreProblem> {
    let old = "harness = ?1 AND coalesce(ended_at, planned_at, 0) < ?2 AND outcome IS NOT NULL";
    reduce(connection, old, (harness.as_str(), (now - WINDOW).0))
}

/// Where the transcripts of a run lie is known as long as when it ran.
fn forget_trail(connection: &Connection, run: &str) -> Result<(), StoreProblem> {
    connection.prepare_cached("DELETE FROM trails WHERE run = ?1")?.execute([run])?;
    connection.prepare_cached("DELETE FROM evidence WHERE run = ?1")?.execute([run])?;
    Ok(())
}

fn reduce(
    connection: &Connection,
    old: &str,
    values: impl Params + Clone,
) -> Result<Vec<PrunedRun>, StoreProblem> {
    connection.execute(
        &format!(
            "INSERT OR IGNORE INTO windows (id, harness, adapter, workdir, started_at, ended_at)
             SELECT id, harness, adapter, workdir, started_at, ended_at FROM runs
             WHERE {old} AND started_at IS NOT NULL AND ended_at IS NOT NULL"
        ),
        values.clone(),
    )?;
    let mut pruned = Vec::new();
    let mut sets = Vec::new();
    {
        let mut statement =
            connection.prepare(&format!("DELETE FROM runs WHERE {old} RETURNING id, log, skills"))?;
        let mut gone = statement.query(values)?;
        while let Some(row) = gone.next()? {
            pruned.push(PrunedRun { id: rows::id(&row.get::<_, String>(0)?)?, log: row.get(1)? });
            sets.extend(row.get::<_, Option<i64>>(2)?);
        }
    }
    let unused = "DELETE FROM skill_sets WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE skills = ?1)";
    for set in sets {
        connection.execute(unused, [set])?;
    }
    Ok(pruned)
}
