//! Asking the account.
//!
//! Invariant: every question is answered through an index.

use std::str::FromStr;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use serde::de::DeserializeOwned;

use super::{AccountQuery, CallRow, Cursor, SessionRow, Unsettled};
use crate::base::{HarnessName, Wall};
use crate::store::error::StoreProblem;
use crate::store::rows;
use crate::trajectory::{Format, Parent, Tokens};
use crate::wire::Trail;

pub(in crate::store) const CURSORS: &str = "
    SELECT stream, device, inode, offset, stamp, decoder FROM cursors WHERE format = ?1 AND store = ?2";

/// A run may be pruned before its transcripts were looked at for the last time.
pub(in crate::store) const UNSETTLED: &str = "
    SELECT t.run, coalesce(r.harness, w.harness), coalesce(r.started_at, w.started_at),
           coalesce(r.ended_at, w.ended_at), t.format, t.workdir, t.stores, t.session
    FROM trails AS t INDEXED BY trails_unsettled
    LEFT JOIN runs AS r ON r.id = t.run
    LEFT JOIN windows AS w ON w.id = t.run
    WHERE t.settled = 0 AND t.format IS NOT NULL AND coalesce(r.started_at, w.started_at) IS NOT NULL
    ORDER BY t.run";

pub(in crate::store) const SESSIONS: &str = "
    SELECT s.format, s.id, s.store, s.streams, s.parent, s.kinship, s.cwd, s.started_at, s.last_at, s.models
    FROM sessions AS s";

pub(in crate::store) const CALLS: &str = "
    SELECT c.format, c.key, s.store, s.id, c.at, c.model, c.input, c.cached, c.output, c.cost_usd
    FROM calls AS c JOIN sessions AS s ON s.number = c.session";

/// Of one session, through its index.
pub(in crate::store) const CALLS_OF: &str = "
    SELECT c.format, c.key, s.store, s.id, c.at, c.model, c.input, c.cached, c.output, c.cost_usd
    FROM sessions AS s JOIN calls AS c ON c.session = s.number
    WHERE s.format = ?1 AND s.store = ?2 AND s.id = ?3 AND c.at >= ?4 ORDER BY c.at";

pub(super) fn cursors(
    connection: &Connection,
    format: Format,
    store: &str,
) -> Result<Vec<Cursor>, StoreProblem> {
    let values = vec![Value::from(format.as_str().to_owned()), Value::from(store.to_owned())];
    many(connection, CURSORS, values, |row| {
        let (device, inode, offset) = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?);
        Ok(Cursor {
            format,
            store: store.to_owned(),
            stream: row.get(0)?,
            file: (device.cast_unsigned(), inode.cast_unsigned()),
            offset: offset.cast_unsigned(),
            stamp: row.get(4)?,
            decoder: row.get(5)?,
        })
    })
}

pub(in crate::store) fn unsettled(connection: &Connection) -> Result<Vec<Unsettled>, StoreProblem> {
    many(connection, UNSETTLED, Vec::new(), |row| {
        let run: String = row.get(0)?;
        Ok(Unsettled {
            run: rows::id(&run)?,
            harness: name(&run, &row.get::<_, String>(1)?)?,
            from: Wall(row.get(2)?),
            to: row.get::<_, Option<i64>>(3)?.map(Wall),
            trail: Trail {
                format: row.get(4)?,
                workdir: row.get(5)?,
                stores: json(&run, "stores", &row.get::<_, String>(6)?)?,
                session: row.get(7)?,
            },
        })
    })
}

pub(super) fn sessions(
    connection: &Connection,
    query: &AccountQuery,
) -> Result<Vec<SessionRow>, StoreProblem> {
    let (sql, values) = of_sessions(query);
    many(connection, &sql, values, session)
}

/// Reads a row of [`SESSIONS`].
pub(in crate::store) fn session(row: &Row<'_>) -> Result<SessionRow, StoreProblem> {
    let id: String = row.get(1)?;
    let parent = row.get::<_, Option<String>>(4)?.zip(row.get::<_, Option<String>>(5)?);
    let parent = parent.map(|(parent, kinship)| {
        Ok::<_, StoreProblem>(Parent { kinship: word(&id, "kinship", &kinship)?, id: parent })
    });
    Ok(SessionRow {
        format: word(&id, "format", &row.get::<_, String>(0)?)?,
        store: row.get(2)?,
        streams: json(&id, "streams", &row.get::<_, String>(3)?)?,
        parent: parent.transpose()?,
        cwd: row.get(6)?,
        started_at: row.get::<_, Option<i64>>(7)?.map(Wall),
        last_at: row.get::<_, Option<i64>>(8)?.map(Wall),
        models: json(&id, "models", &row.get::<_, String>(9)?)?,
        id,
    })
}

pub(super) fn calls(connection: &Connection, query: &AccountQuery) -> Result<Vec<CallRow>, StoreProblem> {
    let (sql, values) = of_calls(query);
    many(connection, &sql, values, call)
}

pub(super) fn calls_of(
    connection: &Connection,
    session: &SessionRow,
    from: Wall,
) -> Result<Vec<CallRow>, StoreProblem> {
    let SessionRow { format, store, id, .. } = session;
    let texts = [format.as_str(), store, id].map(|text| Value::from(text.to_owned()));
    many(connection, CALLS_OF, texts.into_iter().chain([Value::from(from.0)]).collect(), call)
}

/// Reads a row of [`CALLS`].
pub(in crate::store) fn call(row: &Row<'_>) -> Result<CallRow, StoreProblem> {
    let key: String = row.get(1)?;
    let number = |column| row.get::<_, Option<i64>>(column).map(|cell| cell.map(i64::cast_unsigned));
    let (input, cached, output) = (number(6)?, number(7)?, number(8)?);
    let tokens =
        input.zip(cached).zip(output).map(|((input, cached), output)| Tokens { input, cached, output });
    Ok(CallRow {
        format: word(&key, "format", &row.get::<_, String>(0)?)?,
        store: row.get(2)?,
        session: row.get(3)?,
        at: Wall(row.get(4)?),
        model: row.get(5)?,
        tokens,
        cost_usd: row.get(9)?,
        key,
    })
}

/// The question for sessions as SQL with its values. The `+` keeps SQLite from reading them all in order.
pub(in crate::store) fn of_sessions(query: &AccountQuery) -> (String, Vec<Value>) {
    let ends = "coalesce(s.last_at, s.started_at, 9223372036854775807) >= ?";
    let begins = "coalesce(s.started_at, s.last_at, -9223372036854775807) <= ?";
    statement(SESSIONS, "s.cwd = ?", ends, begins, "+s.number", query)
}

/// The question for calls as SQL with its values.
pub(in crate::store) fn of_calls(query: &AccountQuery) -> (String, Vec<Value>) {
    statement(CALLS, "s.cwd = ?", "c.at >= ?", "c.at <= ?", "c.at, c.format, c.key", query)
}

fn statement(
    select: &str,
    cwd: &'static str,
    from: &'static str,
    to: &'static str,
    order: &str,
    query: &AccountQuery,
) -> (String, Vec<Value>) {
    let AccountQuery { cwd: of, from: since, to: until } = query;
    let instant = |at: &Wall| Value::from(at.0);
    let asked = [
        (cwd, of.clone().map(Value::from)),
        (from, since.as_ref().map(instant)),
        (to, until.as_ref().map(instant)),
    ];
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    for (condition, value) in asked {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    }
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    (format!("{select}{condition} ORDER BY {order}"), values)
}

pub(super) fn many<T>(
    connection: &Connection,
    sql: &str,
    values: Vec<Value>,
    read: impl Fn(&Row<'_>) -> Result<T, StoreProblem>,
) -> Result<Vec<T>, StoreProblem> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut list = Vec::new();
    while let Some(row) = found.next()? {
        list.push(read(row)?);
    }
    Ok(list)
}

fn bad(row: &str, column: &'static str, cause: impl ToString) -> StoreProblem {
    StoreProblem::BadRow { row: row.to_owned(), column, cause: cause.to_string() }
}

pub(super) fn word<T: FromStr<Err: ToString>>(
    row: &str,
    column: &'static str,
    text: &str,
) -> Result<T, StoreProblem> {
    text.parse().map_err(|cause: T::Err| bad(row, column, cause))
}

pub(super) fn name(row: &str, text: &str) -> Result<HarnessName, StoreProblem> {
    HarnessName::parse(text).map_err(|cause| bad(row, "harness", cause))
}

pub(super) fn json<T: DeserializeOwned>(
    row: &str,
    column: &'static str,
    text: &str,
) -> Result<T, StoreProblem> {
    serde_json::from_str(text).map_err(|cause| bad(row, column, cause))
}
