//! Reaping, and ending whole process trees (LIF-5, LIF-6, LIF-8).
//!
//! The daemon is a subreaper: when a process of a run dies, its children become
//! the daemon's. So a run is over when its main process is reaped and no direct
//! child of the daemon belongs to it any more. Invariant: only pids that are not
//! reaped yet are signalled.

use std::collections::BTreeSet;

use nix::libc::{SIGCONT, SIGKILL};
use tracing::warn;

use super::state::{Daemon, Main};
use crate::base::RunId;
use crate::host::{process, tree};
use crate::supervisor::Event;

/// The signal's name for the log, empty when there was none.
pub(super) fn signal_label(name: Option<&str>) -> &str {
    name.unwrap_or_default()
}

impl Daemon {
    /// Reaps every dead child, finds what its run left behind, and closes what is over.
    pub(super) fn reap(&mut self) {
        let mut touched: BTreeSet<RunId> = BTreeSet::new();
        let mut exits = Vec::new();
        for (pid, status) in process::reap() {
            if let Some(run) = self.mains.remove(&pid) {
                if let Some(live) = self.live.get_mut(&run) {
                    live.main = Main::Reaped(pid);
                }
                exits.push((run, status));
                touched.insert(run);
            } else if let Some(run) = self.strays.remove(&pid) {
                touched.extend(run);
            }
        }
        self.adopt();
        for (run, status) in exits {
            self.feed(Event::Exited { run, status });
        }
        for run in touched {
            self.close_if_empty(run);
        }
    }

    /// Finds children that no start made: orphans of runs.
    fn adopt(&mut self) {
        let children = match tree::children_of_self() {
            Ok(children) => children,
            Err(cause) => {
                warn!(%cause, "children cannot be listed; leftovers may be missed");
                return;
            }
        };
        for pid in children {
            if self.mains.contains_key(&pid) || self.strays.contains_key(&pid) {
                continue;
            }
            let run = self.owner(pid);
            if run.is_none() {
                warn!(pid, "a process of unknown origin became a child of the daemon");
            }
            self.strays.insert(pid, run);
            let ending = run.and_then(|run| self.live.get(&run)).and_then(|live| live.ending);
            if let Some(signal) = ending {
                signal_stray(pid, signal);
            }
        }
    }

    /// The run that an orphan belongs to: by the mark in its environment, else its session or
    /// group, else the only run that is being ended.
    fn owner(&self, pid: i32) -> Option<RunId> {
        if let Some(run) = tree::run_id_of(pid).filter(|run| self.live.contains_key(run)) {
            return Some(run);
        }
        let facts = tree::facts(pid)?;
        let leads = |leader: i32| {
            let same = |main: &Main| matches!(*main, Main::Alive(pid) | Main::Reaped(pid) if pid == leader);
            self.live.iter().find(|(_, live)| same(&live.main)).map(|(run, _)| *run)
        };
        if let Some(run) = leads(facts.session).or_else(|| leads(facts.pgid)) {
            return Some(run);
        }
        let mut ending = self
            .live
            .iter()
            .filter(|(_, live)| live.ending.is_some() || matches!(live.main, Main::Reaped(_)))
            .map(|(run, _)| *run);
        ending.next().filter(|_| ending.next().is_none())
    }

    fn strays_of(&self, run: RunId) -> Vec<i32> {
        self.strays.iter().filter(|(_, owner)| **owner == Some(run)).map(|(pid, _)| *pid).collect()
    }

    /// Closes a run of which nothing is alive: drains its output and tells the core.
    fn close_if_empty(&mut self, run: RunId) {
        let over = self.live.get(&run).is_some_and(|live| matches!(live.main, Main::Reaped(_)));
        if !over || self.strays.values().any(|owner| *owner == Some(run)) {
            return;
        }
        self.close_output(run);
        if let Some(live) = self.live.remove(&run) {
            self.locks.release(&live.harness.name);
        }
        self.feed(Event::Emptied { run });
    }

    /// Asks a run to stop: its process group, or what its main process left behind.
    pub(super) fn stop_tree(&mut self, run: RunId) {
        let Some(live) = self.live.get_mut(&run) else { return };
        let signal = live.harness.stop_signal;
        match live.main {
            Main::Alive(pid) => {
                process::signal_group(pid, signal);
                // A stopped (job-controlled) group would sleep through its own stop signal.
                process::signal_group(pid, SIGCONT);
            }
            Main::Reaped(_) => {
                live.ending = Some(signal);
                for pid in self.strays_of(run) {
                    signal_stray(pid, signal);
                }
            }
            Main::Preparing => {}
        }
    }

    /// Kills everything of a run; what appears while it dies is killed as it is found.
    pub(super) fn kill_tree(&mut self, run: RunId) {
        let Some(live) = self.live.get_mut(&run) else { return };
        live.ending = Some(SIGKILL);
        if let Main::Alive(pid) = live.main {
            process::signal_group(pid, SIGKILL);
            signal_stray(pid, SIGKILL);
        }
        for pid in self.strays_of(run) {
            signal_stray(pid, SIGKILL);
        }
    }

    /// Kills every child that no run owns; for the end of the daemon.
    pub(super) fn kill_unknown(&mut self) {
        let unknown = self.strays.iter().filter(|(_, owner)| owner.is_none());
        unknown.for_each(|(pid, _)| signal_stray(*pid, SIGKILL));
    }
}

/// Signals an unreaped child and its descendants, deepest last.
fn signal_stray(pid: i32, signal: i32) {
    let below = tree::descendants(pid);
    process::signal_pid(pid, signal);
    for child in below {
        tree::signal_descendant(&child, signal);
    }
}
