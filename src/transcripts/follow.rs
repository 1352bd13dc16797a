//! Looking again and again at the stores of runs, and reading what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use camino::Utf8Path;

use super::book::Book;
use super::cursors::{Account, Cursors, Nothing};
use super::gather::Gather;
use super::{files, rows};
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::SLACK;
use crate::host::transcript::evidence::traces;
use crate::host::transcript::{Unreadable, places};
use crate::store::Progress;
use crate::trajectory::{Event, Format, Layout, Needs};
use crate::wire::{Evidence, StorePlace, Trail};

/// So long after its end what a run has left is tried to be read.
const PATIENCE: Duration = Duration::from_secs(600);

/// A run whose transcripts are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The run.
    pub run: RunId,
    /// Its harness.
    pub harness: HarnessName,
    /// Where to look.
    pub trail: Trail,
    /// Its start.
    pub from: Wall,
    /// Its end; none: it runs. With an end this is the last look: all of the store is searched, what is held
    /// back is told, and the run is settled.
    pub to: Option<Wall>,
    /// The processes of its tree that are alive, for evidence.
    pub processes: Vec<i32>,
    /// How much is wanted: [`Needs::Everything`] gives events.
    pub needs: Needs,
}

impl Subject {
    /// Whether something of this instant can be the run's, by its time (COR-7).
    pub(super) fn covers(&self, at: Wall, now: Wall) -> bool {
        at >= self.from - SLACK && at <= self.to.unwrap_or(now) + SLACK
    }
}

/// What could not be read, or was odd.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// The file, directory or database.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
    /// The store that it is in, if it is of one.
    pub store: Option<String>,
}

/// What one look brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// For the account: one transaction.
    pub progress: Progress,
    /// New events of the subjects that want them, with the native id of their session, without what was said
    /// in them. Each is told once a run, provided that the progress is committed. The session is of the run's
    /// workdir and store; whether it is the run's is for [`crate::correlate`] to say.
    pub events: Vec<(RunId, String, Event)>,
    /// What was odd, each once a follower.
    pub warnings: Vec<Warning>,
    /// There is more to read than one look takes: look again as soon as the progress is committed. Runs that
    /// are over are settled only then.
    pub more: bool,
}

/// Looks at stores, and remembers what it saw, so that an unchanged store costs little.
#[derive(Debug)]
pub struct Follower {
    cursors: Box<dyn Cursors>,
    books: BTreeMap<(Format, String), Book>,
    warned: BTreeSet<Warning>,
}

impl Default for Follower {
    fn default() -> Self {
        Self::over(Box::new(Nothing))
    }
}

impl Follower {
    /// A follower that takes up where the account in `state` says that reading stopped.
    #[must_use]
    pub fn new(state: &Utf8Path) -> Self {
        Self::over(Box::new(Account { state: state.to_owned() }))
    }

    pub(super) fn over(cursors: Box<dyn Cursors>) -> Self {
        Self { cursors, books: BTreeMap::new(), warned: BTreeSet::new() }
    }

    /// Looks at the stores of these runs. If its progress could not be committed the follower is to be
    /// thrown away: a new one begins at what the account says.
    pub fn look(&mut self, subjects: &[Subject], now: Wall) -> Look {
        let mut gather = Gather::new(now, &mut self.warned);
        let mut stores: BTreeMap<(Format, &str), (&StorePlace, Vec<&Subject>)> = BTreeMap::new();
        for subject in subjects {
            let Some(format) = subject.trail.format.as_deref().and_then(|format| format.parse().ok()) else {
                continue;
            };
            // A run without a directory of its own is credited with nothing (COR-1).
            if subject.trail.workdir.is_none() {
                continue;
            }
            for place in &subject.trail.stores {
                let (_, of) = stores.entry((format, &place.path)).or_insert((place, Vec::new()));
                if !of.iter().any(|known| known.run == subject.run) {
                    of.push(subject);
                }
            }
        }
        let mut unread: BTreeSet<RunId> = BTreeSet::new();
        let mut missing: BTreeSet<&str> = BTreeSet::new();
        for ((format, path), (place, subjects)) in stores {
            gather.store = Some(path.to_owned());
            match is_there(format, path) {
                Ok(true) => {}
                Ok(false) => {
                    missing.insert(path);
                    continue;
                }
                Err(problem) => {
                    gather.unreadable(problem);
                    unread.extend(impatient(&subjects, now));
                    continue;
                }
            }
            let key = (format, path.to_owned());
            if !self.books.contains_key(&key) {
                match Book::open(format, place, self.cursors.as_ref()) {
                    Ok(book) => drop(self.books.insert(key.clone(), book)),
                    // Without its cursors everything would be told again.
                    Err(warning) => {
                        gather.store = None;
                        gather.warn(warning.path, warning.message);
                        unread.extend(subjects.iter().map(|subject| subject.run));
                        continue;
                    }
                }
            }
            let Some(book) = self.books.get_mut(&key) else { continue };
            gather.failed = false;
            if !look_at(book, &subjects, self.cursors.as_ref(), &mut gather) {
                gather.look.more = true;
                unread.extend(subjects.iter().map(|subject| subject.run));
            } else if gather.failed {
                unread.extend(impatient(&subjects, now));
            }
        }
        gather.store = None;
        for subject in
            subjects.iter().filter(|subject| subject.to.is_some() && !unread.contains(&subject.run))
        {
            say_missing(subject, &missing, &mut gather);
            for book in self.books.values_mut() {
                book.forget(subject.run);
            }
            gather.look.progress.settled.push(subject.run);
        }
        gather.look
    }
}

/// The runs for whose sake a store that cannot be read now is tried again: it may be locked, or on a disk that
/// comes back. What was over for long is given up.
fn impatient(subjects: &[&Subject], now: Wall) -> Vec<RunId> {
    let recent = |subject: &&&Subject| subject.to.is_none_or(|to| now < to + PATIENCE);
    subjects.iter().filter(recent).map(|subject| subject.run).collect()
}

/// Whether there is a store. What stands in its place otherwise is said.
fn is_there(format: Format, path: &str) -> Result<bool, Unreadable> {
    match format.layout() {
        Layout::Files(_) => places::is_directory(Utf8Path::new(path)),
        Layout::Database(_) => Ok(places::stamp(Utf8Path::new(path))?.is_some()),
    }
}

/// Looks at one store. False: there is more to read.
fn look_at(book: &mut Book, subjects: &[&Subject], cursors: &dyn Cursors, gather: &mut Gather<'_>) -> bool {
    let done = match book.format.layout() {
        Layout::Files(layout) => {
            for subject in subjects.iter().filter(|subject| !subject.processes.is_empty()) {
                let store = Utf8Path::new(&book.place.path);
                let mut problems = Vec::new();
                let found =
                    traces(store, &layout, &subject.processes, subject.from, &mut |one| problems.push(one));
                problems.into_iter().for_each(|problem| gather.unreadable(problem));
                for trace in found {
                    if trace.evidence == Evidence::Pid {
                        book.noted(subject, trace.pid, &trace.session, gather.now);
                    }
                    book.tie(subject.run, trace.session, trace.evidence, gather);
                }
            }
            files::Look { book, layout: &layout, subjects, cursors, gather }.look()
        }
        Layout::Database(layout) => {
            let look = rows::Look { book, layout: &layout, subjects, cursors, gather };
            look.look().unwrap_or_else(|problem| {
                gather.unreadable(problem);
                gather.failed = true;
                true
            })
        }
    };
    book.tie_launched(subjects, gather);
    book.close(gather);
    subjects.iter().filter(|subject| subject.to.is_some()).for_each(|subject| book.over(subject.run));
    done
}

/// TRJ-5: a store that should be there after a run and is not: all of them, or one that the harness names.
fn say_missing(subject: &Subject, missing: &BTreeSet<&str>, gather: &mut Gather<'_>) {
    let stores = &subject.trail.stores;
    let none = stores.iter().all(|store| missing.contains(store.path.as_str()));
    for store in stores.iter().filter(|store| missing.contains(store.path.as_str()) && (none || store.named))
    {
        let message = format!(
            "it does not exist after a run of `{}`, which wrote nothing or wrote it elsewhere",
            subject.harness
        );
        gather.warn(store.path.clone(), message);
    }
}
