//! What the shell tells of a run.
//!
//! Invariant: what concerns a run that is not the present one is ignored, and so is what its agent
//! says once it is decided how the run ends.

use super::{Machine, Turn, watch};
use crate::base::{ExitStatus, Outcome, Report, RunId};
use crate::lifecycle::phase::{After, Agent, Bound, Ended, Grace, Part, Phase, Watch};
use crate::lifecycle::step::{Effect, End};
use crate::lifecycle::verdict::{StopReason, of_check, of_exit, of_refusal, of_report};

use std::time::Duration;

impl Machine {
    pub(super) fn spawned(&mut self, run: RunId, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match self.phase {
            Phase::Starting { run: own, after, .. } if own == run => {
                let timeout = turn.policy.timeout;
                let timeout = timeout.and_then(|time| watch::bound(now, time, StopReason::Timeout));
                let watch = watch::from_the_start(turn.policy, now);
                let settles = self.tally.degraded().then(|| now + turn.policy.crash_loop_window);
                self.go(Phase::Running { run, since: now, timeout, watch, settles, after }, turn);
            }
            Phase::Cancelling { run: own, reason, at_once, after } if own == run => {
                let part = Part::Agent { stated: None, lasted: Duration::ZERO };
                self.ending(run, part, Ended::Told(reason, None), after, turn);
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
    pub(super) fn not_spawned(
        &mut self,
        run: RunId,
        outcome: Outcome,
        cause: String,
        blameless: bool,
        turn: &mut Turn<'_>,
    ) {
        match self.phase {
            Phase::Starting { run: own, after, wanted } if own == run => {
                let end = End::new(outcome, Some(cause));
                match (outcome, after) {
                    (Outcome::Skipped, After::Policy) => {
                        turn.effects.push(Effect::Ended { run, end, status: None });
                        self.give_way(wanted, turn);
                    }
                    (_, After::Policy) if blameless && turn.policy.again(outcome) => {
                        turn.effects.push(Effect::Ended { run, end, status: None });
                        self.try_again(outcome, turn);
                    }
                    _ => self.over(run, end, None, Duration::ZERO, after, turn),
                }
            }
            Phase::Cancelling { run: own, reason, after, .. } if own == run => {
                self.over(run, reason.end(), None, Duration::ZERO, after, turn);
            }
            _ => {}
        }
    }

    pub(super) fn exited(&mut self, run: RunId, exit: ExitStatus, turn: &mut Turn<'_>) {
        if let Some((_, part, after)) = self.running(turn).filter(|(own, ..)| *own == run) {
            turn.effects.push(Effect::StopTree(run));
            self.ending(run, part, Ended::Itself(exit), after, turn);
        } else if let Phase::Ending { run: own, ended: Ended::Told(_, status @ None), grace, .. } =
            &mut self.phase
            && *own == run
        {
            *status = Some(exit);
            // LIF-6: what lives outside the group has had no signal so far.
            turn.effects.push(match grace {
                Grace::Until(_) => Effect::StopTree(run),
                Grace::Over(_) => Effect::KillTree(run),
            });
        }
    }

    /// The run whose process runs, which process that is, and what is to follow.
    pub(super) fn running(&self, turn: &Turn<'_>) -> Option<(RunId, Part, After)> {
        match &self.phase {
            Phase::Running { run, since, watch, after, .. } => {
                let part = Part::Agent { stated: stated(watch), lasted: turn.now.mono.since(*since) };
                Some((*run, part, *after))
            }
            Phase::Checking { run, agent, after, .. } => Some((*run, Part::Check(*agent), *after)),
            _ => None,
        }
    }

    /// Nothing of what was being ended is alive.
    pub(super) fn emptied(&mut self, run: RunId, report: Option<Report>, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Ending { run: own, part: Part::Agent { stated, lasted }, ended, after, .. }
                if *own == run =>
            {
                let (stated, lasted, ended, after) = (stated.take(), *lasted, *ended, *after);
                self.agent_gone(run, (stated, report), ended, lasted, after, turn);
            }
            Phase::Ending { run: own, part: Part::Check(agent), ended, after, .. } if *own == run => {
                let (agent, after) = (*agent, *after);
                let end = match *ended {
                    Ended::Itself(status) => of_check(status),
                    Ended::Told(reason, _) => reason.end(),
                };
                self.checked(run, end, agent, after, turn);
            }
            _ => {}
        }
    }

    /// How an agent ended of which nothing is alive. `before`: what it had stated when it was told
    /// to end (or ended by itself); `whole`: what all of its output and its exit status state together.
    fn agent_gone(
        &mut self,
        run: RunId,
        (before, whole): (Option<Report>, Option<Report>),
        ended: Ended,
        lasted: Duration,
        after: After,
        turn: &mut Turn<'_>,
    ) {
        let lingered = matches!(ended, Ended::Told(StopReason::Lingering(_), _));
        let (end, status) = match ended {
            Ended::Itself(status) => {
                (whole.or(before).map_or_else(|| of_exit(status), of_report), Some(status))
            }
            // That it died of the stop (or answered it with a status of its own) says nothing about its work.
            Ended::Told(reason, status) => (before.map_or_else(|| reason.end(), of_report), status),
        };
        let end = End { lingered, ..end };
        match turn.policy.check {
            Some(time) if end.outcome == Outcome::Ok && checkable(ended, after) => {
                let agent = Agent { status, lingered, lasted };
                let bound = Bound { at: turn.now.mono + time, reason: StopReason::SlowCheck(time) };
                self.go(Phase::Checking { run, agent, bound, after }, turn);
                turn.effects.push(Effect::Check(run));
            }
            _ => self.over(run, end, status, lasted, after, turn),
        }
    }

    pub(super) fn check_refused(&mut self, run: RunId, cause: &str, turn: &mut Turn<'_>) {
        match &self.phase {
            Phase::Checking { run: own, agent, after, .. } if *own == run => {
                self.checked(run, of_refusal(cause), *agent, *after, turn);
            }
            Phase::Ending {
                run: own,
                part: Part::Check(agent),
                ended: Ended::Told(reason, _),
                after,
                ..
            } if *own == run => {
                self.checked(run, reason.end(), *agent, *after, turn);
            }
            _ => {}
        }
    }

    /// The record of a run that was checked shows the agent's own status.
    fn checked(&mut self, run: RunId, end: End, agent: Agent, after: After, turn: &mut Turn<'_>) {
        let end = End { lingered: agent.lingered, ..end };
        self.over(run, end, agent.status, agent.lasted, after, turn);
    }

    fn over(
        &mut self,
        run: RunId,
        end: End,
        status: Option<ExitStatus>,
        lasted: Duration,
        after: After,
        turn: &mut Turn<'_>,
    ) {
        let (outcome, until) = (end.outcome, end.until);
        turn.effects.push(Effect::Ended { run, end, status });
        self.follow_up(outcome, until, lasted, after, turn);
    }
}

/// What the agent has stated so far.
fn stated(watch: &Watch) -> Option<Report> {
    match watch {
        Watch::Output(_) => None,
        Watch::End(report, _) => Some(report.clone()),
    }
}

/// Whether a run that ended so is still somebody's: one that was told to end for another reason
/// than its own slowness is not checked.
const fn checkable(ended: Ended, after: After) -> bool {
    let watchdog =
        matches!(ended, Ended::Itself(_) | Ended::Told(StopReason::Lingering(_) | StopReason::Timeout(_), _));
    watchdog && !matches!(after, After::Down)
}
