//! Layer 3: what is remembered, in one SQLite file.
//!
//! Invariants: what one turn of the loop decides is one transaction; it is
//! there whole or not at all, whatever kills the process. A claimed slot is on
//! the disk before the claim is answered (LIF-9).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::base::{HarnessName, RunId, Wall, nearest};
use crate::wire::{Record, RegisteredProject, Run};

mod account;
mod connect;
mod error;
mod projects;
mod prune;
mod read;
mod rehearse;
mod replace;
mod rows;
mod salvage;
mod schema;
mod write;

pub use account::{AccountQuery, CallRow, Cursor, Progress, SessionRow, Unsettled};
pub use error::{RunLookupError, StoreError, StoreProblem};
pub use prune::PrunedRun;
pub use read::{Recorded, Remembered, RunQuery};
pub use replace::Replaced;

/// The database inside the state directory.
const FILE: &str = "state.db";

/// The fewest characters of a run's id that name it.
const LEAST_PART: usize = 4;

/// How many of the newest runs a mistyped id is compared with.
const COMPARED: u32 = 500;

/// The state store: one file, one writer at a time, readers whenever they like.
#[derive(Debug)]
pub struct Store {
    path: Utf8PathBuf,
    /// None: for reading only; each question opens the file anew, so that
    /// nothing is held in between.
    writer: Option<connect::Writer>,
    /// Whether the last write was refused for good: only one that is opened anew may be written.
    refused: bool,
    /// When what is too old was last forgotten.
    forgotten: Option<Wall>,
}

impl Store {
    /// Opens the store in `dir` for writing; makes what is missing and brings
    /// an older schema up to date.
    ///
    /// # Errors
    /// If the file cannot be made, opened or written, is none of ours, or was
    /// written by a newer program.
    pub fn open(dir: &Utf8Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        match connect::writer(&path) {
            Ok(writer) => Ok(Self { path, writer: Some(writer), refused: false, forgotten: None }),
            Err(problem) => Err(StoreError { path, problem }),
        }
    }

    /// Opens the store in `dir` to look at it, beside a writer or without one;
    /// creates nothing. None: there is no store yet.
    ///
    /// # Errors
    /// If the file cannot be opened, is none of ours, or was written by a newer program.
    pub fn open_read(dir: &Utf8Path) -> Result<Option<Self>, StoreError> {
        let path = dir.join(FILE);
        match connect::look(&path, |_| Ok(())) {
            Ok(Some(())) => Ok(Some(Self { path, writer: None, refused: false, forgotten: None })),
            Ok(None) => Ok(None),
            Err(problem) => Err(StoreError { path, problem }),
        }
    }

    /// Whether every page is whole and what a start needs makes sense, for one that only looks.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn examine(&self) -> Result<(), StoreError> {
        self.read(connect::pages)?;
        self.open_runs()?;
        self.remembered().map(drop)
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Remembers one turn's records: all of them or, on an error, none.
    ///
    /// With a claim among them the call returns when they are on the disk
    /// (`synchronous = FULL`); without one a power cut may take the last
    /// second, a crash of the process nothing (`NORMAL`).
    ///
    /// # Errors
    /// If the store cannot be written, a record speaks of a run that was never started, or the file was
    /// removed: then what was committed went with it.
    pub fn commit(&mut self, records: &[Record]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let flushed = records.iter().any(|record| matches!(record, Record::Fired { .. }));
        self.write(flushed, |transaction| {
            let mut turn = write::Turn::new(transaction);
            records.iter().try_for_each(|record| turn.apply(record))
        })?;
        self.stay_in_place()
    }

    /// Looks whether the files that were written are those that others will read. A log that was removed
    /// is made anew: its contents are moved into the database first, which this connection still can.
    fn stay_in_place(&mut self) -> Result<(), StoreError> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let done = match writer.is_in_place(&self.path) {
            connect::InPlace::Whole => return Ok(()),
            connect::InPlace::Gone => Err(StoreProblem::Gone),
            connect::InPlace::LogGone => {
                connect::checkpoint(&writer.connection).and_then(|()| connect::writer(&self.path))
            }
        };
        match done {
            Ok(writer) => self.writer = Some(writer),
            Err(problem) => return Err(StoreError { path: self.path.clone(), problem }),
        }
        Ok(())
    }

    /// The runs that `query` asks for, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs(&self, query: &RunQuery) -> Result<Vec<Run>, StoreError> {
        self.read(|connection| read::runs(connection, query))
    }

    /// The run with this id, or with this unambiguous beginning or end of one.
    ///
    /// # Errors
    /// If there is none or more than one, or the store cannot be read.
    pub fn run(&self, id_or_part: &str) -> Result<Run, RunLookupError> {
        if let Ok(id) = id_or_part.parse::<RunId>() {
            if let Some(run) = self.read(|connection| read::run(connection, id))? {
                return Ok(run);
            }
            return match self.read(|connection| read::window(connection, id))? {
                Some(harness) => Err(RunLookupError::Pruned { id, harness }),
                None => Err(self.unknown(&id.to_string())?),
            };
        }
        let part = id_or_part.to_ascii_lowercase();
        if !part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            return Err(self.unknown(id_or_part)?);
        }
        if part.len() < LEAST_PART {
            return Err(RunLookupError::TooShort { part, least: LEAST_PART });
        }
        let found = self.read(|connection| read::ids_with(connection, &part))?;
        match found.as_slice() {
            [] => Err(self.unknown(&part)?),
            [id] => match self.read(|connection| read::run(connection, *id))? {
                Some(run) => Ok(run),
                None => Err(self.unknown(&part)?),
            },
            _ => Err(RunLookupError::Ambiguous { part, candidates: found }),
        }
    }

    /// Runs of a harness of that name, else those whose id begins or ends almost so.
    fn unknown(&self, part: &str) -> Result<RunLookupError, StoreError> {
        let of_harness = match HarnessName::parse(part) {
            Ok(harness) => {
                self.runs(&RunQuery { harness: Some(harness), limit: 3, ..RunQuery::default() })?
            }
            Err(_) => Vec::new(),
        };
        let mut near: Vec<RunId> = of_harness.into_iter().map(|run| run.id).collect();
        if near.is_empty() {
            let ids = self.read(|connection| read::newest_ids(connection, COMPARED))?;
            let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let ends = texts.iter().flat_map(|text| {
                let length = part.len().min(text.len());
                [text.get(..length), text.get(text.len() - length..)]
            });
            for end in nearest(part, ends.flatten()) {
                let meant =
                    ids.iter().zip(&texts).find(|(_, text)| text.starts_with(end) || text.ends_with(end));
                near.extend(meant.map(|(id, _)| *id).filter(|id| !near.contains(id)));
            }
        }
        Ok(RunLookupError::Unknown { part: part.to_owned(), nearest: near })
    }

    /// The names of all harnesses that have runs.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn harnesses(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::harnesses)
    }

    /// How many runs each harness has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn counts(&self) -> Result<Vec<(HarnessName, u64)>, StoreError> {
        self.read(read::counts)
    }

    /// Runs without an outcome, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.read(read::open_runs)
    }

    /// The runs that a later daemon closed, since nobody knows when they ended.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn lost_runs(&self) -> Result<Vec<RunId>, StoreError> {
        self.read(read::lost_runs)
    }

    /// Runs of `harness` without an outcome, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_runs_of(&self, harness: &HarnessName) -> Result<Vec<Run>, StoreError> {
        self.read(|connection| read::open_runs_of(connection, harness))
    }

    /// How long a commit waits for another process's transaction.
    ///
    /// # Errors
    /// If the store refuses.
    pub fn set_patience(&mut self, patience: Duration) -> Result<(), StoreError> {
        self.read(|connection| Ok(connection.busy_timeout(patience)?))
    }

    /// What a daemon that starts must know.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn remembered(&self) -> Result<Remembered, StoreError> {
        self.read(read::remembered)
    }

    /// The projects that `up` has registered, as the store in `dir` knows them; none, also if that is of before
    /// there were any.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn registered(dir: &Utf8Path) -> Result<Vec<RegisteredProject>, StoreError> {
        match Self::open_read(dir) {
            Ok(store) => store.map_or_else(|| Ok(Vec::new()), |store| store.projects()),
            Err(error) if error.problem == StoreProblem::Older => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The projects that `up` has registered, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn projects(&self) -> Result<Vec<RegisteredProject>, StoreError> {
        self.read(projects::all)
    }

    /// Forgets the ended runs of `harness` beyond the newest `keep`; says which,
    /// so that their logs can go too.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn prune(&mut self, harness: &HarnessName, keep: u32) -> Result<Vec<PrunedRun>, StoreError> {
        self.prune_at(harness, keep, now())
    }

    fn prune_at(
        &mut self,
        harness: &HarnessName,
        keep: u32,
        now: Wall,
    ) -> Result<Vec<PrunedRun>, StoreError> {
        let boundaries = self.read(|connection| prune::boundaries(connection, harness, keep))?;
        if boundaries.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        self.write(false, |transaction| prune::prune(transaction, harness, &boundaries, now))
    }

    /// Forgets runs of a harness that is configured no more once they are older than 400 days.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn expire(&mut self, harness: &HarnessName) -> Result<Vec<PrunedRun>, StoreError> {
        let now = now();
        self.write(false, |transaction| prune::expire(transaction, harness, now))
    }

    /// The ids of all runs that are recorded, and since when the store knows of every run.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn recorded(&self) -> Result<Recorded, StoreError> {
        self.read(read::recorded)
    }

    fn read<T>(&self, look: impl Fn(&Connection) -> Result<T, StoreProblem>) -> Result<T, StoreError> {
        let seen = match &self.writer {
            Some(writer) => look(&writer.connection),
            None => match connect::look(&self.path, look) {
                Ok(Some(seen)) => Ok(seen),
                Ok(None) => Err(StoreProblem::NotReadable("no such file or directory".to_owned())),
                Err(problem) => Err(problem),
            },
        };
        seen.map_err(|problem| StoreError { path: self.path.clone(), problem })
    }

    fn write<T>(
        &mut self,
        flushed: bool,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreProblem>,
    ) -> Result<T, StoreError> {
        let done = match &mut self.writer {
            Some(writer) => transact(&mut writer.connection, flushed, work),
            None => Err(StoreProblem::ReadOnly),
        };
        // SQLite goes on with a log that it once could open for reading only, whatever its mode is by now.
        self.refused = matches!(done, Err(StoreProblem::NotWritable(_)));
        done.map_err(|problem| StoreError { path: self.path.clone(), problem })
    }
}

fn now() -> Wall {
    Wall::default() + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn transact<T>(
    connection: &mut Connection,
    flushed: bool,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreProblem>,
) -> Result<T, StoreProblem> {
    // Set before the transaction each time: within one SQLite refuses it, and a
    // failed one must not leave its mark on the next.
    let mode = if flushed { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
    connection.prepare_cached(mode)?.execute([])?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

#[cfg(test)]
mod tests;
