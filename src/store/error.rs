//! What can go wrong with the store, in words that name the file.
//!
//! Invariant: callers match on [`StoreProblem`] and [`RunLookupError`]; only
//! people read the text.

use camino::Utf8PathBuf;
use rusqlite::ErrorCode as Sqlite;
use thiserror::Error;

use crate::base::{HarnessName, RunId};
use crate::wire::{ErrorBody, ErrorCode};

/// What is wrong with the store.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreProblem {
    /// Another program holds it for longer than we wait.
    #[error("database is locked")]
    Locked,
    /// No room is left on its disk.
    #[error("the disk is full")]
    Full,
    /// It can be read at most.
    #[error("cannot be written: {0}")]
    NotWritable(String),
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    NotReadable(String),
    /// The file holds something else.
    #[error("not a database")]
    NotADatabase,
    /// A database of another program.
    #[error("a database of another program")]
    Foreign,
    /// A newer program wrote it.
    #[error("its schema has version {found}, this program knows versions up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// An older program wrote it, and it was opened for reading only.
    #[error("its schema has an older version")]
    Older,
    /// Its log is there and the log's index is not.
    #[error("its write-ahead log has no index")]
    NoIndex,
    /// The file system has no shared memory.
    #[error("its file system cannot hold a write-ahead log (journal mode `{0}`)")]
    NoWal(String),
    /// SQLite says that its pages contradict one another.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A row that this program would never write.
    #[error("row `{row}`, column `{column}`: {cause}")]
    BadRow {
        /// Its key.
        row: String,
        /// Where.
        column: &'static str,
        /// Why it cannot be read.
        cause: String,
    },
    /// A record of a run that was never started.
    #[error("run {0} is not recorded")]
    NoSuchRun(RunId),
    /// A start of a run that was started already.
    #[error("run {0} is recorded already")]
    Recorded(RunId),
    /// The file that was opened is not the one that lies there now.
    #[error("it was removed or replaced while it was open")]
    Gone,
    /// The store was opened for reading only.
    #[error("it was opened for reading only")]
    ReadOnly,
    /// The system fails to read or write it, or has no memory.
    #[error("{0}")]
    System(String),
    /// Anything else, in SQLite's words: a sound store of ours takes every statement of ours.
    #[error("{0}")]
    Other(String),
}

impl From<rusqlite::Error> for StoreProblem {
    fn from(error: rusqlite::Error) -> Self {
        let (code, extended, text) = match &error {
            rusqlite::Error::SqliteFailure(failure, text) => {
                let text = text.clone().unwrap_or_else(|| failure.to_string());
                (failure.code, failure.extended_code, text)
            }
            _ => return Self::Other(error.to_string()),
        };
        match code {
            Sqlite::DatabaseBusy | Sqlite::DatabaseLocked | Sqlite::FileLockingProtocolFailed => Self::Locked,
            Sqlite::DiskFull => Self::Full,
            Sqlite::ReadOnly => Self::NotWritable(text),
            Sqlite::CannotOpen | Sqlite::PermissionDenied => Self::NotReadable(text),
            Sqlite::NotADatabase => Self::NotADatabase,
            Sqlite::DatabaseCorrupt => Self::Damaged(text),
            Sqlite::SystemIoFailure if extended == rusqlite::ffi::SQLITE_IOERR_SHORT_READ => {
                Self::Damaged("a page ends too early".to_owned())
            }
            Sqlite::SystemIoFailure
            | Sqlite::OutOfMemory
            | Sqlite::OperationInterrupted
            | Sqlite::OperationAborted
            | Sqlite::NoLargeFileSupport
            | Sqlite::InternalMalfunction
            | Sqlite::ApiMisuse => Self::System(text),
            _ => Self::Other(text),
        }
    }
}

impl StoreProblem {
    /// Whether the file does not hold what was written to it. A daemon that starts moves such a file aside.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::NotADatabase | Self::Damaged(_) | Self::BadRow { .. })
    }

    /// Whether one record is refused, whatever becomes of the others of its turn.
    #[must_use]
    pub const fn is_of_one_record(&self) -> bool {
        matches!(self, Self::NoSuchRun(_) | Self::Recorded(_))
    }

    const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Locked => Some("another program holds it; try again when it is done"),
            Self::Full => Some("free some space on that disk"),
            Self::NotWritable(_) | Self::NotReadable(_) => Some(
                "check owner and mode of the file and its directory, and whether its file system is mounted read-only",
            ),
            Self::NotADatabase | Self::Damaged(_) | Self::BadRow { .. } => Some(
                "the next `harnessd run` moves it aside, keeps what can still be read of it, and makes a new one",
            ),
            Self::Foreign => Some("move it away, or choose another state directory"),
            Self::Newer { .. } => Some("use the newer `harnessd` that wrote it, or another state directory"),
            Self::Older | Self::NoIndex => Some("`harnessd run` mends that"),
            Self::NoWal(_) => Some("choose a state directory on a local disk"),
            _ => None,
        }
    }
}

/// A problem with its file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("state store `{path}`: {problem}")]
pub struct StoreError {
    /// The database file.
    pub path: Utf8PathBuf,
    /// What is wrong.
    pub problem: StoreProblem,
}

impl StoreError {
    /// The error as clients see it.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let body = ErrorBody::new(ErrorCode::Internal, self.to_string());
        match self.problem.help() {
            Some(help) => body.help(help),
            None => body,
        }
    }
}

/// Why a run was not found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunLookupError {
    /// No run has that id, or that part of one.
    #[error("unknown run `{}`", part.escape_debug())]
    Unknown {
        /// What was asked for.
        part: String,
        /// Runs that may have been meant, nearest first.
        nearest: Vec<RunId>,
    },
    /// Several runs begin or end so.
    #[error("`{part}` may be any of {} runs", candidates.len())]
    Ambiguous {
        /// What was asked for.
        part: String,
        /// Those runs, newest first.
        candidates: Vec<RunId>,
    },
    /// Too little of an id.
    #[error("`{part}` is too short for a part of a run id: at least {least} characters are needed")]
    TooShort {
        /// What was asked for.
        part: String,
        /// How many characters are needed.
        least: usize,
    },
    /// The run is pruned.
    #[error("run {id} of `{harness}` is pruned")]
    Pruned {
        /// Its id.
        id: RunId,
        /// Its harness.
        harness: HarnessName,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RunLookupError {
    /// The error as clients see it.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let list = |ids: &[RunId]| ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        let body = ErrorBody::new(ErrorCode::UnknownRun, self.to_string());
        match self {
            Self::Store(error) => error.body(),
            Self::Unknown { nearest, .. } if nearest.is_empty() => body.help("`harnessd runs` lists them"),
            Self::Unknown { nearest, .. } => body.help(format!("did you mean {}?", list(nearest))),
            Self::Ambiguous { candidates, .. } if candidates.len() > 5 => {
                body.help(format!("the newest of them are {}", list(&candidates[..5])))
            }
            Self::Ambiguous { candidates, .. } => body.help(format!("they are {}", list(candidates))),
            Self::TooShort { .. } => body.help("`harnessd runs` lists them"),
            Self::Pruned { .. } => body.help("raise `keep_runs` to keep more of them"),
        }
    }
}
