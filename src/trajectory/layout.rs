//! How an agent lays its store out: what tells the shell which files or rows make up a session.
//!
//! Invariant: only patterns, names and statements stand here; nothing is opened.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::Parent;
use crate::base::Wall;

/// One row of a database: columns by name. A blob is its bytes as text, as far as they are UTF-8.
pub type Row = Map<String, Value>;

/// How a store is laid out.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// Files of lines, one or more a session.
    Files(Files),
    /// One database for many sessions.
    Database(Database),
}

impl Layout {
    /// Whether the agent's processes may tell which sessions they work on.
    #[must_use]
    pub const fn heeds_processes(&self) -> bool {
        matches!(self, Self::Files(files) if files.held.is_some() || files.pid_file.is_some())
    }
}

/// Streams of lines below a directory.
#[derive(Clone, Copy)]
pub struct Files {
    /// Patterns of the streams, relative to the store; `*` stands for any text without a `/`.
    pub streams: &'static [&'static str],
    /// Documents that say more of a stream, relative to its directory (`../x` too); `{stem}` stands for the
    /// stream's file name without its end. They are read whole before the stream's lines, and again when
    /// they change.
    pub documents: &'static [&'static str],
    /// The first steps of the path, as the agent makes them of a working directory (TRJ-5): where to look
    /// first. Never decoded: the true directory is read from the records.
    pub directory: Option<fn(&str) -> String>,
    /// Of a file that a process of the agent holds open (relative to the store): the native id of its session.
    pub held: Option<fn(&str) -> Option<String>>,
    /// Where the agent notes which process works on which session.
    pub pid_file: Option<PidFile>,
}

/// Files named after the process that works on a session.
#[derive(Clone, Copy)]
pub struct PidFile {
    /// The directory, relative to the store; in it `PID.json`.
    pub directory: &'static str,
    /// What such a file says.
    pub read: fn(&[u8]) -> Option<PidNote>,
}

/// What a file that is named after a process says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidNote {
    /// The process.
    pub pid: i32,
    /// When it started, in clock ticks since boot, where the file says so: with the pid its identity.
    pub process_start: Option<u64>,
    /// The native id of its session.
    pub session: String,
}

/// A database of sessions.
#[derive(Clone, Copy)]
pub struct Database {
    /// The tables and columns that the statements need: without them the schema is unknown, which is said.
    pub needs: &'static [(&'static str, &'static [&'static str])],
    /// Gives one row a session; no parameters.
    pub sessions: &'static str,
    /// What such a row says.
    pub head: fn(&Row) -> Option<Head>,
    /// Gives the records of a session in order, one row each. Parameters: `:session` its native id, `:time`
    /// and `:id` the reader's [`Watermark`], of which rows after it are to be given.
    pub records: &'static str,
}

/// What a database says of a session before its records are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its native id.
    pub id: String,
    /// The working directory as recorded; none: the store does not say.
    pub cwd: Option<String>,
    /// When it began.
    pub started_at: Option<Wall>,
    /// Grows whenever something of the session is written.
    pub changed: i64,
    /// Where it comes from.
    pub parent: Option<Parent>,
}

/// Up to where the rows of a session are read and told: smaller ones are not asked for again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// In the store's own unit.
    pub time: i64,
    /// Breaks ties.
    pub id: String,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("streams", &self.streams).finish_non_exhaustive()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("needs", &self.needs).finish_non_exhaustive()
    }
}
