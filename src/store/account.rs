//! What was read of the agents' transcripts, and how far (USE-2).
//!
//! Invariants: a cursor and what was derived up to it are one transaction; every row has a key of its own,
//! so that reading the same twice changes nothing.

use std::time::Duration;

use super::{Store, StoreError, connect, now};
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::{Facts, Known};
use crate::trajectory::{Format, Parent, Tokens};
use crate::wire::{StorePlace, Trail};

mod ask;
mod facts;
mod keep;

pub(super) use ask::{CALLS, SESSIONS, call, session};
#[cfg(test)]
pub(super) use ask::{CALLS_OF, CURSORS, UNSETTLED, of_calls, of_sessions};
#[cfg(test)]
pub(super) use facts::WINDOWS;
pub(super) use facts::evidence;
pub(super) use keep::{progress, see, settle_lost, write_trail};

/// For more calls than this a transaction may keep more pages.
const MANY: usize = 512;

/// Hardly more grows too old than in this time.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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
    /// It begins with how much the file held then (in the unit of `offset`), by which one that was begun anew is
    /// known.
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
    /// Sessions that are new or have grown; streams, models and times that were known before stay known.
    pub sessions: Vec<SessionRow>,
    /// How far streams are read now. Of the same file an older state never replaces a newer one.
    pub cursors: Vec<Cursor>,
    /// Calls that are new or have another value. One whose key another session has already stays that
    /// one's and takes the new numbers.
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
    pub harness: HarnessName,
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
    /// If the store cannot be written, or was removed: then what was committed went with it.
    pub fn commit_progress(&mut self, brought: &Progress) -> Result<(), StoreError> {
        if brought.is_empty() {
            return Ok(());
        }
        let now = now();
        self.write(false, |transaction| {
            let many = brought.calls.len() > MANY;
            if many {
                connect::cache(transaction, connect::LARGE_CACHE)?;
            }
            let done = progress(transaction, brought, now);
            if many {
                connect::cache(transaction, connect::CACHE)?;
            }
            done
        })?;
        self.stay_in_place()
    }

    /// Remembers once more where the transcripts of runs lie, in a store that was begun anew under them.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn keep_trails(&mut self, trails: &[(RunId, Trail)]) -> Result<(), StoreError> {
        if trails.is_empty() {
            return Ok(());
        }
        self.write(false, |transaction| {
            trails.iter().try_for_each(|(run, trail)| write_trail(transaction, *run, trail))
        })
    }

    /// Remembers when harnesses that are new to this store were first configured: before that it knows
    /// nothing of them (COR-4). Of others that are configured no more and have left nothing it forgets that.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn see(&mut self, configured: &[HarnessName], at: Wall) -> Result<(), StoreError> {
        if self.read(|connection| keep::knows(connection, configured))? {
            return Ok(());
        }
        self.write(false, |transaction| keep::see_all(transaction, configured, at))
    }

    /// Forgets sessions, calls and cursors of which no run can be asked for any more, once a day: it may be
    /// called as often as one likes.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn forget_old(&mut self) -> Result<(), StoreError> {
        self.forget_old_at(now())
    }

    pub(super) fn forget_old_at(&mut self, now: Wall) -> Result<(), StoreError> {
        // A clock that was set back is no reason to wait.
        if self.forgotten.is_some_and(|last| (last..last + DAY).contains(&now)) {
            return Ok(());
        }
        self.write(false, |transaction| keep::forget_old(transaction, now))?;
        self.forgotten = Some(now);
        Ok(())
    }

    /// How far the streams of a store are read.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cursors(&self, format: Format, store: &StorePlace) -> Result<Vec<Cursor>, StoreError> {
        self.read(|connection| ask::cursors(connection, format, &store.path))
    }

    /// Runs with transcripts that are not settled, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Unsettled>, StoreError> {
        self.read(ask::unsettled)
    }

    /// The sessions that are asked for: by their own times, `from` compared with the latest, `to` with the
    /// start. One that states no time is not left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sessions(&self, query: &AccountQuery) -> Result<Vec<SessionRow>, StoreError> {
        self.read(|connection| ask::sessions(connection, query))
    }

    /// The calls that are asked for, by time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calls(&self, query: &AccountQuery) -> Result<Vec<CallRow>, StoreError> {
        self.read(|connection| ask::calls(connection, query))
    }

    /// The calls of one session that are not before an instant, by time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calls_of(&self, session: &SessionRow, from: Wall) -> Result<Vec<CallRow>, StoreError> {
        self.read(|connection| ask::calls_of(connection, session, from))
    }

    /// All that attribution goes by; `home`, `now`, `daemon_started` and which windows are `live` are the
    /// caller's to fill in.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        self.facts_since(Wall(i64::MIN))
    }

    /// The same without runs that are pruned and ended before `from`: enough to attribute sessions that
    /// began more than the slack of COR-1 after it, and cheap with a long history.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn facts_since(&self, from: Wall) -> Result<Facts, StoreError> {
        let now = now();
        self.read(|connection| facts::facts(connection, from, now))
    }
}
