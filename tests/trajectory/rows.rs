//! Databases that are built row by row from what real agents wrote, and read by decoders as the daemon does.

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::host::transcript::database::SessionDatabase;
use harnessd::trajectory::{Database, Decoder, Event, Format, Layout, Needs, Row};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

use crate::drive;

/// A database of an agent that a test writes.
pub(crate) struct Store {
    _dir: tempfile::TempDir,
    pub(crate) path: Utf8PathBuf,
    pub(crate) writer: Connection,
    format: Format,
}

impl Store {
    /// An empty one with the agent's schema, in WAL mode.
    pub(crate) fn new(format: Format) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("agent.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
        // Rows are replaced singly here, and sessions are copied without what they belong to.
        writer.pragma_update(None, "foreign_keys", false).unwrap();
        let schema = drive::data(format.as_str(), "schema.sql");
        writer.execute_batch(&String::from_utf8(schema).unwrap()).unwrap();
        Self { _dir: dir, path, writer, format }
    }

    /// One with all these rows.
    pub(crate) fn of(format: Format, rows: &[Value]) -> Self {
        let store = Self::new(format);
        rows.iter().for_each(|row| store.put(row));
        store
    }

    /// Inserts a row, or replaces the one with its id. Its `table` says where.
    pub(crate) fn put(&self, row: &Value) {
        let columns = row.as_object().unwrap().iter().filter(|(name, _)| *name != "table");
        let (names, cells): (Vec<&str>, Vec<Cell>) =
            columns.map(|(name, value)| (name.as_str(), cell(value))).unzip();
        let marks = vec!["?"; names.len()].join(",");
        let changes: Vec<String> = names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let (table, names, changes) = (row["table"].as_str().unwrap(), names.join(","), changes.join(","));
        let statement =
            format!("INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO UPDATE SET {changes}");
        self.writer.execute(&statement, params_from_iter(cells)).unwrap();
    }

    pub(crate) fn layout(&self) -> Database {
        let Layout::Database(layout) = self.format.layout() else { panic!("{}", self.format) };
        layout
    }

    pub(crate) fn open(&self) -> SessionDatabase {
        SessionDatabase::open(&self.path, &self.layout()).unwrap().unwrap()
    }

    /// The row of the `sessions` statement of each session.
    pub(crate) fn heads(&self) -> Vec<Row> {
        let mut heads = Vec::new();
        self.open().sessions(&mut |row| heads.push(row.clone())).unwrap();
        heads
    }

    /// Gives the decoder what the database has for it now.
    pub(crate) fn feed(&self, decoder: &mut Decoder, session: &str, needs: Needs, events: &mut Vec<Event>) {
        let (database, layout) = (self.open(), self.layout());
        let is_it = |row: &Row| (layout.head)(row).is_some_and(|head| head.id == session);
        let mut head = None;
        database.sessions(&mut |row| head = is_it(row).then(|| row.clone()).or(head.take())).unwrap();
        let Some(head) = head else { return };
        decoder.head(&head, needs, &mut |event| events.push(event));
        let (after, mut number) = (decoder.watermark(), 0);
        let mut each = |row: &Row| {
            decoder.row(row, number, needs, &mut |event| events.push(event));
            number += 1;
        };
        database.records(session, &after, &mut each).unwrap();
    }

    /// What one reading of a session gives.
    pub(crate) fn read(&self, session: &str, needs: Needs) -> (Decoder, Vec<Event>) {
        let (mut decoder, mut events) = (Decoder::new(self.format, session), Vec::new());
        self.feed(&mut decoder, session, needs, &mut events);
        decoder.finish(needs, &mut |event| events.push(event));
        (decoder, events)
    }
}

/// What reading gives after each of these rows was written, with the state written down and read back between.
pub(crate) fn live(format: Format, rows: &[Value], session: &str, needs: Needs) -> (Decoder, Vec<Event>) {
    let store = Store::new(format);
    let (mut decoder, mut events) = (Decoder::new(format, session), Vec::new());
    for row in rows {
        store.put(row);
        store.feed(&mut decoder, session, needs, &mut events);
        let written = serde_json::to_string(&decoder).unwrap();
        decoder = serde_json::from_str(&written).unwrap();
        // Nothing new: nothing is told.
        let before = events.len();
        store.feed(&mut decoder, session, needs, &mut events);
        assert_eq!(events.len(), before);
    }
    decoder.finish(needs, &mut |event| events.push(event));
    (decoder, events)
}

/// TRJ-3, USE-2: reading after each row that is written gives what one reading gives, and asking for usage
/// alone gives the same usage and session. The rows are given as the agent writes them, one session's first.
pub(crate) fn same_in_pieces(format: Format, rows: &[Value], session: &str) {
    let store = Store::of(format, rows);
    let (whole, events) = store.read(session, Needs::Everything);
    let (decoder, pieces) = live(format, rows, session, Needs::Everything);
    assert_eq!(drive::shown(&pieces), drive::shown(&events));
    assert_eq!(pieces, events);
    assert_eq!(drive::facts(&decoder), drive::facts(&whole));
    for (brief, usage) in [store.read(session, Needs::Usage), live(format, rows, session, Needs::Usage)] {
        assert_eq!(drive::calls(&usage), drive::calls(&events));
        assert_eq!(drive::facts(&brief), drive::facts(&whole));
    }
}

/// The rows of a recorded file.
pub(crate) fn recorded(agent: &str, path: &str) -> Vec<Value> {
    let text = String::from_utf8(drive::data(agent, path)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sums of the calls: input, cached, output and cost.
pub(crate) fn sums(events: &[Event]) -> (u64, u64, u64, f64) {
    let calls = drive::calls(events);
    let sum = |key: &str| calls.iter().filter_map(|call| call["tokens"][key].as_u64()).sum();
    let cost = calls.iter().filter_map(|call| call["cost_usd"].as_f64()).sum();
    (sum("input"), sum("cached"), sum("output"), cost)
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(flag) => Cell::Integer(i64::from(*flag)),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Cell::Real(number.as_f64().unwrap()), Cell::Integer)
        }
        Value::String(text) => Cell::Text(text.clone()),
        other => Cell::Text(other.to_string()),
    }
}
