//! A control group for each run, below the one that was delegated to this process.
//!
//! What a process does to its session, parent or environment does not get it out of its control
//! group, so the group finds what every other mark has lost; it also carries the limits of a run.
//! Invariants: nothing is touched outside the delegated directory, which somebody who may do so has
//! marked as handed over; and what a run's group is, its directory alone says, so that nothing is
//! lost with the memory of a daemon.

mod end;
mod group;
mod place;

pub use group::{Entry, GroupError, Limits};
pub use place::Undelegated;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::RunId;

/// The directory that this process moves into: a group that hands out controllers may hold no process.
const OWN: &str = "supervisor";
/// What the directory of a run begins with; its id follows.
const RUN: &str = "run-";

/// How long the processes of a killed group may take to vanish, and how often it is looked.
const DYING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// A control group that is ours to divide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Containment {
    /// Its directory.
    root: Utf8PathBuf,
    /// Its path as `/proc/PID/cgroup` tells it.
    path: Utf8PathBuf,
}

impl Containment {
    /// The directory of the delegated group of this process, which is left as it is.
    ///
    /// # Errors
    /// [`Undelegated`]: why there is none.
    pub fn delegated() -> Result<Utf8PathBuf, Undelegated> {
        place::find().map(|place| place.root)
    }

    /// Takes the delegated group of this process, if there is one, and moves this process out of
    /// the way of its runs.
    ///
    /// # Errors
    /// [`Undelegated`]: why there is none.
    pub fn establish() -> Result<Self, Undelegated> {
        let place = place::find()?;
        let containment = Self::at(place.root, place.path);
        containment
            .move_in()
            .map_err(|cause| Undelegated::Refused { root: containment.root.clone(), cause })?;
        Ok(containment)
    }

    /// The group with this directory and this path in `/proc/PID/cgroup`.
    #[must_use]
    pub const fn at(root: Utf8PathBuf, path: Utf8PathBuf) -> Self {
        Self { root, path }
    }

    /// The directory that was delegated.
    #[must_use]
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    fn move_in(&self) -> io::Result<()> {
        let own = self.root.join(OWN);
        make_directory(&own)?;
        group::write(&own.join("cgroup.procs"), "0")
    }

    /// The directory of a run.
    fn of(&self, run: RunId) -> Utf8PathBuf {
        self.root.join(format!("{RUN}{run}"))
    }

    /// The run whose group a process is in, also in a group below it.
    #[must_use]
    pub fn run_of(&self, pid: i32) -> Option<RunId> {
        self.run_in(&fs::read(format!("/proc/{pid}/cgroup")).ok()?)
    }

    /// The same, from what `/proc/PID/cgroup` holds.
    fn run_in(&self, text: &[u8]) -> Option<RunId> {
        let path = place::unified_path(text)?;
        let below = path.strip_prefix(&self.path).ok()?;
        run_of_name(below.components().next()?.as_str())
    }

    /// The processes in a run's group and in those below it; none if it has no group.
    #[must_use]
    pub fn members(&self, run: RunId) -> Vec<i32> {
        end::members(&self.of(run))
    }

    /// Whether a process is alive in a run's group or below it. Without a group: no.
    ///
    /// # Errors
    /// If the group is there and does not tell.
    pub fn is_populated(&self, run: RunId) -> io::Result<bool> {
        end::is_populated(&self.of(run))
    }

    /// Kills every process of a run's group at once.
    ///
    /// # Errors
    /// What the system says; a group that is not there is no error.
    pub fn kill(&self, run: RunId) -> io::Result<()> {
        end::kill(&self.of(run))
    }

    /// How often the kernel has killed a process of the run because its group had no memory left.
    #[must_use]
    pub fn memory_kills(&self, run: RunId) -> u64 {
        end::counter(&self.of(run).join("memory.events"), "oom_kill").unwrap_or(0)
    }

    /// Removes a run's group, and what the run has made below it.
    ///
    /// # Errors
    /// If a process is alive in it.
    pub fn remove(&self, run: RunId) -> io::Result<()> {
        end::remove(&self.of(run))
    }

    /// Ends what is alive in the groups of `lost` runs, and removes these and every other group of a
    /// run that is empty. One that is not is another process's (`harnessd once`). Tells how many
    /// groups had to be killed.
    #[must_use]
    pub fn sweep(&self, lost: &HashSet<RunId>) -> usize {
        let Ok(entries) = self.root.read_dir_utf8() else { return 0 };
        let runs = entries.flatten().filter_map(|entry| run_of_name(entry.file_name()));
        let mut killed = 0;
        for run in runs.collect::<Vec<_>>() {
            let directory = self.of(run);
            if lost.contains(&run) && end::is_populated(&directory).unwrap_or(true) {
                killed += 1;
                end::kill_and_wait(&directory, DYING, LOOK);
            }
            // One that stays is tried again by the next daemon.
            let _removed = end::remove(&directory);
        }
        killed
    }
}

fn run_of_name(name: &str) -> Option<RunId> {
    name.strip_prefix(RUN)?.parse().ok()
}

fn make_directory(path: &Utf8Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests;
