//! Bounds of what runs: silence, lingering, the wall-clock limit, and everything else that falls due.
//!
//! Invariant: a run that is being ended is watched no more: what its agent writes
//! or states from then on cannot change for what it is being ended.

use super::{Machine, Turn};
use crate::base::{Mono, Report, RunId};
use crate::lifecycle::phase::{Bound, Grace, Phase, Watch};
use crate::lifecycle::policy::Policy;
use crate::lifecycle::verdict::StopReason;

/// What is expected of a run that begins now: where both are set, the first output has its own
/// bound and the silence after it the other.
pub(super) fn from_the_start(policy: &Policy, now: Mono) -> Watch {
    let first = policy.first_output_timeout.map(StopReason::NoFirstOutput);
    Watch::Output(first.or(policy.idle_timeout.map(StopReason::Idle)).and_then(|reason| bound(now, reason)))
}

/// The bound that such an end comes at; none beyond the end of time.
pub(super) fn bound(now: Mono, reason: StopReason) -> Option<Bound> {
    let (StopReason::Timeout(time)
    | StopReason::NoFirstOutput(time)
    | StopReason::Idle(time)
    | StopReason::Lingering(time)
    | StopReason::SlowCheck(time)) = reason
    else {
        return None;
    };
    now.0.checked_add(time).map(|at| Bound { at: Mono(at), reason })
}

/// What is expected of a run that has just written something.
fn after_output(turn: &Turn<'_>) -> Watch {
    let idle = turn.policy.idle_timeout.map(StopReason::Idle);
    Watch::Output(idle.and_then(|reason| bound(turn.now.mono, reason)))
}

impl Machine {
    pub(super) fn output(&mut self, run: RunId, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch: watch @ Watch::Output(_), .. } = &mut self.phase
            && *own == run
        {
            *watch = after_output(turn);
        }
    }

    /// An agent that states its result again was not at its end before: the last statement counts,
    /// and so does its time.
    pub(super) fn reported(&mut self, run: RunId, report: Report, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch, after, .. } = &mut self.phase
            && *own == run
        {
            let (reason, after) = (StopReason::Lingering(turn.policy.linger_timeout), *after);
            *watch = Watch::End(report, bound(turn.now.mono, reason));
            if turn.policy.linger_timeout.is_zero() {
                self.end(reason, after, turn);
            }
        }
    }

    /// What it had stated counts no more, and its silence is watched again.
    pub(super) fn resumed(&mut self, run: RunId, turn: &mut Turn<'_>) {
        if let Phase::Running { run: own, watch: watch @ Watch::End(..), .. } = &mut self.phase
            && *own == run
        {
            *watch = after_output(turn);
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
