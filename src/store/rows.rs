//! A run as a row.
//!
//! Invariant: every field of [`Run`] has its column, and what is written reads
//! back equal.

use std::str::FromStr;

use rusqlite::{Connection, Row, Statement, named_params};
use sha2::{Digest, Sha256};

use super::error::StoreProblem;
use crate::base::{HarnessName, RunId, Wall};
use crate::wire::{Run, RunSkill, Stretch};

/// Reads runs; a condition and an order follow.
pub(super) const SELECT: &str = "
    SELECT r.id, r.harness, r.trigger, r.attempt, r.planned_at, r.started_at, r.ended_at, r.outcome, r.cause,
           r.exit_code, r.signal, r.pid, r.adapter, r.command, r.workdir, r.definition_hash, r.log,
           r.limit_until, r.lingered, r.missed_first, r.missed_last, r.missed_count,
           r.process_start, r.agent_version, r.git_before, r.git_after, r.report, r.dropped_bytes,
           s.list AS skills
    FROM runs AS r LEFT JOIN skill_sets AS s ON s.id = r.skills ";

/// Writes a run that is not there yet.
pub(super) const INSERT: &str = "
    INSERT INTO runs (id, harness, trigger, attempt, planned_at, started_at, ended_at, outcome, cause,
                      exit_code, signal, pid, adapter, command, workdir, definition_hash, log, skills,
                      limit_until, lingered, missed_first, missed_last, missed_count, process_start,
                      agent_version, git_before, git_after, report, dropped_bytes)
    VALUES (:id, :harness, :trigger, :attempt, :planned_at, :started_at, :ended_at, :outcome, :cause,
            :exit_code, :signal, :pid, :adapter, :command, :workdir, :definition_hash, :log, :skills,
            :limit_until, :lingered, :missed_first, :missed_last, :missed_count, :process_start,
            :agent_version, :git_before, :git_after, :report, :dropped_bytes)";

/// Follows [`INSERT`] where the run may be there already.
pub(super) const OR_REPLACE: &str = "
    ON CONFLICT (id) DO UPDATE SET
        harness = excluded.harness, trigger = excluded.trigger, attempt = excluded.attempt,
        planned_at = excluded.planned_at, started_at = excluded.started_at, ended_at = excluded.ended_at,
        outcome = excluded.outcome, cause = excluded.cause, exit_code = excluded.exit_code,
        signal = excluded.signal, pid = excluded.pid, adapter = excluded.adapter,
        command = excluded.command, workdir = excluded.workdir,
        definition_hash = excluded.definition_hash, log = excluded.log, skills = excluded.skills,
        limit_until = excluded.limit_until, lingered = excluded.lingered,
        missed_first = excluded.missed_first, missed_last = excluded.missed_last,
        missed_count = excluded.missed_count, process_start = excluded.process_start,
        agent_version = excluded.agent_version, git_before = excluded.git_before,
        git_after = excluded.git_after, report = excluded.report,
        dropped_bytes = excluded.dropped_bytes";

/// Executes [`INSERT`] with or without [`OR_REPLACE`]; how many rows it wrote.
pub(super) fn write(
    connection: &Connection,
    statement: &mut Statement<'_>,
    run: &Run,
) -> Result<usize, StoreProblem> {
    let written = statement.execute(named_params! {
        ":id": run.id.to_string(),
        ":harness": run.harness.as_str(),
        ":trigger": run.trigger.as_str(),
        ":attempt": run.attempt,
        ":planned_at": run.planned_at.map(|at| at.0),
        ":started_at": run.started_at.map(|at| at.0),
        ":ended_at": run.ended_at.map(|at| at.0),
        ":outcome": run.outcome.map(|outcome| outcome.as_str()),
        ":cause": run.cause,
        ":exit_code": run.exit_code,
        ":signal": run.signal,
        ":pid": run.pid,
        ":adapter": run.adapter,
        ":command": list_text(&run.command)?,
        ":workdir": run.workdir,
        ":definition_hash": run.definition_hash,
        ":log": run.log,
        ":skills": skill_set(connection, &run.skills)?,
        ":limit_until": run.until.map(|at| at.0),
        ":lingered": run.lingered,
        ":missed_first": run.missed.as_ref().map(|missed| missed.first.0),
        ":missed_last": run.missed.as_ref().map(|missed| missed.last.0),
        ":missed_count": run.missed.as_ref().map(|missed| missed.count),
        ":process_start": run.process_start,
        ":agent_version": run.agent_version,
        ":git_before": run.git_before,
        ":git_after": run.git_after,
        ":report": run.report,
        ":dropped_bytes": run.dropped_bytes,
    })?;
    Ok(written)
}

pub(super) fn list_text<T: serde::Serialize>(list: &[T]) -> Result<String, StoreProblem> {
    serde_json::to_string(list).map_err(|error| StoreProblem::Other(error.to_string()))
}

/// The number of a list of skills; none for the empty one.
pub(super) fn skill_set(connection: &Connection, skills: &[RunSkill]) -> Result<Option<i64>, StoreProblem> {
    if skills.is_empty() {
        return Ok(None);
    }
    let list = list_text(skills)?;
    let digest: [u8; 32] = Sha256::digest(&list).into();
    connection.execute(
        "INSERT INTO skill_sets (digest, list) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        (digest, &list),
    )?;
    let id =
        connection.query_row("SELECT id FROM skill_sets WHERE digest = ?1", [digest], |row| row.get(0))?;
    Ok(Some(id))
}

/// Reads a row of [`SELECT`].
pub(super) fn read(row: &Row<'_>) -> Result<Run, StoreProblem> {
    let id: String = row.get("id")?;
    let cells = Cells { row, id: &id };
    Ok(Run {
        id: cells.word("id")?,
        harness: cells.name("harness")?,
        trigger: cells.word("trigger")?,
        attempt: row.get("attempt")?,
        planned_at: cells.instant("planned_at")?,
        started_at: cells.instant("started_at")?,
        ended_at: cells.instant("ended_at")?,
        outcome: row.get::<_, Option<String>>("outcome")?.map(|_| cells.word("outcome")).transpose()?,
        cause: row.get("cause")?,
        until: cells.instant("limit_until")?,
        lingered: row.get("lingered")?,
        missed: cells.stretch()?,
        exit_code: row.get("exit_code")?,
        signal: row.get("signal")?,
        pid: row.get("pid")?,
        process_start: row.get("process_start")?,
        agent_version: row.get("agent_version")?,
        git_before: row.get("git_before")?,
        git_after: row.get("git_after")?,
        report: row.get("report")?,
        dropped_bytes: row.get("dropped_bytes")?,
        adapter: row.get("adapter")?,
        command: cells.list("command")?,
        workdir: row.get("workdir")?,
        definition_hash: row.get("definition_hash")?,
        log: row.get("log")?,
        skills: match row.get::<_, Option<String>>("skills")? {
            Some(_) => cells.list("skills")?,
            None => Vec::new(),
        },
    })
}

/// Texts that stand for something else.
struct Cells<'a> {
    row: &'a Row<'a>,
    id: &'a str,
}

impl Cells<'_> {
    fn bad(&self, column: &'static str, cause: impl ToString) -> StoreProblem {
        StoreProblem::BadRow { row: self.id.to_owned(), column, cause: cause.to_string() }
    }

    fn word<T: FromStr<Err: ToString>>(&self, column: &'static str) -> Result<T, StoreProblem> {
        let text: String = self.row.get(column)?;
        text.parse().map_err(|cause: T::Err| self.bad(column, cause))
    }

    fn name(&self, column: &'static str) -> Result<HarnessName, StoreProblem> {
        let text: String = self.row.get(column)?;
        HarnessName::parse(&text).map_err(|cause| self.bad(column, cause))
    }

    fn stretch(&self) -> Result<Option<Stretch>, StoreProblem> {
        let first = self.instant("missed_first")?;
        let last = self.instant("missed_last")?;
        let count: Option<u64> = self.row.get("missed_count")?;
        Ok(first.zip(last).zip(count).map(|((first, last), count)| Stretch { first, last, count }))
    }

    fn instant(&self, column: &'static str) -> Result<Option<Wall>, StoreProblem> {
        Ok(self.row.get::<_, Option<i64>>(column)?.map(Wall))
    }

    fn list<T: serde::de::DeserializeOwned>(&self, column: &'static str) -> Result<Vec<T>, StoreProblem> {
        let text: String = self.row.get(column)?;
        serde_json::from_str(&text).map_err(|cause| self.bad(column, cause))
    }
}

/// The id of a run in a column of its own.
pub(super) fn id(text: &str) -> Result<RunId, StoreProblem> {
    text.parse().map_err(|cause: <RunId as FromStr>::Err| StoreProblem::BadRow {
        row: text.to_owned(),
        column: "id",
        cause: cause.to_string(),
    })
}
