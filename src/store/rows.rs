//! A run as a row.
//!
//! Invariant: every field of [`Run`] has its column, and what is written reads
//! back equal.

use std::str::FromStr;

use rusqlite::{Connection, Row, Statement, named_params};
use sha2::{Digest, Sha256};

use super::error::StoreProblem;
use crate::base::{HarnessName, RunId, Wall};
use crate::wire::{Run, RunSkill};

/// Reads runs; a condition and an order follow.
pub(super) const SELECT: &str = "
    SELECT r.id, r.harness, r.trigger, r.attempt, r.planned_at, r.started_at, r.ended_at, r.outcome, r.cause,
           r.exit_code, r.signal, r.pid, r.adapter, r.command, r.workdir, r.definition_hash, r.log,
           s.list AS skills
    FROM runs AS r LEFT JOIN skill_sets AS s ON s.id = r.skills ";

/// Writes a run that is not there yet.
pub(super) const INSERT: &str = "
    INSERT INTO runs (id, harness, trigger, attempt, planned_at, started_at, ended_at, outcome, cause,
                      exit_code, signal, pid, adapter, command, workdir, definition_hash, log, skills)
    VALUES (:id, :harness, :trigger, :attempt, :planned_at, :started_at, :ended_at, :outcome, :cause,
            :exit_code, :signal, :pid, :adapter, :command, :workdir, :definition_hash, :log, :skills)";

/// Follows [`INSERT`] where the run may be there already.
pub(super) const OR_REPLACE: &str = "
    ON CONFLICT (id) DO UPDATE SET
        harness = excluded.harness, trigger = excluded.trigger, attempt = excluded.attempt,
        planned_at = excluded.planned_at, started_at = excluded.started_at, ended_at = excluded.ended_at,
        outcome = excluded.outcome, cause = excluded.cause, exit_code = excluded.exit_code,
        signal = excluded.signal, pid = excluded.pid, adapter = excluded.adapter,
        command = excluded.command, workdir = excluded.workdir,
        definition_hash = excluded.definition_hash, log = excluded.log, skills = excluded.skills";

/// Executes [`INSERT`] with or without [`OR_REPLACE`].
pub(super) fn write(
    connection: &Connection,
    statement: &mut Statement<'_>,
    run: &Run,
) -> Result<(), StoreProblem> {
    statement.execute(named_params! {
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
    })?;
    Ok(())
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
        exit_code: row.get("exit_code")?,
        signal: row.get("signal")?,
        pid: row.get("pid")?,
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
