//! An agent's SQLite database, while the agent may be writing it.
//!
//! Invariants: an agent's database, its log and its index are neither written nor made nor removed; what is
//! handed out is of one state of the database.

mod connect;

use std::cell::RefCell;

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement, ToSql};
use serde_json::{Map, Number, Value};

use self::connect::Reading;
use super::Unreadable;
use crate::trajectory::{Database, Row, Watermark};

/// A longer text is handed out as nothing.
const LONGEST: usize = 64 << 20;

/// So many rows, or so many bytes of text, are held until it is certain that the file was not written meanwhile.
const CHUNK_ROWS: usize = 256;
const CHUNK_BYTES: usize = 4 << 20;

/// How often a reading is begun again that a writer has come between.
const ATTEMPTS: u32 = 8;

/// An open database of sessions.
#[derive(Debug)]
pub struct SessionDatabase {
    path: Utf8PathBuf,
    layout: Database,
    reading: RefCell<Reading>,
}

/// Why a statement was given up.
enum Halt {
    /// The file changed while it was read as one that nobody writes; whether rows were handed out before.
    Changed {
        handed: bool,
    },
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Halt {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl SessionDatabase {
    /// Opens it; none: there is no such file, or nothing is in it yet.
    ///
    /// # Errors
    /// If it cannot be read, is no database, or lacks what the layout needs.
    pub fn open(path: &Utf8Path, layout: &Database) -> Result<Option<Self>, Unreadable> {
        let Some(reading) = connect::connect(path)? else { return Ok(None) };
        let tables: u32 = reading
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
            .map_err(|error| connect::explain(path, &error))?;
        if tables == 0 {
            return Ok(None);
        }
        known(path, &reading.connection, layout)?;
        let reading = RefCell::new(reading);
        Ok(Some(Self { path: path.to_owned(), layout: *layout, reading }))
    }

    /// Each row of the `sessions` statement.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn sessions(&self, each: &mut dyn FnMut(&Row)) -> Result<(), Unreadable> {
        self.each(self.layout.sessions, &[], each)
    }

    /// Each row of the `records` statement of a session, from the watermark on.
    ///
    /// # Errors
    /// If it cannot be read. Rows that were handed out before hold.
    pub fn records(
        &self,
        session: &str,
        after: &Watermark,
        each: &mut dyn FnMut(&Row),
    ) -> Result<(), Unreadable> {
        let values: [(&str, &dyn ToSql); 3] =
            [(":session", &session), (":time", &after.time), (":id", &after.id)];
        self.each(self.layout.records, &values, each)
    }

    fn each(
        &self,
        statement: &str,
        values: &[(&str, &dyn ToSql)],
        each: &mut dyn FnMut(&Row),
    ) -> Result<(), Unreadable> {
        for _ in 0..ATTEMPTS {
            let halted = match rows(&self.reading.borrow(), statement, values, each) {
                Ok(()) => return Ok(()),
                Err(halt) => halt,
            };
            match halted {
                // Its writer is beginning or ending: what its index says holds no more.
                Halt::Failed(error) if connect::needs_to_write(&error) => {}
                Halt::Failed(error) => return Err(connect::explain(&self.path, &error)),
                Halt::Changed { handed: true } => break,
                Halt::Changed { handed: false } => {}
            }
            match connect::connect(&self.path)? {
                Some(reading) => *self.reading.borrow_mut() = reading,
                None => break,
            }
        }
        Err(connect::unreadable(&self.path, connect::WRITTEN_MEANWHILE))
    }
}

/// Hands out the rows of a statement. A file that nobody is meant to write is looked at again before each
/// chunk is handed out: so a chunk is of one state.
fn rows(
    reading: &Reading,
    statement: &str,
    values: &[(&str, &dyn ToSql)],
    each: &mut dyn FnMut(&Row),
) -> Result<(), Halt> {
    let mut statement = reading.connection.prepare(statement)?;
    bind(&mut statement, values)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = statement.raw_query();
    let (mut held, mut bytes, mut handed) = (Vec::new(), 0, false);
    loop {
        let row = match found.next() {
            Ok(row) => row,
            // A page that was replaced meanwhile looks like damage, an index that ends like one to be written.
            Err(error) if connect::needs_to_write(&error) || !reading.is_unchanged() => {
                return Err(Halt::Changed { handed });
            }
            Err(error) => return Err(error.into()),
        };
        let ended = row.is_none();
        if let Some(row) = row {
            let mut values = Map::new();
            for (at, name) in names.iter().enumerate() {
                let value = row.get_ref(at)?;
                bytes += value.as_bytes_or_null().map_or(0, |text| text.map_or(0, <[u8]>::len));
                values.insert(name.clone(), json(value));
            }
            held.push(values);
        }
        if ended || held.len() >= CHUNK_ROWS || bytes >= CHUNK_BYTES {
            if !reading.is_unchanged() {
                return Err(Halt::Changed { handed });
            }
            handed |= !held.is_empty();
            held.drain(..).for_each(|row| each(&row));
            bytes = 0;
        }
        if ended {
            return Ok(());
        }
    }
}

/// Binds those values that the statement names.
fn bind(statement: &mut Statement<'_>, values: &[(&str, &dyn ToSql)]) -> Result<(), rusqlite::Error> {
    for (name, value) in values {
        if let Some(at) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(at, value)?;
        }
    }
    Ok(())
}

fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) | ValueRef::Blob(text) if text.len() > LONGEST => Value::Null,
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Value::String(String::from_utf8_lossy(text).into_owned())
        }
    }
}

/// Whether the tables and columns that the layout needs are there.
fn known(path: &Utf8Path, connection: &Connection, layout: &Database) -> Result<(), Unreadable> {
    let columns = |table: &str| -> Result<Vec<String>, rusqlite::Error> {
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        names.collect()
    };
    for (table, needed) in layout.needs {
        let found = columns(table).map_err(|error| connect::explain(path, &error))?;
        if found.is_empty() {
            let message = format!("its schema is unknown: it has no table `{table}`");
            return Err(connect::unreadable(path, &message));
        }
        if let Some(column) = needed.iter().find(|column| !found.iter().any(|name| name == *column)) {
            let message = format!("its schema is unknown: the table `{table}` has no column `{column}`");
            return Err(connect::unreadable(path, &message));
        }
    }
    Ok(())
}
