//! What the shell and the clock tell, and what comes after a run.
//!
//! Invariant: what concerns a run that is not the present one is ignored.

use std::time::Duration;

use super::{Machine, Turn};
use crate::base::{ExitStatus, Outcome, Report, RunId};
use crate::lifecycle::phase::{After, Ended, Grace, Phase};
use crate::lifecycle::step::{Effect, End};
use crate::lifecycle::tally::Next;
use crate::lifecycle::verdict::{StopReason, of_exit};

impl Machine {
    pub(super) fn spawned(&mut self, run: RunId, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match self.phase {
            Phase::Starting { run: own, after, .. } if own == run => {
                let timeout = turn.policy.timeout.map(|bound| (now + bound, bound));
                let settles = self.tally.degraded().then(|| now + turn.policy.crash_loop_window);
                self.go(Phase::Running { run, since: now, timeout, settles, after }, turn);
            }
            Phase::Cancelling { run: own, reason, at_once, after } if own == run => {
                self.ending(run, Ended::Told(reason, None), Duration::ZERO, after, turn);
                if at_once {
                    self.kill(turn);
                } else {
                    turn.effects.push(Effect::StopTree(run));
                }
            }
            _ => {}
        }
    }

    /// The launch failed, or (`skipped`) another process runs the harness.
    pub(super) fn not_spawned(&mut self, run: RunId, outcome: Outcome, cause: String, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Starting { run: own, after, wanted } if own == run => {
                turn.effects.push(Effect::Ended { run, end: End::new(outcome, Some(cause)), status: None });
                match (outcome, after) {
                    (Outcome::Skipped, After::Policy) => self.give_way(wanted, turn),
                    _ => self.follow_up(outcome, Duration::ZERO, after, turn),
                }
            }
            Phase::Cancelling { run: own, reason, after, .. } if own == run => {
                let outcome = reason.outcome();
                let end = End::new(outcome, Some(reason.cause()));
                turn.effects.push(Effect::Ended { run, end, status: None });
                self.follow_up(outcome, Duration::ZERO, after, turn);
            }
            _ => {}
        }
    }

    pub(super) fn exited(&mut self, run: RunId, exit: ExitStatus, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Running { run: own, since, after, .. } if *own == run => {
                let (lasted, after) = (turn.now.mono.since(*since), *after);
                turn.effects.push(Effect::StopTree(run));
                self.ending(run, Ended::Itself(exit), lasted, after, turn);
            }
            Phase::Ending { run: own, ended: Ended::Told(_, status @ None), grace, .. } if *own == run => {
                *status = Some(exit);
                // LIF-6: what lives outside the group has had no signal so far.
                turn.effects.push(match grace {
                    Grace::Until(_) => Effect::StopTree(run),
                    Grace::Over(_) => Effect::KillTree(run),
                });
            }
            _ => {}
        }
    }

    pub(super) fn emptied(&mut self, run: RunId, report: Option<Report>, turn: &mut Turn<'_>) {
        let Phase::Ending { run: own, ended, lasted, after, .. } = self.phase else { return };
        if own != run {
            return;
        }
        let ((outcome, cause), status) = match ended {
            Ended::Itself(status) => (
                report.map_or_else(|| of_exit(status), |report| (report.outcome, report.cause)),
                Some(status),
            ),
            Ended::Told(reason, status) => ((reason.outcome(), Some(reason.cause())), status),
        };
        turn.effects.push(Effect::Ended { run, end: End::new(outcome, cause), status });
        self.follow_up(outcome, lasted, after, turn);
    }

    /// Another process runs the harness: a resident that is wanted waits for its
    /// turn, everything else is done with.
    fn give_way(&mut self, wanted: Option<Outcome>, turn: &mut Turn<'_>) {
        match wanted {
            Some(outcome) if !turn.policy.oneshot && turn.policy.again(outcome) => {
                let delay = self.tally.met(turn.policy);
                self.again_after(delay, outcome, turn);
            }
            _ => self.go(Phase::Stopped, turn),
        }
    }

    /// Decides what comes after a run of which nothing is alive.
    fn follow_up(&mut self, outcome: Outcome, lasted: Duration, after: After, turn: &mut Turn<'_>) {
        match after {
            After::Start(request) => self.launch_afresh(request, turn),
            After::Policy if turn.policy.again(outcome) => {
                match self.tally.count(outcome, lasted, turn.policy, turn.now.mono) {
                    Next::GiveUp => self.go(Phase::Failed, turn),
                    Next::After { delay, flapping } => {
                        turn.effects.extend(flapping.map(|exits| Effect::Flapping { exits }));
                        self.again_after(delay, outcome, turn);
                    }
                }
            }
            After::Policy | After::Stay | After::Down => self.go(resting(outcome), turn),
        }
    }

    fn again_after(&mut self, delay: Duration, outcome: Outcome, turn: &mut Turn<'_>) {
        if delay.is_zero() {
            return self.launch_again(outcome, turn);
        }
        let delay = turn.chance.jittered(delay);
        let (until, until_wall) = (turn.now.mono + delay, turn.now.wall + delay);
        self.go(Phase::Backoff { until, until_wall, outcome }, turn);
    }

    /// A restart that the policy no longer wants is given up before it happens.
    pub(super) fn revised(&mut self, turn: &mut Turn<'_>) {
        if let Phase::Backoff { outcome, .. } = self.phase
            && !turn.policy.again(outcome)
        {
            self.go(resting(outcome), turn);
        }
    }

    pub(super) fn due(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match self.phase {
            Phase::Backoff { until, outcome, .. } if until <= now => self.launch_again(outcome, turn),
            Phase::Running { run, since, timeout, settles, after } => {
                if settles.is_some_and(|at| at <= now) {
                    self.tally.settle();
                    self.go(Phase::Running { run, since, timeout, settles: None, after }, turn);
                }
                if let Some((at, bound)) = timeout
                    && at <= now
                {
                    self.end(StopReason::Timeout(bound), after, turn);
                }
            }
            Phase::Ending { grace: Grace::Until(at) | Grace::Over(at), .. } if at <= now => self.kill(turn),
            _ => {}
        }
    }
}

/// Where a harness lands after its last run.
const fn resting(outcome: Outcome) -> Phase {
    match outcome {
        Outcome::SpawnFailed => Phase::Failed,
        _ => Phase::Stopped,
    }
}
