//! Writing the account, and forgetting of it what is too old.
//!
//! Invariants: within the caller's transaction; what is written twice is there once; a number that a
//! transcript states, whatever it is, keeps no other row out.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{CallRow, Cursor, Progress, SessionRow};
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::Known;
use crate::store::error::StoreProblem;
use crate::store::prune::WINDOW;
use crate::store::rows::list_text;
use crate::wire::Trail;

const TRAIL: &str = "
    INSERT INTO trails (run, format, workdir, stores, session) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (run) DO UPDATE SET
        format = excluded.format, workdir = excluded.workdir, stores = excluded.stores, session = excluded.session";

/// What a record does not say again stays as it was known.
const SESSION: &str = "
    INSERT INTO sessions (format, store, id, streams, parent, kinship, cwd, started_at, last_at, models, written_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (format, store, id) DO UPDATE SET
        streams = excluded.streams, models = excluded.models, written_at = excluded.written_at,
        parent = coalesce(excluded.parent, parent), kinship = coalesce(excluded.kinship, kinship),
        cwd = coalesce(excluded.cwd, cwd), started_at = coalesce(excluded.started_at, started_at),
        last_at = nullif(max(coalesce(excluded.last_at, ?12), coalesce(last_at, ?12)), ?12)
    RETURNING number";

/// A call is its first session's for good; only there its time may still change.
const CALL: &str = "
    INSERT INTO calls (format, key, session, at, model, input, cached, output, cost_usd)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (format, key) DO UPDATE SET
        at = iif(session = excluded.session, excluded.at, at), model = coalesce(excluded.model, model),
        input = excluded.input, cached = excluded.cached, output = excluded.output, cost_usd = excluded.cost_usd";

/// An older state of the same file changes nothing, unless the file is shorter by now (its stamp begins with
/// its size) than what was read of it: then it was begun anew.
const CURSOR: &str = "
    INSERT INTO cursors (format, store, stream, device, inode, offset, stamp, decoder, read_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (format, store, stream) DO UPDATE SET
        device = excluded.device, inode = excluded.inode, offset = excluded.offset, stamp = excluded.stamp,
        decoder = excluded.decoder, read_at = excluded.read_at
    WHERE excluded.offset >= offset OR excluded.device <> device OR excluded.inode <> inode
       OR CAST(excluded.stamp AS INTEGER) BETWEEN excluded.offset AND offset - 1";

/// Where the transcripts of a run lie.
pub(in crate::store) fn write_trail(
    connection: &Connection,
    run: RunId,
    trail: &Trail,
) -> Result<(), StoreProblem> {
    let Trail { format, workdir, stores, session } = trail;
    let values = (run.to_string(), format, workdir, list_text(stores)?, session);
    connection.prepare_cached(TRAIL)?.execute(values)?;
    Ok(())
}

/// Before this the store knows nothing of the harness. One that is older than the store was known to
/// another store, of which this one has not everything.
pub(in crate::store) fn see(
    connection: &Connection,
    harness: &HarnessName,
    at: Wall,
) -> Result<(), StoreProblem> {
    let sql = "INSERT OR IGNORE INTO seen (harness, first_seen)
               VALUES (?1, max(?2, coalesce((SELECT value FROM meta WHERE key = 'made_at'), ?2)))";
    connection.prepare_cached(sql)?.execute((harness.as_str(), at.0))?;
    Ok(())
}

/// Whether these harnesses are known already, and no others.
pub(super) fn knows(connection: &Connection, configured: &[HarnessName]) -> Result<bool, StoreProblem> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM seen WHERE harness = ?1")?;
    for harness in configured {
        if !statement.exists([harness.as_str()])? {
            return Ok(false);
        }
    }
    let all: usize = connection.query_row("SELECT count(*) FROM seen", [], |row| row.get(0))?;
    Ok(all == configured.len())
}

pub(super) fn see_all(
    connection: &Connection,
    configured: &[HarnessName],
    at: Wall,
) -> Result<(), StoreProblem> {
    for harness in configured {
        see(connection, harness, at)?;
    }
    let traceless = "SELECT harness FROM seen AS s
                     WHERE NOT EXISTS (SELECT 1 FROM runs WHERE harness = s.harness)
                       AND NOT EXISTS (SELECT 1 FROM windows WHERE harness = s.harness)";
    let mut statement = connection.prepare(traceless)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names.iter().filter(|name| !configured.iter().any(|one| one.as_str() == name.as_str())) {
        connection.execute("DELETE FROM seen WHERE harness = ?1", [name])?;
    }
    Ok(())
}

/// What ties a session to a run.
fn write_known(connection: &Connection, known: &Known) -> Result<(), StoreProblem> {
    let sql = "INSERT OR IGNORE INTO evidence (run, format, session, evidence) VALUES (?1, ?2, ?3, ?4)";
    let Known { run, format, session, evidence } = known;
    let values = (run.to_string(), format.as_str(), session, evidence.as_str());
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// What one look brought.
pub(in crate::store) fn progress(
    connection: &Connection,
    brought: &Progress,
    now: Wall,
) -> Result<(), StoreProblem> {
    let Progress { sessions, cursors, calls, known, settled } = brought;
    for session in sessions {
        write_session(connection, session, now)?;
    }
    let mut numbers = HashMap::new();
    // In the order of the index each page of it is looked at once; equal keys stay in the order of their looks.
    let mut calls: Vec<&CallRow> = calls.iter().collect();
    calls.sort_by(|one, other| (one.format, &one.key).cmp(&(other.format, &other.key)));
    for call in calls {
        let session = (call.format, call.store.as_str(), call.session.as_str());
        let number = match numbers.get(&session) {
            Some(number) => *number,
            None => *numbers.entry(session).or_insert(session_of(connection, call, now)?),
        };
        write_call(connection, number, call)?;
    }
    cursors.iter().try_for_each(|cursor| write_cursor(connection, cursor, now))?;
    known.iter().try_for_each(|known| write_known(connection, known))?;
    let mut statement = connection.prepare_cached("UPDATE trails SET settled = 1 WHERE run = ?1")?;
    for run in settled {
        statement.execute([run.to_string()])?;
    }
    Ok(())
}

/// The lists of a session are joined with what is there: a session that is continued elsewhere has not
/// lost its older streams.
fn write_session(connection: &Connection, session: &SessionRow, now: Wall) -> Result<i64, StoreProblem> {
    let SessionRow { format, id, store, streams, parent, cwd, started_at, last_at, models } = session;
    let sql = "SELECT streams, models FROM sessions WHERE format = ?1 AND store = ?2 AND id = ?3";
    let before: Option<(String, String)> = connection
        .prepare_cached(sql)?
        .query_row((format.as_str(), store, id), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (old_streams, old_models) = before.unwrap_or_default();
    let number = connection.prepare_cached(SESSION)?.query_row(
        params![
            format.as_str(),
            store,
            id,
            joined(&old_streams, streams)?,
            parent.as_ref().map(|parent| &parent.id),
            parent.as_ref().map(|parent| parent.kinship.as_str()),
            cwd,
            started_at.map(|at| at.0),
            last_at.map(|at| at.0),
            joined(&old_models, models)?,
            now.0,
            i64::MIN,
        ],
        |row| row.get(0),
    )?;
    Ok(number)
}

/// A list as it is kept, with what is new of another.
fn joined(kept: &str, new: &[String]) -> Result<String, StoreProblem> {
    // Nothing, or damage: then what is stated now is all there is.
    let mut list: Vec<String> = serde_json::from_str(kept).unwrap_or_default();
    for one in new {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
    list_text(&list)
}

/// The number of a call's session, which is made if nothing is known of it yet.
fn session_of(connection: &Connection, call: &CallRow, now: Wall) -> Result<i64, StoreProblem> {
    let sql = "SELECT number FROM sessions WHERE format = ?1 AND store = ?2 AND id = ?3";
    let values = (call.format.as_str(), &call.store, &call.session);
    let found = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
    let unknown = || SessionRow {
        format: call.format,
        id: call.session.clone(),
        store: call.store.clone(),
        streams: Vec::new(),
        parent: None,
        cwd: None,
        started_at: None,
        last_at: None,
        models: Vec::new(),
    };
    found.map_or_else(|| write_session(connection, &unknown(), now), Ok)
}

fn write_call(connection: &Connection, session: i64, call: &CallRow) -> Result<(), StoreProblem> {
    let CallRow { format, key, at, model, tokens, cost_usd, store: _, session: _ } = call;
    connection.prepare_cached(CALL)?.execute(params![
        format.as_str(),
        key,
        session,
        at.0,
        model,
        tokens.map(|tokens| most(tokens.input)),
        tokens.map(|tokens| most(tokens.cached)),
        tokens.map(|tokens| most(tokens.output)),
        cost_usd.filter(|cost| cost.is_finite()),
    ])?;
    Ok(())
}

fn write_cursor(connection: &Connection, cursor: &Cursor, now: Wall) -> Result<(), StoreProblem> {
    let Cursor { format, store, stream, file, offset, stamp, decoder } = cursor;
    let (device, inode) = (file.0.cast_signed(), file.1.cast_signed());
    let values = params![format.as_str(), store, stream, device, inode, most(*offset), stamp, decoder, now.0];
    connection.prepare_cached(CURSOR)?.execute(values)?;
    Ok(())
}

/// A number that SQLite can hold.
fn most(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// After what could be read of a damaged store is in a new one: trails and evidence of runs that could not be
/// read are of no use, and stores are not searched once more for runs that are pruned.
pub(in crate::store) fn settle_lost(connection: &Connection) -> Result<(), StoreProblem> {
    for table in ["trails", "evidence"] {
        let lost = "run NOT IN (SELECT id FROM runs) AND run NOT IN (SELECT id FROM windows)";
        connection.execute(&format!("DELETE FROM {table} WHERE {lost}"), [])?;
    }
    connection.execute("UPDATE trails SET settled = 1 WHERE run NOT IN (SELECT id FROM runs)", [])?;
    Ok(())
}

/// What is older than the windows that are kept, and older than any run that is still there.
pub(super) fn forget_old(connection: &Connection, now: Wall) -> Result<(), StoreProblem> {
    let oldest =
        "SELECT min(started_at) FROM (SELECT started_at FROM runs UNION ALL SELECT started_at FROM windows)";
    let oldest: Option<i64> = connection.query_row(oldest, [], |row| row.get(0))?;
    let before = (now - WINDOW).0.min(oldest.unwrap_or(i64::MAX));
    connection.execute("DELETE FROM calls WHERE at < ?1", [before])?;
    connection.execute(
        "DELETE FROM sessions WHERE written_at < ?1 AND NOT EXISTS (SELECT 1 FROM calls WHERE session = number)",
        [before],
    )?;
    connection.execute("DELETE FROM cursors WHERE read_at < ?1", [before])?;
    Ok(())
}
