//! Questions about runs, and what is remembered across restarts.
//!
//! Invariant: every question is answered through an index; the newest run is the
//! one with the greatest id.

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::error::StoreProblem;
use super::rows;
use crate::base::{HarnessName, Outcome, RunId, Wall};
use crate::wire::Run;

/// The ids of the runs that have not ended. Left to itself SQLite reads through the larger index of all.
pub(super) const SELECT_OPEN: &str = "SELECT id FROM runs INDEXED BY runs_open WHERE outcome IS NULL";

/// Which runs are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunQuery {
    /// Only of this harness.
    pub harness: Option<HarnessName>,
    /// At most so many.
    pub limit: usize,
    /// Only those that did not go well: every outcome but `ok`, `stopped`, `replaced` and `skipped`.
    pub failed: bool,
    /// Only those that started (or, never started, were planned) at or after it.
    pub since: Option<Wall>,
}

impl Default for RunQuery {
    /// The 50 newest.
    fn default() -> Self {
        Self { harness: None, limit: 50, failed: false, since: None }
    }
}

/// What the store knows of the time before this start of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Harnesses that somebody started (`true`) or stopped (`false`).
    pub intents: BTreeMap<HarnessName, bool>,
    /// The last claimed slot of each schedule, with the expression of that time.
    pub last_firings: BTreeMap<HarnessName, (String, Wall)>,
    /// The last run of each harness that was started and has ended.
    pub last_runs: BTreeMap<HarnessName, Run>,
    /// The profile that was last used.
    pub profile: Option<String>,
}

/// Which runs the store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Their ids.
    pub ids: HashSet<RunId>,
    /// It was made then: it never knew of a run that was decided before.
    pub made_at: Wall,
}

pub(super) fn recorded(connection: &Connection) -> Result<Recorded, StoreProblem> {
    let made_at = connection
        .query_row("SELECT value FROM meta WHERE key = 'made_at'", [], |row| row.get(0))
        .optional()?;
    let known = ids(connection, "SELECT id FROM runs", Vec::new())?;
    // Without the fact nothing is old enough to be known.
    Ok(Recorded { ids: known.into_iter().collect(), made_at: made_at.map_or(Wall(i64::MAX), Wall) })
}

pub(super) fn runs(connection: &Connection, query: &RunQuery) -> Result<Vec<Run>, StoreProblem> {
    let (sql, values) = statement(query);
    many(connection, &sql, values)
}

pub(super) fn harnesses(connection: &Connection) -> Result<Vec<String>, StoreProblem> {
    let mut statement = connection.prepare("SELECT DISTINCT harness FROM runs ORDER BY harness")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

pub(super) fn counts(connection: &Connection) -> Result<Vec<(HarnessName, u64)>, StoreProblem> {
    let mut statement = connection.prepare("SELECT harness, count(*) FROM runs GROUP BY harness")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((name(&row.get::<_, String>(0)?)?, row.get(1)?));
    }
    Ok(found)
}

/// The question as SQL with its values.
pub(super) fn statement(query: &RunQuery) -> (String, Vec<Value>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    if let Some(harness) = &query.harness {
        conditions.push("r.harness = ?".to_owned());
        values.push(Value::from(harness.as_str().to_owned()));
    }
    if query.failed {
        let failures = Outcome::ALL.iter().filter(|outcome| outcome.is_failure());
        let words: Vec<String> = failures.map(|outcome| format!("'{outcome}'")).collect();
        conditions.push(format!("r.outcome IN ({})", words.join(", ")));
    }
    if let Some(since) = query.since {
        conditions.push("coalesce(r.started_at, r.planned_at, r.ended_at) >= ?".to_owned());
        values.push(Value::from(since.0));
    }
    let condition =
        if conditions.is_empty() { String::new() } else { format!("WHERE {} ", conditions.join(" AND ")) };
    values.push(Value::from(i64::try_from(query.limit).unwrap_or(i64::MAX)));
    (format!("{}{condition}ORDER BY r.id DESC LIMIT ?", rows::SELECT), values)
}

pub(super) fn open_runs(connection: &Connection) -> Result<Vec<Run>, StoreProblem> {
    let sql = format!("{}WHERE r.id IN ({SELECT_OPEN}) ORDER BY r.id", rows::SELECT);
    many(connection, &sql, Vec::new())
}

/// Runs that were closed by a later daemon, since nobody knows when they ended.
pub(super) fn lost_runs(connection: &Connection) -> Result<Vec<RunId>, StoreProblem> {
    ids(
        connection,
        "SELECT id FROM runs WHERE outcome = ?",
        vec![Value::from(Outcome::Lost.as_str().to_owned())],
    )
}

pub(super) fn open_runs_of(connection: &Connection, harness: &HarnessName) -> Result<Vec<Run>, StoreProblem> {
    let sql = format!("{}WHERE r.harness = ? AND r.outcome IS NULL ORDER BY r.id", rows::SELECT);
    many(connection, &sql, vec![Value::from(harness.as_str().to_owned())])
}

pub(super) fn run(connection: &Connection, id: RunId) -> Result<Option<Run>, StoreProblem> {
    let sql = format!("{}WHERE r.id = ?", rows::SELECT);
    Ok(many(connection, &sql, vec![Value::from(id.to_string())])?.pop())
}

/// The harness of a pruned run.
pub(super) fn window(connection: &Connection, id: RunId) -> Result<Option<HarnessName>, StoreProblem> {
    let found: Option<String> = connection
        .query_row("SELECT harness FROM windows WHERE id = ?1", [id.to_string()], |row| row.get(0))
        .optional()?;
    found.map(|text| name(&text)).transpose()
}

/// The ids that begin or end with `part`, newest first.
pub(super) fn ids_with(connection: &Connection, part: &str) -> Result<Vec<RunId>, StoreProblem> {
    let sql = "SELECT id FROM runs WHERE substr(id, 1, ?2) = ?1 OR substr(id, -?2) = ?1 ORDER BY id DESC";
    let length = i64::try_from(part.len()).unwrap_or(i64::MAX);
    ids(connection, sql, vec![Value::from(part.to_owned()), Value::from(length)])
}

/// The newest ids, at most `limit`.
pub(super) fn newest_ids(connection: &Connection, limit: u32) -> Result<Vec<RunId>, StoreProblem> {
    ids(connection, "SELECT id FROM runs ORDER BY id DESC LIMIT ?1", vec![Value::from(limit)])
}

fn ids(connection: &Connection, sql: &str, values: Vec<Value>) -> Result<Vec<RunId>, StoreProblem> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(rows::id(&row.get::<_, String>(0)?)?);
    }
    Ok(found)
}

pub(super) fn remembered(connection: &Connection) -> Result<Remembered, StoreProblem> {
    let mut remembered = Remembered::default();
    let mut statement = connection.prepare("SELECT harness, wanted FROM intents")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        remembered.intents.insert(name(&row.get::<_, String>(0)?)?, row.get(1)?);
    }
    let mut statement = connection.prepare("SELECT harness, expression, at FROM firings")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        remembered.last_firings.insert(name(&row.get::<_, String>(0)?)?, (row.get(1)?, Wall(row.get(2)?)));
    }
    let last = "WHERE r.id IN (
        SELECT (SELECT id FROM runs WHERE harness = h.harness AND outcome NOT IN ('skipped', 'missed') ORDER BY id DESC LIMIT 1)
        FROM (SELECT DISTINCT harness FROM runs) AS h)";
    for run in many(connection, &format!("{}{last}", rows::SELECT), Vec::new())? {
        remembered.last_runs.insert(run.harness.clone(), run);
    }
    let profile = "SELECT value FROM meta WHERE key = 'profile'";
    remembered.profile = connection.query_row(profile, [], |row| row.get(0)).optional()?;
    Ok(remembered)
}

fn name(text: &str) -> Result<HarnessName, StoreProblem> {
    HarnessName::parse(text).map_err(|cause| StoreProblem::BadRow {
        row: text.to_owned(),
        column: "harness",
        cause: cause.to_string(),
    })
}

fn many(connection: &Connection, sql: &str, values: Vec<Value>) -> Result<Vec<Run>, StoreProblem> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(rows::read(row)?);
    }
    Ok(found)
}
