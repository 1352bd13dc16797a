//! Reaping, and ending whole process trees (LIF-5, LIF-6, LIF-8).
//!
//! Which process belongs to which run, or to which errand, is `host::tree::Family`'s knowledge; here
//! it is turned into events. Invariant: a run is told as emptied when its main
//! process is reaped, no leftover of it is alive, and its output is drained.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::{SIGCONT, SIGKILL};
use tracing::warn;

use super::state::{Daemon, Main};
use crate::base::RunId;
use crate::host::files;
use crate::host::process::{self, signal_group, signal_pid};
use crate::host::tree::{Reaped, Refused, Remains};
use crate::supervisor::{Effect, Event, Rest};

/// How long a failed daemon goes on killing what it had started.
const LAST_KILLS: Duration = Duration::from_secs(10);
/// Reading the list of children opens a directory and, in it, a file.
const RESERVE: usize = 2;

impl Daemon {
    /// Reaps every dead child, finds what its run left behind, and closes what is over.
    pub(super) fn reap(&mut self) {
        let mut touched: BTreeSet<RunId> = BTreeSet::new();
        let mut exits = Vec::new();
        for (pid, status) in process::reap() {
            match self.family.reaped(pid) {
                Reaped::Main(run) => {
                    if !self.errands.exited(run, status) {
                        if let Some(live) = self.live.get_mut(&run) {
                            live.main = Main::Reaped;
                            live.status = Some(status);
                        }
                        exits.push((run, status));
                    }
                    touched.insert(run);
                }
                Reaped::Leftover(run) => {
                    touched.insert(run);
                }
                Reaped::Unclaimed => {}
            }
        }
        let surveyed = self.adopt();
        for (run, status) in exits {
            self.feed(Event::Exited { run, status });
        }
        self.unsurveyed.extend(touched);
        if surveyed {
            for run in std::mem::take(&mut self.unsurveyed) {
                self.close_if_empty(run);
            }
        } else {
            // Without the list of children nothing is known to be over; it is asked for again soon.
            self.reap_due = true;
        }
    }

    /// Ends every run without the loop, which has failed: kills, reaps and records until nothing is
    /// left, for a bounded time.
    pub(super) fn end_everything(&mut self) {
        self.feed(Event::Shutdown { at_once: true });
        let start = Instant::now();
        self.errands.hurry(Self::now().mono);
        while !(self.live.is_empty() && self.errands.is_idle()) && start.elapsed() < LAST_KILLS {
            self.settle();
            self.wind_errands_up();
            let runs: Vec<RunId> = self.live.keys().copied().collect();
            runs.into_iter().for_each(|run| self.kill_tree(run));
            thread::sleep(Duration::from_millis(5));
            self.reap();
            // The loop that would bring their answers turns no more.
            self.give_up_heads(None);
        }
        self.settle();
    }

    /// Takes in orphans; those of a run that is being ended get its signal as they are found. False:
    /// the children cannot be listed now.
    fn adopt(&mut self) -> bool {
        let ending: Vec<(RunId, i32)> =
            self.live.iter().filter_map(|(run, live)| Some((*run, live.ending?))).collect();
        let known: Vec<Vec<i32>> = ending.iter().map(|(run, _)| self.family.leftovers(*run)).collect();
        let surveyed = self.family.survey().or_else(|_| {
            // It may be that no descriptor is left: two are kept for this.
            self.reserve.clear();
            let again = self.family.survey();
            self.fill_reserve();
            again
        });
        if let Err(cause) = surveyed {
            warn!(%cause, "children cannot be listed; nothing is closed until they can");
            return false;
        }
        for ((run, signal), known) in ending.into_iter().zip(known) {
            let fresh = self.family.leftovers(run).into_iter().filter(|pid| !known.contains(pid));
            let fresh: Vec<i32> = fresh.collect();
            if signal == SIGKILL && !fresh.is_empty() {
                say(run, &self.family.kill(run));
            } else {
                for pid in fresh {
                    tell(run, signal_pid(pid, signal));
                }
            }
        }
        true
    }

    /// Keeps descriptors that reading the list of children can use when there are no others.
    pub(super) fn fill_reserve(&mut self) {
        while self.reserve.len() < RESERVE {
            match files::any_descriptor() {
                Ok(descriptor) => self.reserve.push(descriptor),
                Err(_) => return,
            }
        }
    }

    /// Closes a run, or an errand, of which nothing is alive; a run first waits for its last receipt.
    fn close_if_empty(&mut self, run: RunId) {
        if self.errands.has(run) {
            return self.close_errand(run);
        }
        if !self.live.contains_key(&run) {
            return;
        }
        match self.family.remains(run) {
            Remains::Children => {}
            Remains::Elsewhere => {
                self.unsurveyed.insert(run);
                self.reap_due = true;
            }
            Remains::Nothing => {
                if !self.ask_head(run) {
                    self.empty(run, None);
                }
            }
        }
    }

    /// Nothing of a run is alive: drains its output and tells the core. Unless a check follows it is over.
    pub(super) fn empty(&mut self, run: RunId, git_after: Option<String>) {
        let rest = self.drain_output(run);
        // Of a mass death the effects of all runs wait here: only those of this one are looked at.
        let before = self.effects.len();
        self.feed(Event::Emptied { run, rest: Rest { git_after, ..rest } });
        let checked = |effect: &Effect| matches!(effect, Effect::Check { run: id, .. } if *id == run);
        if !self.effects[before..].iter().any(checked) {
            self.release(run);
        }
    }

    /// A run is over: its log is closed and its harness may be run by others.
    pub(super) fn release(&mut self, run: RunId) {
        self.close_output(run);
        self.family.forget(run);
        self.remove_group(run);
        if let Some(live) = self.live.remove(&run) {
            self.unlock(&live.harness.name);
        }
    }

    /// Asks a run to stop: its process group, or what its main process left behind.
    pub(super) fn stop_tree(&mut self, run: RunId) {
        let Some(live) = self.live.get_mut(&run) else { return };
        let signal = live.harness.stop_signal;
        match live.main {
            Main::Preparing => {}
            Main::Alive(pid) => {
                say(run, &self.family.stop(run, signal));
                // A suspended group would sleep through its own stop signal.
                tell(run, signal_group(pid, SIGCONT));
            }
            Main::Reaped => {
                live.ending = Some(signal);
                say(run, &self.family.stop(run, signal));
            }
        }
    }

    /// Kills everything of a run; what appears while it dies is killed as it is found.
    pub(super) fn kill_tree(&mut self, run: RunId) {
        let Some(live) = self.live.get_mut(&run) else { return };
        live.ending = Some(SIGKILL);
        say(run, &self.family.kill(run));
        // What the kill found may have changed hands meanwhile; the next reaping closes the run.
        self.reap_due = true;
    }

    /// Kills every child that no run owns; for the end of the daemon.
    pub(super) fn kill_unclaimed(&mut self) {
        self.adopt();
        for pid in self.family.unclaimed() {
            if let Err(cause) = signal_pid(pid, SIGKILL) {
                warn!(pid, %cause, "a leftover of unknown origin cannot be killed");
            }
        }
    }
}

fn say(run: RunId, refused: &[Refused]) {
    for one in refused {
        warn!(%run, pid = one.pid, cause = %one.error, "a process cannot be signalled");
    }
}

fn tell(run: RunId, sent: std::io::Result<bool>) {
    // `Ok(false)`: it has ended already, which is what was wanted.
    if let Err(cause) = sent {
        warn!(%run, %cause, "a process cannot be signalled");
    }
}
