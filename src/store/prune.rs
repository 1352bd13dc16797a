//! Forgetting old runs, but not when they were.
//!
//! Invariant: a run that has not ended is never pruned; of each pruned run that
//! was started its window stays for 400 days (RUN-3).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

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

/// The newest run that is one too many; none: nothing to prune.
pub(super) fn boundary(
    connection: &Connection,
    harness: &HarnessName,
    keep: u32,
) -> Result<Option<String>, StoreProblem> {
    let sql = "SELECT id FROM runs WHERE harness = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row((harness.as_str(), keep), |row| row.get(0)).optional()?)
}

/// Reduces the runs up to `boundary` to their windows, within the caller's transaction.
pub(super) fn prune(
    connection: &Connection,
    harness: &HarnessName,
    boundary: &str,
    now: Wall,
) -> Result<Vec<PrunedRun>, StoreProblem> {
    let old = "harness = ?1 AND id <= ?2 AND outcome IS NOT NULL";
    let values = (harness.as_str(), boundary);
    connection.execute(
        &format!(
            "INSERT OR IGNORE INTO windows (id, harness, adapter, workdir, started_at, ended_at)
             SELECT id, harness, adapter, workdir, started_at, ended_at FROM runs
             WHERE {old} AND started_at IS NOT NULL AND ended_at IS NOT NULL"
        ),
        values,
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
    connection.execute("DELETE FROM windows WHERE ended_at < ?1", [(now - WINDOW).0])?;
    Ok(pruned)
}
