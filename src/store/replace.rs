//! A store that is damaged is moved aside and a new one is made (CTL-13).
//!
//! Invariants: only a daemon does it, since it holds the lock of the state
//! directory; a file that was moved aside is never written over; whatever of it
//! can still be read is in the new one.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::connect::{self, beside};
use super::error::{StoreError, StoreProblem};
use super::salvage::salvage;
use super::{FILE, Store, now, transact};

/// What lies beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A store that took the place of a damaged one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Where the damaged file lies now.
    pub aside: Utf8PathBuf,
    /// What was wrong with it.
    pub problem: StoreProblem,
    /// How many runs could be read of it.
    pub runs: usize,
    /// How many intents.
    pub intents: usize,
    /// How many claimed slots: a schedule without one has missed nothing and fires at its next slot.
    pub firings: usize,
}

impl std::fmt::Display for Replaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { aside, problem, runs, intents, firings } = self;
        write!(
            f,
            "the state store was damaged ({problem}): it lies at `{aside}`, a new one was made, and {runs} runs, \
             {intents} intents and the last slots of {firings} schedules could be read"
        )
    }
}

impl Store {
    /// Opens the store in `dir` as [`Store::open`] does, after a look at every page; a damaged one is
    /// moved aside. For the one process that has the lock of `dir`.
    ///
    /// # Errors
    /// As for [`Store::open`], or if the damaged file cannot be moved.
    pub fn open_or_replace(dir: &Utf8Path) -> Result<(Self, Option<Replaced>), StoreError> {
        let path = dir.join(FILE);
        let look = || {
            let store = Self::open(dir)?;
            store.read(connect::check)?;
            // What a start needs must make sense too: a page may be whole and its contents not.
            store.open_runs()?;
            store.remembered()?;
            store.unsettled()?;
            store.projects()?;
            Ok(store)
        };
        // Only what is there at a second look is damage: the first one may have met a moment without
        // descriptors, in which SQLite opens for reading only, or without an answer of the disk.
        let patient =
            |error: &StoreError| !matches!(error.problem, StoreProblem::Locked | StoreProblem::Full);
        let opened = look().or_else(|error: StoreError| if patient(&error) { look() } else { Err(error) });
        let problem = match opened {
            Ok(store) => return Ok((store, None)),
            Err(error) => error.problem,
        };
        let problem = match problem {
            // SQLite opens a file for reading only whose header says so, whatever its mode.
            StoreProblem::NotWritable(_) if connect::header_forbids_writing(&path) => {
                StoreProblem::Damaged("its header says that it cannot be written".to_owned())
            }
            problem => problem,
        };
        if !problem.is_damage() && !matches!(problem, StoreProblem::Other(_)) {
            return Err(StoreError { path, problem });
        }
        let failed = |problem| StoreError { path: path.clone(), problem };
        let aside = move_aside(&path).map_err(|cause| {
            failed(StoreProblem::NotWritable(format!(
                "it is damaged and cannot be moved: {}",
                connect::said(&cause)
            )))
        })?;
        let kept = salvage(&aside);
        let mut store = Self::open(dir)?;
        let (runs, intents, firings) = (kept.runs.len(), kept.intents.len(), kept.firings.len());
        let replaced = Replaced { aside, problem, runs, intents, firings };
        if let Some(writer) = &mut store.writer {
            transact(&mut writer.connection, true, |transaction| kept.restore(transaction, now()))
                .map_err(failed)?;
        }
        Ok((store, Some(replaced)))
    }

    /// Whether there was no store before this one was opened.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.made)
    }
}

/// Renames the database and what lies beside it, so that SQLite still finds them together.
fn move_aside(path: &Utf8Path) -> io::Result<Utf8PathBuf> {
    let time = now().utc().format("%Y%m%dT%H%M%SZ");
    let taken = |aside: &Utf8Path| {
        aside.exists() || COMPANIONS.iter().any(|companion| beside(aside, companion).exists())
    };
    let names = (1..).map(|n| match n {
        1 => Utf8PathBuf::from(format!("{path}.corrupt-{time}")),
        n => Utf8PathBuf::from(format!("{path}.corrupt-{time}.{n}")),
    });
    let aside = names.into_iter().find(|aside| !taken(aside)).unwrap_or_else(|| beside(path, ".corrupt"));
    for companion in COMPANIONS {
        rename_if_there(&beside(path, companion), &beside(&aside, companion))?;
    }
    // Last, so that one that fails half-way is tried again by the next start.
    rename_if_there(path, &aside)?;
    Ok(aside)
}

fn rename_if_there(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
