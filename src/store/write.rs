//! Applying one turn's records.
//!
//! Invariant: within the caller's transaction; the first record that cannot be
//! applied fails them all.

use rusqlite::{CachedStatement, Connection};

use super::account;
use super::error::StoreProblem;
use super::rows;
use crate::wire::{Launched, Record};

/// Follows [`rows::INSERT`] and [`rows::OR_REPLACE`]: only a run that was queued is started later.
const IF_QUEUED: &str = " WHERE runs.started_at IS NULL AND runs.outcome IS NULL";
const SPAWNED: &str = "
    UPDATE runs SET pid = ?2, command = ?3, workdir = coalesce(?4, workdir), log = coalesce(?5, log), skills = ?6,
                    process_start = nullif(?7, 0), report = ?8, git_before = ?9
    WHERE id = ?1";
const FIRED: &str = "
    INSERT INTO firings (harness, expression, at) VALUES (?1, ?2, ?3)
    ON CONFLICT (harness) DO UPDATE SET expression = excluded.expression, at = excluded.at";
const INTENT: &str = "
    INSERT INTO intents (harness, wanted) VALUES (?1, ?2)
    ON CONFLICT (harness) DO UPDATE SET wanted = excluded.wanted";
const PROFILE: &str = "
    INSERT INTO meta (key, value) VALUES ('profile', ?1)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// The statements that a turn needs; the connection keeps them for the next one.
pub(super) struct Turn<'c> {
    connection: &'c Connection,
    started: Option<CachedStatement<'c>>,
    spawned: Option<CachedStatement<'c>>,
    ended: Option<CachedStatement<'c>>,
    fired: Option<CachedStatement<'c>>,
    intent: Option<CachedStatement<'c>>,
}

impl<'c> Turn<'c> {
    pub(super) const fn new(connection: &'c Connection) -> Self {
        Self { connection, started: None, spawned: None, ended: None, fired: None, intent: None }
    }

    pub(super) fn apply(&mut self, record: &Record) -> Result<(), StoreProblem> {
        let connection = self.connection;
        match record {
            Record::RunStarted(run) => {
                let sql = [rows::INSERT, rows::OR_REPLACE, IF_QUEUED].concat();
                if rows::write(connection, prepared(&mut self.started, connection, &sql)?, run)? == 0 {
                    return Err(StoreProblem::Recorded(run.id));
                }
                run.started_at.map_or(Ok(()), |at| account::see(connection, &run.harness, at))
            }
            Record::RunQueued(run) | Record::Skipped(run) => {
                let sql = [rows::INSERT, " ON CONFLICT (id) DO NOTHING"].concat();
                match rows::write(connection, &mut *connection.prepare_cached(&sql)?, run)? {
                    0 => Err(StoreProblem::Recorded(run.id)),
                    _ => Ok(()),
                }
            }
            Record::RunEnded(run) => {
                let sql = [rows::INSERT, rows::OR_REPLACE].concat();
                rows::write(connection, prepared(&mut self.ended, connection, &sql)?, run).map(drop)
            }
            Record::RunLost(run) => {
                // Rare, so it is not kept prepared. Whoever has closed it meanwhile knew better.
                let sql = [rows::INSERT, rows::OR_REPLACE, " WHERE runs.outcome IS NULL"].concat();
                rows::write(connection, &mut connection.prepare(&sql)?, run).map(drop)
            }
            Record::RunVersion { id, version } => {
                // A program may be slow to tell its version: a run that is pruned by then needs none.
                let sql = "UPDATE runs SET agent_version = ?2 WHERE id = ?1";
                connection.prepare_cached(sql)?.execute((id.to_string(), version))?;
                Ok(())
            }
            Record::RunSpawned { id, facts } => {
                let Launched { pid, process_start, command, workdir, log, skills, report, git_before, trail } =
                    facts;
                let (command, skills) = (rows::list_text(command)?, rows::skill_set(connection, skills)?);
                let id_text = id.to_string();
                let values = (id_text, pid, command, workdir, log, skills, process_start, report, git_before);
                if prepared(&mut self.spawned, connection, SPAWNED)?.execute(values)? == 0 {
                    return Err(StoreProblem::NoSuchRun(*id));
                }
                trail.as_ref().map_or(Ok(()), |trail| account::write_trail(connection, *id, trail))
            }
            Record::Fired { harness, expression, at } => {
                let values = (harness.as_str(), expression, at.0);
                prepared(&mut self.fired, connection, FIRED)?.execute(values)?;
                Ok(())
            }
            Record::Disarmed { harness } => {
                connection
                    .prepare_cached("DELETE FROM firings WHERE harness = ?1")?
                    .execute([harness.as_str()])?;
                Ok(())
            }
            Record::Intent { harness, wanted } => {
                prepared(&mut self.intent, connection, INTENT)?.execute((harness.as_str(), wanted))?;
                Ok(())
            }
            Record::Profile { name } => {
                connection.prepare_cached(PROFILE)?.execute([name])?;
                Ok(())
            }
        }
    }
}

fn prepared<'s, 'c>(
    slot: &'s mut Option<CachedStatement<'c>>,
    connection: &'c Connection,
    sql: &str,
) -> Result<&'s mut CachedStatement<'c>, StoreProblem> {
    let statement = match slot.take() {
        Some(statement) => statement,
        None => connection.prepare_cached(sql)?,
    };
    Ok(slot.insert(statement))
}
