//! Ending what a daemon that died has left behind: processes that are nobody's children here.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::{SIGCONT, SIGKILL, SIGTERM};

use super::proc::{Facts, find_by_errand_owner, find_by_run_ids};
use super::signal_exactly;
use crate::base::RunId;

/// How often it is looked whether they are gone. They are not our children, so nothing tells.
const LOOK: Duration = Duration::from_millis(10);
/// How long killed processes may take to vanish.
const DYING: Duration = Duration::from_secs(5);

/// Ends every process whose environment names one of `runs`: TERM, and KILL after `grace`.
/// Returns how many were found at first. One that may not be signalled is left alone.
#[must_use]
pub fn end_runs(runs: &HashSet<RunId>, grace: Duration) -> usize {
    let found = find_by_run_ids(runs);
    signal_all(&found, SIGTERM);
    signal_all(&found, SIGCONT);
    if !gone_within(runs, grace) {
        let start = Instant::now();
        while start.elapsed() < DYING {
            let left = find_by_run_ids(runs);
            if left.is_empty() {
                break;
            }
            signal_all(&left, SIGKILL);
            thread::sleep(LOOK);
        }
    }
    found.len()
}

/// Kills every process of an errand of `owner`, who lives no more; how many were found at first.
#[must_use]
pub fn end_errands_of(owner: &str) -> usize {
    let found = find_by_errand_owner(owner);
    let (mut left, start) = (found.clone(), Instant::now());
    while !left.is_empty() && start.elapsed() < DYING {
        for who in &left {
            // As below: one that cannot be ended by us is left alone.
            let _sent = signal_exactly(who, SIGKILL);
        }
        thread::sleep(LOOK);
        left = find_by_errand_owner(owner);
    }
    found.len()
}

fn signal_all(list: &[(RunId, Facts)], signal: i32) {
    for (_, who) in list {
        // One that is gone, or is another user's by now, cannot be ended by us; the run is closed anyway.
        let _sent = signal_exactly(who, signal);
    }
}

fn gone_within(runs: &HashSet<RunId>, grace: Duration) -> bool {
    let start = Instant::now();
    loop {
        if find_by_run_ids(runs).is_empty() {
            return true;
        }
        if start.elapsed() >= grace {
            return false;
        }
        thread::sleep(LOOK);
    }
}
