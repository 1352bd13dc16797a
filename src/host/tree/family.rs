//! Which processes belong to which run.
//!
//! The daemon adopts every orphan below it, so when a run's main process has
//! been reaped, all that is left of the run are direct children of the daemon
//! and what lies below them. Invariants: a pid is in these tables exactly as
//! long as it is not reaped; a signal goes to nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

use nix::libc;

use super::proc::{Facts, children_of_self, descendants, facts, run_id_of};
use super::signal_exactly;
use crate::base::RunId;
use crate::host::process::{signal_group, signal_pid};

/// Whom a reaped pid belonged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// The main process of a run: the run's exit.
    Main(RunId),
    /// A process that some run has left behind.
    Leftover(RunId),
    /// An orphan that no run could be told of.
    Unclaimed,
}

/// A process that could not be signalled.
#[derive(Debug)]
pub struct Refused {
    /// Which.
    pub pid: i32,
    /// What the system says.
    pub error: io::Error,
}

/// The runs and their processes.
#[derive(Debug, Default)]
pub struct Family {
    runs: HashMap<RunId, Run>,
    /// Main processes that are not reaped yet.
    mains: HashMap<i32, RunId>,
    /// Sessions and process groups by the main process that leads or led them.
    sessions: HashMap<i32, RunId>,
    /// Direct children that are no main process, not reaped yet.
    strays: BTreeMap<i32, Option<RunId>>,
    /// Runs whose main process was reaped since the last survey.
    just_ended: Vec<RunId>,
}

#[derive(Debug)]
struct Run {
    main: i32,
    main_reaped: bool,
    /// To be killed, whatever of it may still turn up.
    killing: bool,
    /// Pids and start times that walks from above have shown to be of this run.
    seen: HashSet<(i32, u64)>,
}

impl Family {
    /// A run's main process was spawned.
    pub fn started(&mut self, run: RunId, pid: i32) {
        self.runs.insert(run, Run { main: pid, main_reaped: false, killing: false, seen: HashSet::new() });
        self.mains.insert(pid, run);
        self.sessions.insert(pid, run);
        self.strays.remove(&pid);
    }

    /// A child was reaped; to be told of each at once, since its pid is free now.
    pub fn reaped(&mut self, pid: i32) -> Reaped {
        if let Some(run) = self.mains.remove(&pid) {
            if let Some(known) = self.runs.get_mut(&run) {
                known.main_reaped = true;
            }
            self.just_ended.push(run);
            return Reaped::Main(run);
        }
        match self.strays.remove(&pid).flatten() {
            Some(run) => Reaped::Leftover(run),
            None => Reaped::Unclaimed,
        }
    }

    /// Looks for orphans that were adopted since the last time; after every
    /// turn that reaped something. What turns up of a run that is being killed
    /// is killed too.
    ///
    /// # Errors
    /// If `/proc` is not there.
    pub fn survey(&mut self) -> io::Result<Vec<Refused>> {
        let fresh = self.adopt()?;
        let mut refused = Vec::new();
        for run in fresh {
            if self.runs.get(&run).is_some_and(|known| known.killing) {
                refused.extend(self.kill(run));
            }
        }
        Ok(refused)
    }

    /// Takes newly adopted orphans into the tables; the runs that they are of.
    fn adopt(&mut self) -> io::Result<BTreeSet<RunId>> {
        let mut fresh = children_of_self()?;
        fresh.retain(|pid| !self.mains.contains_key(pid) && !self.strays.contains_key(pid));
        let mut runs = BTreeSet::new();
        for pid in fresh {
            let run = facts(pid).and_then(|one| self.attribute(&one));
            self.strays.insert(pid, run);
            runs.extend(run);
        }
        self.just_ended.clear();
        Ok(runs)
    }

    /// The run of an orphan: by its environment, its session, its process
    /// group, or because an earlier walk met it. One that shed all of these is
    /// of the only run that can have set it free, if just one has ended.
    fn attribute(&self, orphan: &Facts) -> Option<RunId> {
        let identity = (orphan.pid, orphan.start_time);
        run_id_of(orphan.pid)
            .filter(|run| self.runs.contains_key(run))
            .or_else(|| self.sessions.get(&orphan.session).copied())
            .or_else(|| self.sessions.get(&orphan.pgid).copied())
            .or_else(|| {
                self.runs.iter().find(|(_, known)| known.seen.contains(&identity)).map(|(run, _)| *run)
            })
            .or(match self.just_ended[..] {
                [only] => Some(only),
                _ => None,
            })
    }

    /// The direct children that a run has left behind, zombies included.
    #[must_use]
    pub fn leftovers(&self, run: RunId) -> Vec<i32> {
        self.strays.iter().filter(|(_, of)| **of == Some(run)).map(|(pid, _)| *pid).collect()
    }

    /// Adopted orphans that no run could be told of.
    #[must_use]
    pub fn unclaimed(&self) -> Vec<i32> {
        self.strays.iter().filter(|(_, of)| of.is_none()).map(|(pid, _)| *pid).collect()
    }

    /// Whether nothing of a run is left: its main process and every leftover are reaped.
    #[must_use]
    pub fn is_gone(&self, run: RunId) -> bool {
        self.runs.get(&run).is_none_or(|known| known.main_reaped)
            && !self.strays.values().any(|of| *of == Some(run))
    }

    /// The run is recorded as ended; its session no longer tells anything.
    pub fn forget(&mut self, run: RunId) {
        if let Some(known) = self.runs.remove(&run)
            && self.sessions.get(&known.main) == Some(&run)
        {
            self.sessions.remove(&known.main);
        }
    }

    /// Everything that is alive of a run, as far as one walk finds it.
    #[must_use]
    pub fn members(&mut self, run: RunId) -> Vec<Facts> {
        let main = self.runs.get(&run).filter(|known| !known.main_reaped).map(|known| known.main);
        let direct: Vec<i32> = main.into_iter().chain(self.leftovers(run)).collect();
        let below: Vec<i32> = direct.iter().flat_map(|pid| descendants(*pid)).collect();
        let found = direct.into_iter().chain(below).filter_map(facts).filter(|one| !one.zombie);
        let found: Vec<Facts> = found.collect();
        if let Some(known) = self.runs.get_mut(&run) {
            known.seen.extend(found.iter().map(|one| (one.pid, one.start_time)));
        }
        found
    }

    /// Asks a run to end: its process group while its main process is not
    /// reaped, else everything that it has left behind (LIF-5, LIF-6).
    pub fn stop(&mut self, run: RunId, signal: i32) -> Vec<Refused> {
        let members = self.members(run);
        match self.runs.get(&run) {
            Some(known) if !known.main_reaped => {
                refusal(known.main, signal_group(known.main, signal)).into_iter().collect()
            }
            _ => members.iter().filter_map(|one| self.send(one, signal)).collect(),
        }
    }

    /// Kills everything of a run. What escapes this walk, by forking at that
    /// very moment, comes to us when its parent dies, and [`Self::survey`] kills it.
    pub fn kill(&mut self, run: RunId) -> Vec<Refused> {
        let members = self.members(run);
        let Some(known) = self.runs.get_mut(&run) else { return Vec::new() };
        known.killing = true;
        let group = (!known.main_reaped).then_some(known.main);
        let group = group.and_then(|main| refusal(main, signal_group(main, libc::SIGKILL)));
        group.into_iter().chain(members.iter().filter_map(|one| self.send(one, libc::SIGKILL))).collect()
    }

    /// A child of ours stays what it is until we reap it; others may be reaped under our hands.
    fn send(&self, who: &Facts, signal: i32) -> Option<Refused> {
        let own = self.mains.contains_key(&who.pid) || self.strays.contains_key(&who.pid);
        refusal(who.pid, if own { signal_pid(who.pid, signal) } else { signal_exactly(who, signal) })
    }
}

fn refusal(pid: i32, sent: io::Result<bool>) -> Option<Refused> {
    sent.err().map(|error| Refused { pid, error })
}
