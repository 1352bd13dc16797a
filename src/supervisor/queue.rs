//! Which one-shots may go on at once (SCH-9, SCH-12).
//!
//! Invariants: at most `bound` runs are admitted, and of runs that share a directory exclusively one;
//! those that wait are admitted in the order of their keys, and one whose directory is busy holds up
//! nobody else. The work for one run grows with the logarithm of their number only.

mod handed;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::base::{RunId, Wall};
use crate::config::Harness;
use crate::wire::WaitingReason;

pub(super) use handed::HandedQueue;

/// A working directory that runs share exclusively; none: the home directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Place {
    // Named: written down, the home directory must not look like no place at all.
    workdir: Option<Utf8PathBuf>,
}

impl Place {
    /// Where the runs of a harness wait for one another.
    pub(super) fn of(harness: &Harness) -> Option<Self> {
        harness.exclusive.then(|| Self { workdir: harness.workdir.clone().filter(|_| !harness.at_home) })
    }
}

/// The order of admission: by slot, or by decision where there is none; ids rise with decisions.
type Key = (Wall, RunId);

/// One directory's line.
#[derive(Debug, Default)]
struct Line {
    busy: Option<RunId>,
    waiting: BTreeSet<Key>,
}

impl Line {
    /// Its first one, while that waits for nothing but room.
    fn ready(&self) -> Option<Key> {
        self.waiting.first().copied().filter(|_| self.busy.is_none())
    }
}

/// Who waits, and who goes on.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bound: Option<u32>,
    admitted: BTreeMap<RunId, Option<Place>>,
    waiting: BTreeMap<RunId, (Wall, Option<Place>)>,
    ready: BTreeSet<Key>,
    lines: BTreeMap<Place, Line>,
}

impl Queue {
    /// So many may go on at once from now on; what goes on is not touched.
    pub(super) const fn set_bound(&mut self, bound: Option<u32>) {
        self.bound = bound;
    }

    /// A run waits for its turn.
    pub(super) fn join(&mut self, run: RunId, since: Wall, place: Option<Place>) {
        match &place {
            None => {
                self.ready.insert((since, run));
            }
            Some(place) => self.line(place, |line| {
                line.waiting.insert((since, run));
            }),
        }
        self.waiting.insert(run, (since, place));
    }

    /// Admits the next run, if there is room for one that may go on.
    pub(super) fn next(&mut self) -> Option<RunId> {
        let room = self.bound.is_none_or(|bound| self.admitted.len() < bound as usize);
        let (_, run) = *self.ready.first().filter(|_| room)?;
        let (_, place) = self.leave(run, Some(run))?;
        self.admitted.insert(run, place);
        Some(run)
    }

    /// An admitted run is over.
    pub(super) fn release(&mut self, run: RunId) {
        if let Some(Some(place)) = self.admitted.remove(&run) {
            self.line(&place, |line| line.busy = None);
        }
    }

    /// A run waits no more; since when it did, if it did.
    pub(super) fn withdraw(&mut self, run: RunId) -> Option<Wall> {
        self.leave(run, None).map(|(since, _)| since)
    }

    /// Takes a run out of its line, whose directory `busy` uses from now on, if anybody.
    fn leave(&mut self, run: RunId, busy: Option<RunId>) -> Option<(Wall, Option<Place>)> {
        let (since, place) = self.waiting.remove(&run)?;
        match &place {
            None => {
                self.ready.remove(&(since, run));
            }
            Some(place) => self.line(place, |line| {
                line.waiting.remove(&(since, run));
                line.busy = busy.or(line.busy);
            }),
        }
        Some((since, place))
    }

    /// What a run waits for.
    pub(super) fn reason(&self, run: RunId) -> Option<WaitingReason> {
        let (since, _) = self.waiting.get(&run)?;
        let ready = self.ready.contains(&(*since, run));
        Some(if ready { WaitingReason::Queue } else { WaitingReason::Workdir })
    }

    /// The clock went back: those who wait must not stand behind all that comes until it is there again.
    pub(super) fn follow_clock_back(&mut self, now: Wall) {
        let ahead = self.waiting.iter().filter(|(_, (since, _))| *since > now);
        let ahead: Vec<(RunId, Option<Place>)> =
            ahead.map(|(run, (_, place))| (*run, place.clone())).collect();
        for (run, place) in ahead {
            self.withdraw(run);
            self.join(run, now, place);
        }
    }

    /// Changes a line and sees to it that just its first one is ready.
    fn line(&mut self, place: &Place, change: impl FnOnce(&mut Line)) {
        let line = self.lines.entry(place.clone()).or_default();
        let before = line.ready();
        change(line);
        let ready = line.ready();
        let over = line.busy.is_none() && line.waiting.is_empty();
        if before != ready {
            before.map(|key| self.ready.remove(&key));
            self.ready.extend(ready);
        }
        if over {
            self.lines.remove(place);
        }
    }
}
