//! Bounds of what runs: silence, lingering, the wall-clock limit, and everything else that falls due.
//!
//! Invariant: a run that is being ended is watched no more: what its agent writes
//! or states from then on cannot change for what it is being ended.

use std::time::Duration;

use super::{Machine, Turn};
use crate::base::{Mono, Report, RunId};
use crate::lifecycle::phase::{Bound, Grace, Phase, Watch};
use crate::lifecycle::policy::Policy;
use crate::lifecycle::verdict::{Overspent, StopReason};

/// What is expected of a run that begins now: where both are set, the first output has its own
/// bound and the silence after it the other.
pub(super) fn from_the_start(policy: &Policy, now: Mono) -> Watch {
    match policy.first_output_timeout {
        Some(time) => Watch::Output(bound(now, time, StopReason::NoFirstOutput)),
        None => after_output(policy, now),
    }
}

/// What is expected of a run that has just written something.
fn after_output(policy: &Policy, now: Mono) -> Watch {
    Watch::Output(policy.idle_timeout.and_then(|time| bound(now, time, StopReason::Idle)))
}

/// The bound that lies `time` ahead; none beyond the end of time.
pub(super) fn bound(now: Mono, time: Duration, reason: fn(Duration) -> StopReason) -> Option<Bound> {
    now.0.checked_add(time).map(|at| Bound { at: Mono(at), reason: reason(time) })
}

impl Machine {
    pub(super) fn output(&mut self, run: RunId, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch: watch @ Watch::Output(_), .. } = &mut self.phase
            && *own == run
        {
            *watch = after_output(turn.policy, turn.now.mono);
        }
    }

    /// A run that uses up its budget is ended like one that takes too long.
    pub(super) fn overspent(&mut self, run: RunId, overspent: Overspent, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, after, .. } = self.phase
            && own == run
        {
            self.end(StopReason::Overspent(overspent), after, turn);
        }
    }

    /// An agent that states its result again was not at its end before: the last statement counts,
    /// and so does its time.
    pub(super) fn reported(&mut self, run: RunId, report: Report, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch, after, .. } = &mut self.phase
            && *own == run
        {
            let (time, after) = (turn.policy.linger_timeout, *after);
            *watch = Watch::End(report, bound(turn.now.mono, time, StopReason::Lingering));
            if time.is_zero() {
                self.end(StopReason::Lingering(time), after, turn);
            }
        }
    }

    /// What it had stated counts no more, and its silence is watched again.
    pub(super) fn resumed(&mut self, run: RunId, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch: watch @ Watch::End(..), .. } = &mut self.phase
            && *own == run
        {
            *watch = after_output(turn.policy, turn.now.mono);
        }
    }

    pub(super) fn due(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match &mut self.phase {
            Phase::Backoff { until, outcome, .. } if *until <= now => {
                let outcome = *outcome;
                self.launch_again(outcome, turn);
            }
            Phase::Limited { until, until_wall, outcome }
                if *until <= now || *until_wall <= turn.now.wall =>
            {
                let outcome = *outcome;
                self.launch_again(outcome, turn);
            }
            Phase::Running {
                timeout,
                watch: Watch::Output(bound) | Watch::End(_, bound),
                settles,
                after,
                ..
            } => {
                let after = *after;
                // After a stall several may have passed: the run is ended for the first of them.
                let passed = timeout.iter().chain(bound.iter()).filter(|bound| bound.at <= now);
                let passed = passed.min_by_key(|bound| bound.at).map(|bound| bound.reason);
                if settles.take_if(|at| *at <= now).is_some() {
                    self.tally.settle();
                    self.show(turn);
                }
                if let Some(reason) = passed {
                    self.end(reason, after, turn);
                }
            }
            Phase::Checking { bound, after, .. } if bound.at <= now => {
                let (reason, after) = (bound.reason, *after);
                self.end(reason, after, turn);
            }
            Phase::Ending { grace: Grace::Until(at) | Grace::Over(at), .. } if *at <= now => self.kill(turn),
            _ => {}
        }
    }
}
