//! Rows of a database whose records change in place until they are complete: what of them is told, and what is
//! held back.
//!
//! Invariants: a piece of a record is told once, whether its record was complete then or only the end of the
//! reading made it be told; the number of pieces and rows that are remembered is bounded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Row, Watermark};
use super::record::natural;
use super::told::Told;

/// So many pieces of records that are not complete are remembered as told.
const PIECES: usize = 4096;

/// So many of the last records of one time are remembered as told. Below them the store's order tells it.
const AT_ONE_TIME: usize = 64;

/// So many rows are held back, and so many bytes of text in them; more of them come when they are complete.
const HELD_ROWS: usize = 4096;
const HELD_BYTES: usize = 16 << 20;

/// What is remembered of the rows of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rows {
    /// Every record before this time is told.
    time: i64,
    /// The record at that time up to which all are told, where there are too many to be remembered.
    upto: String,
    /// The records at that time after it that are told, each after its place in the store's order.
    complete: BTreeSet<(String, String)>,
    /// Told pieces of records that are not complete: record and piece.
    pieces: Vec<(String, String)>,
    /// So many records have been told.
    count: u64,
    /// The rows of records that are not complete. They come again with the next reading, so they are never
    /// written down.
    #[serde(skip)]
    held: Vec<(String, Row)>,
    #[serde(skip)]
    held_bytes: usize,
}

impl Rows {
    /// Records after this are asked for.
    pub(super) fn watermark(&self) -> Watermark {
        Watermark { time: self.time, id: self.upto.clone() }
    }

    /// The record and the time of a row, where the row is to be told now and for good. One that may still
    /// change is held back; one of a record that is told and complete is passed over.
    pub(super) fn next<'a>(&mut self, row: &'a Row, told: &mut Told<'_>) -> Option<(i64, &'a str)> {
        let (Some(at), Some(record)) = (whole(row, "at"), text(row, "message")) else {
            told.oddities.malformed += 1;
            return None;
        };
        if at < self.time || at == self.time && self.complete.iter().any(|(_, known)| known == record) {
            return None;
        }
        let key = text(row, "part").unwrap_or(record);
        self.release(key);
        if whole(row, "final") == Some(0) {
            self.hold(key, row);
            return None;
        }
        Some((at, record))
    }

    /// Notes that the record is complete and told, as are all before it. `order` sorts the records of one time
    /// as the store does, where their ids do not.
    pub(super) fn complete(&mut self, at: i64, order: &str, record: &str) {
        self.pieces.retain(|(known, _)| known != record);
        if at != self.time {
            self.time = at;
            self.upto.clear();
            self.complete.clear();
        }
        self.complete.insert((order.to_owned(), record.to_owned()));
        if self.complete.len() > AT_ONE_TIME
            && let Some((_, first)) = self.complete.pop_first()
        {
            self.upto = first;
        }
    }

    /// Whether a piece of a record is to be told now, which it then is.
    pub(super) fn is_new(&mut self, record: &str, piece: &str) -> bool {
        if self.pieces.iter().any(|(known, told)| known == record && told == piece) {
            return false;
        }
        if self.pieces.len() < PIECES {
            self.pieces.push((record.to_owned(), piece.to_owned()));
        }
        true
    }

    /// Holds a row back; `key` tells it from the others.
    fn hold(&mut self, key: &str, row: &Row) {
        let bytes = size(row);
        if self.held.len() < HELD_ROWS && self.held_bytes + bytes <= HELD_BYTES {
            self.held_bytes += bytes;
            self.held.push((key.to_owned(), row.clone()));
        }
    }

    /// A row is not held back any more.
    fn release(&mut self, key: &str) {
        let gone = self.held.iter().position(|(known, _)| known == key).map(|at| self.held.remove(at));
        self.held_bytes -= gone.map_or(0, |(_, row)| size(&row));
    }

    /// The rows that are held back, which are not from now on.
    pub(super) fn take_held(&mut self) -> Vec<Row> {
        self.held_bytes = 0;
        self.held.drain(..).map(|(_, row)| row).collect()
    }

    /// The place of what is told next.
    pub(super) fn place(&mut self) -> u64 {
        self.count += 1;
        self.count - 1
    }
}

fn size(row: &Row) -> usize {
    row.values().map(|value| value.as_str().map_or(8, str::len)).sum()
}

/// The text in a column.
pub(super) fn text<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    row.get(column)?.as_str()
}

/// A text that is a UUID as we choose them at a launch, and so nothing that somebody said.
pub(super) fn launch_id(row: &Row, column: &str) -> Option<String> {
    let id = text(row, column)?;
    let uuid = uuid::Uuid::try_parse(id).ok()?;
    (uuid.hyphenated().to_string() == id).then(|| id.to_owned())
}

/// The whole number in a column.
pub(super) fn whole(row: &Row, column: &str) -> Option<i64> {
    row.get(column)?.as_i64()
}

/// The count in a column; none or a negative one is zero.
pub(super) fn count(row: &Row, column: &str) -> u64 {
    row.get(column).and_then(natural).unwrap_or(0)
}

/// The amount in a column, where it is one.
pub(super) fn amount(row: &Row, column: &str) -> Option<f64> {
    row.get(column)?.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// The JSON document in a column.
pub(super) fn document(row: &Row, column: &str) -> Option<Value> {
    serde_json::from_str(text(row, column)?).ok()
}
