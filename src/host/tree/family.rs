//! Which processes belong to which run, or to which errand: that is a tree with an id like a run's.
//!
//! The daemon adopts every orphan below it, so when a run's main process has
//! been reaped, all that is left of the run are direct children of the daemon
//! and what lies below them. Invariants: a pid is in these tables exactly as
//! long as it is not reaped; a signal goes to nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use nix::libc;
use serde::{Deserialize, Serialize};

use super::proc::{Facts, children_of_self, descendants, facts, tree_id_of};
use super::signal_exactly;
use crate::base::RunId;
use crate::host::cgroup::Containment;
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

/// What is left of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// Its main process or a leftover of it: a death of a child will tell of its end.
    Children,
    /// Something that only its control group tells of, of whose end nothing will tell.
    Elsewhere,
    /// Nothing.
    Nothing,
}

/// A process that could not be signalled.
#[derive(Debug)]
pub struct Refused {
    /// Which.
    pub pid: i32,
    /// What the system says.
    pub error: io::Error,
}

/// Where to look for the processes of a run: what a walk that is made later, or by another thread, needs.
#[derive(Debug, Clone)]
pub struct Kin {
    run: RunId,
    /// Its main process and what it has left behind.
    direct: Vec<i32>,
    groups: Option<Arc<Containment>>,
}

impl Kin {
    /// The processes that one walk finds.
    #[must_use]
    pub fn pids(&self) -> BTreeSet<i32> {
        let below = self.direct.iter().flat_map(|pid| descendants(*pid));
        let grouped = self.groups.iter().flat_map(|groups| groups.members(self.run));
        self.direct.iter().copied().chain(below).chain(grouped).collect()
    }
}

/// The runs and their processes. They can be written down and read back (CTL-11): a process that
/// executes another program keeps its children.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Family {
    runs: HashMap<RunId, Run>,
    /// Main processes that are not reaped yet.
    mains: HashMap<i32, RunId>,
    /// Sessions and process groups by the main process that leads or led them.
    sessions: HashMap<i32, RunId>,
    /// Direct children that are no main process, not reaped yet.
    strays: BTreeMap<i32, Owner>,
    /// Runs whose main process was reaped since the last survey.
    just_ended: BTreeSet<RunId>,
    /// The control groups of the runs, where there are any; a successor finds them by itself.
    #[serde(skip)]
    groups: Option<Arc<Containment>>,
}

/// Whose an adopted orphan is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Owner {
    /// A run's: ended with it, and the run is not over before.
    Run(RunId),
    /// One of these runs', of which at least one main process is alive. It is
    /// let live as long as any of them, since that one may have started it.
    Unknown { candidates: Vec<RunId> },
    /// No run's; it ends with the daemon.
    Nobody,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Run {
    main: i32,
    /// When the main process started, in clock ticks since boot.
    started: u64,
    main_reaped: bool,
    /// To be killed, whatever of it may still turn up.
    #[serde(default)]
    killing: bool,
    /// Pids and start times that walks from above have shown to be of this run.
    #[serde(default)]
    seen: HashSet<(i32, u64)>,
}

impl Family {
    /// From now on the control groups of the runs count too.
    pub fn contain(&mut self, groups: Arc<Containment>) {
        self.groups = Some(groups);
    }

    /// A run's main process was spawned; `start_time` is in clock ticks since boot. Once it is reaped
    /// the run may get another one, its check: what was known of the run stays known.
    pub fn started(&mut self, run: RunId, pid: i32, start_time: u64) {
        let before = self.runs.get_mut(&run).map(|known| (known.started, std::mem::take(&mut known.seen)));
        self.forget(run);
        let (started, seen) = before.unwrap_or((start_time, HashSet::new()));
        self.runs.insert(run, Run { main: pid, started, main_reaped: false, killing: false, seen });
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
            self.just_ended.insert(run);
            return Reaped::Main(run);
        }
        match self.strays.remove(&pid) {
            Some(Owner::Run(run)) => Reaped::Leftover(run),
            Some(Owner::Unknown { .. } | Owner::Nobody) | None => Reaped::Unclaimed,
        }
    }

    /// Looks for orphans that were adopted since the last time, and gives those
    /// that waited for the last of their candidates to it; after every turn that
    /// reaped something, before any run is asked about or forgotten. What turns
    /// up of a run that is being killed is killed too.
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

    /// Takes newly adopted orphans into the tables; the runs that have got leftovers.
    fn adopt(&mut self) -> io::Result<BTreeSet<RunId>> {
        let mut runs = self.settle_unknown();
        let mut fresh = children_of_self()?;
        fresh.retain(|pid| !self.mains.contains_key(pid) && !self.strays.contains_key(pid));
        for pid in fresh {
            let owner = facts(pid).map_or(Owner::Nobody, |one| self.attribute(&one));
            runs.extend(owner.run());
            self.strays.insert(pid, owner);
        }
        self.just_ended.clear();
        Ok(runs)
    }

    /// Gives each orphan whose last candidate has ended to that one; the runs
    /// that have got one. Its environment is asked once more: one that was found
    /// in the middle of an `exec` had none to show.
    fn settle_unknown(&mut self) -> BTreeSet<RunId> {
        let mut settled = Vec::new();
        if !self.just_ended.is_empty() {
            for (pid, owner) in &self.strays {
                let Owner::Unknown { candidates } = owner else { continue };
                if let Some(run) = self.named_by(*pid) {
                    settled.push((*pid, Owner::Run(run)));
                } else if !self.any_alive(candidates) {
                    settled.push((*pid, self.last_of(candidates)));
                }
            }
        }
        let runs = settled.iter().filter_map(|(_, owner)| owner.run()).collect();
        self.strays.extend(settled);
        runs
    }

    /// The owner of an orphan: by its control group, its environment, its session, its process
    /// group, or because an earlier walk met it. One that shed all of these may
    /// be of any run that was there when it started.
    fn attribute(&self, orphan: &Facts) -> Owner {
        let identity = (orphan.pid, orphan.start_time);
        let shown = self
            .grouped(orphan.pid)
            .or_else(|| self.named_by(orphan.pid))
            .or_else(|| self.sessions.get(&orphan.session).copied())
            .or_else(|| self.sessions.get(&orphan.pgid).copied())
            .or_else(|| {
                self.runs.iter().find(|(_, known)| known.seen.contains(&identity)).map(|(run, _)| *run)
            });
        if let Some(run) = shown {
            return Owner::Run(run);
        }
        let possible = self.runs.iter().filter(|(_, known)| known.started <= orphan.start_time);
        let candidates: Vec<RunId> = possible.map(|(run, _)| *run).collect();
        if self.any_alive(&candidates) { Owner::Unknown { candidates } } else { self.last_of(&candidates) }
    }

    /// The run whose control group a process is in, unless it is over.
    fn grouped(&self, pid: i32) -> Option<RunId> {
        self.groups.as_ref()?.run_of(pid).filter(|run| self.runs.contains_key(run))
    }

    /// The run that a process's environment names, unless it is over.
    fn named_by(&self, pid: i32) -> Option<RunId> {
        tree_id_of(pid).filter(|run| self.runs.contains_key(run))
    }

    /// Whether the main process of any of these is not reaped yet.
    fn any_alive(&self, candidates: &[RunId]) -> bool {
        candidates.iter().any(|run| self.runs.get(run).is_some_and(|known| !known.main_reaped))
    }

    /// Of candidates that have all ended, one that ended last; else one that is
    /// not over yet because its own leftovers are alive.
    fn last_of(&self, candidates: &[RunId]) -> Owner {
        let open = candidates.iter().filter(|run| self.runs.contains_key(run));
        open.max_by_key(|run| self.just_ended.contains(run)).map_or(Owner::Nobody, |run| Owner::Run(*run))
    }

    /// The direct children that a run has left behind, zombies included.
    #[must_use]
    pub fn leftovers(&self, run: RunId) -> Vec<i32> {
        self.strays.iter().filter(|(_, of)| of.run() == Some(run)).map(|(pid, _)| *pid).collect()
    }

    /// Adopted orphans that no run could be told of, or not yet.
    #[must_use]
    pub fn unclaimed(&self) -> Vec<i32> {
        self.strays.iter().filter(|(_, of)| of.run().is_none()).map(|(pid, _)| *pid).collect()
    }

    /// Whether nothing of a run is left: its main process and every leftover are reaped, and its
    /// control group is empty.
    #[must_use]
    pub fn is_gone(&self, run: RunId) -> bool {
        self.remains(run) == Remains::Nothing
    }

    /// What is left of a run.
    #[must_use]
    pub fn remains(&self, run: RunId) -> Remains {
        if !self.is_reaped(run) {
            Remains::Children
        } else if self.is_populated(run) {
            Remains::Elsewhere
        } else {
            Remains::Nothing
        }
    }

    fn is_reaped(&self, run: RunId) -> bool {
        self.runs.get(&run).is_none_or(|known| known.main_reaped)
            && !self.strays.values().any(|of| of.run() == Some(run))
    }

    /// A group that does not tell counts as populated: it is asked again.
    fn is_populated(&self, run: RunId) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.is_populated(run).unwrap_or(true))
    }

    /// The run is recorded as ended; its session no longer tells anything.
    pub fn forget(&mut self, run: RunId) {
        if let Some(known) = self.runs.remove(&run)
            && self.sessions.get(&known.main) == Some(&run)
        {
            self.sessions.remove(&known.main);
        }
    }

    /// Where the processes of a run are found; nothing is read for that.
    #[must_use]
    pub fn kin(&self, run: RunId) -> Kin {
        let main = self.runs.get(&run).filter(|known| !known.main_reaped).map(|known| known.main);
        let direct = main.into_iter().chain(self.leftovers(run)).collect();
        Kin { run, direct, groups: self.groups.clone() }
    }

    /// Everything that is alive of a run, as far as one walk finds it.
    #[must_use]
    pub fn members(&mut self, run: RunId) -> Vec<Facts> {
        let all = self.kin(run).pids();
        let found: Vec<Facts> = all.into_iter().filter_map(facts).filter(|one| !one.zombie).collect();
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
        // A group that cannot be killed as such has members that are killed one by one.
        let _killed = self.groups.as_ref().map(|groups| groups.kill(run));
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

impl Owner {
    /// The run that it is known to be of.
    fn run(&self) -> Option<RunId> {
        match self {
            Self::Run(run) => Some(*run),
            Self::Unknown { .. } | Self::Nobody => None,
        }
    }
}

fn refusal(pid: i32, sent: io::Result<bool>) -> Option<Refused> {
    sent.err().map(|error| Refused { pid, error })
}
