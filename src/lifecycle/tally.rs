//! What a machine remembers from run to run: the crash loop, the give-up and the limits.
//!
//! Invariant: `exits` holds at most `crash_loop_exits` instants, all inside the
//! window; everything is forgotten at a start that was asked for.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::policy::{Policy, doubled};
use crate::base::{Mono, Outcome};

/// The history since the last start that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    /// Consecutive failed attempts, quick or slow.
    failures: u32,
    /// Consecutive runs that were shorter than the window.
    quick: u32,
    /// Ends inside the window.
    exits: VecDeque<Mono>,
    /// Whether it is in a crash loop.
    degraded: bool,
    /// Restarts by policy.
    restarts: u32,
    /// Tries before the next one, 0 before a first try.
    tries: u32,
    /// Launches since the last end that were put off: they met a run of another process, or a machine
    /// that was short of something.
    met: u32,
    /// Consecutive runs that met a limit.
    limits: u32,
}

/// The shortest time that a launch is put off for: without one, no delay would be a busy loop.
const SHORTEST: Duration = Duration::from_secs(1);
/// The first pause after a limit whose end is not known; each further one is twice as long.
const LIMIT_PAUSE: Duration = Duration::from_secs(60);
/// The same where it is the provider that cannot keep up, which is often over soon.
const OVERLOAD_PAUSE: Duration = Duration::from_secs(30);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// What follows from an end after which the policy wants another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It has failed too often.
    GiveUp,
    /// It is tried again after a delay (before jitter); `flapping` carries the
    /// number of ends inside the window when that has just become a crash loop.
    After { delay: Duration, flapping: Option<u32> },
}

/// How long a limit is waited for, whatever its agent states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    /// At least this, so that an agent which states a near time again and again is no busy loop.
    pub(super) least: Duration,
    /// This if its end is not known.
    pub(super) unknown: Duration,
}

impl Tally {
    pub(super) const fn degraded(&self) -> bool {
        self.degraded
    }

    pub(super) const fn restarts(&self) -> u32 {
        self.restarts
    }

    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    /// The number of the attempt that begins now.
    pub(super) const fn attempt(&mut self) -> u32 {
        self.tries = self.tries.saturating_add(1);
        self.tries
    }

    /// A restart by policy begins; one that is tried again since it was put off is the same.
    pub(super) const fn restarted(&mut self) {
        if self.met == 0 {
            self.restarts = self.restarts.saturating_add(1);
        }
    }

    /// The last launch met a run of another process, or a machine that was short of something. That was
    /// no try; the answer is the delay to the next one, before jitter.
    pub(super) fn put_off(&mut self, policy: &Policy) -> Duration {
        self.tries = self.tries.saturating_sub(1);
        self.met = self.met.saturating_add(1);
        policy.delay(self.met).max(SHORTEST)
    }

    /// A run has lasted as long as the window: the crash loop is over. Only how
    /// the run ends tells whether its failures are forgotten, too.
    pub(super) fn settle(&mut self) {
        self.quick = 0;
        self.exits.clear();
        self.degraded = false;
    }

    /// Counts a run that met a limit, which is nobody's failure: it spends nothing of the give-up
    /// and is no part of a crash loop. The answer is how long to wait, before jitter.
    pub(super) fn limited(&mut self, outcome: Outcome, lasted: Duration, policy: &Policy) -> Pause {
        self.spare(lasted, policy);
        let first = if outcome == Outcome::Overloaded { OVERLOAD_PAUSE } else { LIMIT_PAUSE };
        let grown = |first: Duration, doublings: u32| doubled(first, doublings, LONGEST_PAUSE);
        // The first statement is believed; one after which the limit was met at once was not true.
        let least = self.limits.checked_sub(1).map_or(Duration::ZERO, |before| grown(SHORTEST, before));
        let pause = Pause { least, unknown: grown(first, self.limits) };
        self.limits = self.limits.saturating_add(1);
        pause
    }

    /// A run was refused its login: that is nobody's failure either, and no limit.
    pub(super) fn parked(&mut self, lasted: Duration, policy: &Policy) {
        self.spare(lasted, policy);
        self.limits = 0;
    }

    /// What is spared the counts still ends a crash loop if it lasted.
    fn spare(&mut self, lasted: Duration, policy: &Policy) {
        self.met = 0;
        if lasted >= policy.crash_loop_window {
            self.settle();
        }
    }

    /// Counts the end of a run that the policy follows with another one.
    pub(super) fn count(&mut self, outcome: Outcome, lasted: Duration, policy: &Policy, now: Mono) -> Next {
        (self.met, self.limits) = (0, 0);
        let long = lasted >= policy.crash_loop_window;
        if long {
            self.settle();
        } else {
            self.quick = self.quick.saturating_add(1);
        }
        if outcome == Outcome::Ok {
            self.failures = 0;
            if long {
                self.tries = 0;
            }
        } else {
            self.failures = self.failures.saturating_add(1);
        }
        if policy.max_attempts != 0 && self.failures >= policy.max_attempts {
            return Next::GiveUp;
        }
        let flapping = self.crash_loop(policy, now);
        Next::After { delay: policy.delay(self.quick), flapping }
    }

    fn crash_loop(&mut self, policy: &Policy, now: Mono) -> Option<u32> {
        let bound = policy.crash_loop_exits as usize;
        self.exits.push_back(now);
        while self.exits.len() > bound
            || self.exits.front().is_some_and(|first| now.since(*first) > policy.crash_loop_window)
        {
            self.exits.pop_front();
        }
        let begins = bound != 0 && !self.degraded && self.exits.len() >= bound;
        self.degraded |= begins;
        begins.then_some(policy.crash_loop_exits)
    }
}
