//! One harness in the fleet: its definition, its machine and what goes with it.
//!
//! Invariant: `live` holds the run that the machine holds.

use std::sync::Arc;

use super::firing::Timer;
use super::message::Ticket;
use crate::base::{Mono, RunId};
use crate::config::{DaemonSettings, Harness};
use crate::lifecycle::{Machine, Policy, Standing};
use crate::wire::{ErrorCode, Run};

/// The run in progress.
#[derive(Debug)]
pub(super) struct Live {
    /// Its row so far.
    pub(super) run: Run,
    /// The definition that it was started with.
    pub(super) launched: Arc<Harness>,
    /// The code of a launch that failed.
    pub(super) refusal: Option<ErrorCode>,
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The process runs.
    Runs,
    /// The run has ended `ok`.
    Ends,
    /// Nothing of the run is alive.
    Gone,
    /// The run's final row.
    Row,
}

/// Somebody who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) goal: Goal,
    /// The word of a good answer.
    pub(super) result: &'static str,
    /// The run; none: the one that follows what is being ended.
    pub(super) run: Option<RunId>,
}

/// One harness.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) harness: Arc<Harness>,
    pub(super) machine: Machine,
    pub(super) live: Option<Live>,
    pub(super) timer: Option<Timer>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) last_run: Option<Run>,
    /// A reload has taken it away; it is forgotten when it has stopped.
    pub(super) removed: bool,
    /// The deadline that the alarms hold for it.
    pub(super) alarm: Option<Mono>,
}

impl Slot {
    pub(super) fn new(harness: Arc<Harness>, last_run: Option<Run>) -> Self {
        Self {
            harness,
            machine: Machine::new(),
            live: None,
            timer: None,
            waiters: Vec::new(),
            last_run,
            removed: false,
            alarm: None,
        }
    }

    /// What its machine consults: what matters at an end is the present
    /// definition's, what belongs to the process is that one's it was started with.
    pub(super) fn policy(&self, settings: Option<&DaemonSettings>) -> Policy {
        let present = &self.harness;
        let launched = self.live.as_ref().map_or(present, |live| &live.launched);
        let numbers =
            settings.map(|s| (s.crash_loop_exits, s.crash_loop_window, s.max_attempts, s.backoff_max));
        let (crash_loop_exits, crash_loop_window, max_attempts, backoff_max) = numbers.unwrap_or_default();
        Policy {
            oneshot: present.oneshot(),
            restart: present.restart(),
            restart_delay: present.restart_delay,
            backoff_max,
            crash_loop_exits,
            crash_loop_window,
            max_attempts,
            timeout: launched.timeout(),
            stop_timeout: launched.stop_timeout,
        }
    }

    /// Whether the running process has an older definition.
    pub(super) fn changed(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.launched.launch_hash != self.harness.launch_hash)
    }

    /// Whether it may be forgotten.
    pub(super) fn is_over(&self) -> bool {
        self.removed && self.machine.standing() == Standing::Idle
    }

    /// Takes those who wait and fit out of the list.
    pub(super) fn take_waiters(&mut self, fits: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let (taken, kept) = self.waiters.drain(..).partition(|waiter| fits(waiter));
        self.waiters = kept;
        taken
    }
}
