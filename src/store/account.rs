//! What was read of the agents' transcripts, and how far (USE-2).
//!
//! Invariants: a cursor and what was derived up to it are one transaction; every row has a key of its own,
//! so that reading the same twice changes nothing.

use super::{Store, StoreError};
use crate::base::{RunId, Wall};
use crate::correlate::{Facts, Known};
use crate::trajectory::{Format, Parent, Tokens};
use crate::wire::{StorePlace, Trail};

/// A session as the account knows it. It holds nothing of its contents, not even the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its format.
    pub format: Format,
    /// Its native id, unique within its format and store.
    pub id: String,
    /// The store ([`StorePlace::path`]).
    pub store: String,
    /// Its streams, relative to the store; of a database the native id again.
    pub streams: Vec<String>,
    /// Where it comes from.
    pub parent: Option<Parent>,
    /// The working directory as recorded, physical as far as it exists.
    pub cwd: Option<String>,
    /// When it began.
    pub started_at: Option<Wall>,
    /// The latest time in it.
    pub last_at: Option<Wall>,
    /// The models that it used.
    pub models: Vec<String>,
}

/// How far one stream is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Its format.
    pub format: Format,
    /// Its store.
    pub store: String,
    /// Relative to the store; of a database the session's native id.
    pub stream: String,
    /// What tells whether it is still the same file: device and inode.
    pub file: (u64, u64),
    /// Bytes (or rows) that are read.
    pub offset: u64,
    /// Size and time of change of the file and its documents when it was last read: equal ones need no reading.
    pub stamp: String,
    /// The decoder as JSON.
    pub decoder: String,
}

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Its format.
    pub format: Format,
    /// Its key within the format.
    pub key: String,
    /// The store of its session.
    pub store: String,
    /// The native id of its session.
    pub session: String,
    /// When; the session's start where the record does not say.
    pub at: Wall,
    /// The model.
    pub model: Option<String>,
    /// Its tokens; none: a cost alone.
    pub tokens: Option<Tokens>,
    /// US dollars, where stated.
    pub cost_usd: Option<f64>,
}

/// What one look at the stores brought: one transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Sessions that are new or have grown.
    pub sessions: Vec<SessionRow>,
    /// How far streams are read now.
    pub cursors: Vec<Cursor>,
    /// Calls that are new or have another value. One whose key another session has already is that one's.
    pub calls: Vec<CallRow>,
    /// New evidence.
    pub known: Vec<Known>,
    /// Runs that are over and whose stores were looked at since.
    pub settled: Vec<RunId>,
}

/// A run whose transcripts may not be read to their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// The run.
    pub run: RunId,
    /// Its harness.
    pub harness: crate::base::HarnessName,
    /// Where to look.
    pub trail: Trail,
    /// Its start.
    pub from: Wall,
    /// Its end; none: it runs.
    pub to: Option<Wall>,
}

/// Which sessions or calls are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountQuery {
    /// Only of sessions in this directory.
    pub cwd: Option<String>,
    /// Only what is not before.
    pub from: Option<Wall>,
    /// Only what is not after.
    pub to: Option<Wall>,
}

impl Progress {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Writes what a look brought, whole or not at all.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn commit_progress(&mut self, _progress: &Progress) -> Result<(), StoreError> {
        Ok(())
    }

    /// How far the streams of a store are read.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cursors(&self, _format: Format, _store: &StorePlace) -> Result<Vec<Cursor>, StoreError> {
        Ok(Vec::new())
    }

    /// Runs with transcripts that are not settled.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Unsettled>, StoreError> {
        Ok(Vec::new())
    }

    /// The sessions that are asked for: by their own times, `from` compared with the latest, `to` with the start.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sessions(&self, _query: &AccountQuery) -> Result<Vec<SessionRow>, StoreError> {
        Ok(Vec::new())
    }

    /// The calls that are asked for, by time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calls(&self, _query: &AccountQuery) -> Result<Vec<CallRow>, StoreError> {
        Ok(Vec::new())
    }

    /// All that attribution goes by; `home`, `now` and `daemon_started` are the caller's to fill in.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}
