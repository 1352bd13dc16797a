//! Which control groups the runs get, and what is done where there are none (LIF-5).
//!
//! Invariant: a run that is to be limited is started inside its limits or not at all. Without such
//! keys a group is a help for finding processes, and its absence no obstacle.

use std::collections::HashSet;
use std::sync::Arc;

use tracing::{info, warn};

use super::state::Daemon;
use crate::base::RunId;
use crate::config::Harness;
use crate::host::cgroup::{Containment, Entry, Limits};
use crate::wire::Run;

/// The control groups of this daemon's runs, or why there are none.
pub(super) type Groups = Result<Arc<Containment>, String>;

/// Finds out whether a control group was delegated to this process, and takes it.
pub(super) fn establish() -> Groups {
    Containment::establish().map(Arc::new).map_err(|cause| cause.to_string())
}

/// Ends what only its control group still tells to be of a lost run.
pub(super) fn end_lost(groups: &Groups, lost: &HashSet<RunId>) {
    let Ok(groups) = groups else { return };
    let killed = groups.sweep(lost);
    if killed > 0 {
        warn!(groups = killed, "control groups of an earlier daemon's runs were killed");
    }
}

impl Daemon {
    /// From now on the runs get these groups.
    pub(super) fn contain(&mut self, groups: Groups) {
        match &groups {
            Ok(groups) => {
                self.family.contain(Arc::clone(groups));
                if !self.foreground {
                    info!(group = %groups.root(), "each run gets a control group of its own");
                }
            }
            // What a run that needs one is told when it is started.
            Err(_) if self.foreground => {}
            Err(cause) => info!(%cause, "runs get no control groups"),
        }
        self.groups = groups;
    }

    /// The control group for a run that is about to start.
    ///
    /// # Errors
    /// Why it must not be started: it has limits, which cannot be put in force.
    pub(super) fn group_for(&self, run: RunId, harness: &Harness) -> Result<Option<Entry>, String> {
        let limits = Limits { memory_max: harness.memory_max, cpu_weight: harness.cpu_weight };
        match &self.groups {
            Ok(groups) => match groups.prepare(run, limits) {
                Ok(entry) => Ok(Some(entry)),
                Err(cause) if limits.any() => Err(cause.to_string()),
                Err(cause) => {
                    warn!(harness = %harness.name, %run, %cause, "it runs without a control group");
                    Ok(None)
                }
            },
            Err(cause) if limits.any() => Err(format!("{} cannot be enforced: {cause}", limits.keys())),
            Err(_) => Ok(None),
        }
    }

    /// Removes the group of a run that is over, or was not started.
    pub(super) fn remove_group(&self, run: RunId) {
        let Ok(groups) = &self.groups else { return };
        let kills = groups.memory_kills(run);
        if kills > 0 {
            warn!(%run, kills, "it used more memory than `memory_max`, and the kernel killed it");
        }
        if let Err(cause) = groups.remove(run) {
            warn!(%run, %cause, "its control group cannot be removed");
        }
    }

    /// Ends what only a control group still tells to be of runs that nobody supervises any more.
    pub(super) fn end_stale_groups(&self, stale: &[Run]) {
        let Ok(groups) = &self.groups else { return };
        for run in stale {
            if let Err(cause) = groups.kill(run.id) {
                warn!(run = %run.id, %cause, "its control group cannot be killed");
            }
        }
    }
}
