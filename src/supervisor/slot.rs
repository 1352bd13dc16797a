//! One harness in the fleet: its definition, its machine and what goes with it.
//!
//! Invariant: `live` holds the run that the machine holds.
//!
//! What derives serde here crosses a re-execution (CTL-11): a field that is added needs a
//! `#[serde(default)]`, so that what another version wrote can still be read.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::firing::Timer;
use super::message::{Ticket, Wish};
use super::snapshot::exact;
use crate::base::{RunId, Trigger};
use crate::config::{DaemonSettings, Harness};
use crate::lifecycle::{Machine, Policy, Standing};
use crate::wire::{ErrorCode, Run};

/// The run in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Live {
    /// Its row so far.
    #[serde(with = "exact")]
    pub(super) run: Run,
    /// What it was started with.
    pub(super) terms: Terms,
    /// The code of a launch that failed.
    #[serde(default)]
    pub(super) refusal: Option<ErrorCode>,
    /// In which session it is to work.
    #[serde(default)]
    pub(super) session: Option<Wish>,
}

/// What a run keeps of the definition that it was started with, whatever a reload brings.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Terms {
    launch_hash: String,
    timeout: Option<Duration>,
    first_output_timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    linger_timeout: Duration,
    stop_timeout: Duration,
    /// How long its check may take, if it has one.
    #[serde(default)]
    check: Option<Duration>,
}

impl Terms {
    pub(super) fn of(harness: &Harness) -> Self {
        let watch = harness.watch();
        Self {
            launch_hash: harness.launch_hash.clone(),
            timeout: harness.timeout(),
            first_output_timeout: watch.and_then(|watch| watch.first_output_timeout),
            idle_timeout: watch.and_then(|watch| watch.idle_timeout),
            linger_timeout: watch.map_or(Duration::MAX, |watch| watch.linger_timeout),
            stop_timeout: harness.stop_timeout,
            check: watch.and_then(|watch| watch.check.as_ref()).map(|check| check.timeout),
        }
    }
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) goal: Goal,
    /// The word of a good answer.
    pub(super) result: Cow<'static, str>,
    /// The run; none: the one that follows what is being ended.
    pub(super) run: Option<RunId>,
}

/// One harness.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) harness: Arc<Harness>,
    pub(super) machine: Machine,
    pub(super) live: Option<Live>,
    /// The row of a slot that waits for the present run to end.
    pub(super) awaited: Option<Run>,
    pub(super) timer: Option<Timer>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) last_run: Option<Run>,
    /// In which session the start that was asked for is to work.
    pub(super) session: Option<Wish>,
    /// A reload has taken it away; it is forgotten when it has stopped.
    pub(super) removed: bool,
}

impl Slot {
    pub(super) fn new(harness: Arc<Harness>, last_run: Option<Run>) -> Self {
        Self {
            harness,
            machine: Machine::new(),
            live: None,
            awaited: None,
            timer: None,
            waiters: Vec::new(),
            last_run,
            session: None,
            removed: false,
        }
    }

    /// What its machine consults: what matters at an end is the present
    /// definition's, what belongs to the run (its check, too) is that one's it was started with.
    pub(super) fn policy(&self, settings: Option<&DaemonSettings>) -> Policy {
        let present = &self.harness;
        let terms = self.live.as_ref().map_or_else(|| Terms::of(present), |live| live.terms.clone());
        let numbers =
            settings.map(|s| (s.crash_loop_exits, s.crash_loop_window, s.max_attempts, s.backoff_max));
        let (crash_loop_exits, crash_loop_window, max_attempts, backoff_max) = numbers.unwrap_or_default();
        Policy {
            oneshot: present.oneshot(),
            scheduled: present.timetable().is_some(),
            restart: present.restart(),
            restart_delay: present.restart_delay,
            backoff_max,
            crash_loop_exits,
            crash_loop_window,
            max_attempts,
            timeout: terms.timeout,
            first_output_timeout: terms.first_output_timeout,
            idle_timeout: terms.idle_timeout,
            linger_timeout: terms.linger_timeout,
            check: terms.check,
            stop_timeout: terms.stop_timeout,
        }
    }

    /// In which session a start for this reason is to work: as it was asked for, else the harness's own last
    /// one where that is gone on with. A start by hand that says nothing begins anew.
    pub(super) fn take_session(&mut self, trigger: Trigger) -> Option<Wish> {
        let again = self.harness.resume && matches!(trigger, Trigger::Boot | Trigger::Restart);
        self.session.take().or_else(|| again.then_some(Wish::GoOn))
    }

    /// Whether the running process has an older definition.
    pub(super) fn changed(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.terms.launch_hash != self.harness.launch_hash)
    }

    /// Whether it waits for somebody to log in: the shell watches for that.
    pub(super) const fn parked(&self) -> bool {
        matches!(self.machine.standing(), Standing::Parked)
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
