//! What comes after a run.
//!
//! Invariant: only what the policy wants again, or somebody has asked for, follows.

use std::time::Duration;

use super::{Machine, Turn};
use crate::base::{Outcome, Wall};
use crate::lifecycle::phase::{After, Phase};
use crate::lifecycle::step::Effect;
use crate::lifecycle::tally::Next;

/// A limit that is said to last longer is not believed.
const FARTHEST: Duration = Duration::from_secs(8 * 24 * 3600);

/// Why a firing of a parked harness is skipped.
pub(super) const PARKED: &str = "parked: its agent is not logged in";

impl Machine {
    /// Another process runs the harness: a resident that is wanted waits for its
    /// turn, everything else is done with.
    pub(super) fn give_way(&mut self, wanted: Option<Outcome>, turn: &mut Turn<'_>) {
        match wanted {
            Some(outcome) if !turn.policy.oneshot && turn.policy.again(outcome) => {
                self.try_again(outcome, turn);
            }
            _ => self.go(Phase::Stopped, turn),
        }
    }

    /// The same attempt is made once more, later.
    pub(super) fn try_again(&mut self, outcome: Outcome, turn: &mut Turn<'_>) {
        let delay = self.tally.put_off(turn.policy);
        self.again_after(delay, outcome, turn);
    }

    /// Decides what comes after a run of which nothing is alive. `until`: how long its agent says
    /// that the limit lasts which it met.
    pub(super) fn follow_up(
        &mut self,
        outcome: Outcome,
        until: Option<Wall>,
        lasted: Duration,
        after: After,
        turn: &mut Turn<'_>,
    ) {
        match after {
            After::Down => self.go(resting(outcome), turn),
            // A firing that waits would meet the same refusal; somebody who asks for a start knows better.
            After::Start(request) if outcome == Outcome::AuthRequired && request.planned_at.is_some() => {
                self.park(true, lasted, turn);
                let skipped =
                    request.planned_at.map(|slot| Effect::Skipped { slot, cause: PARKED.to_owned() });
                turn.effects.extend(skipped);
                turn.effects.push(Effect::Dropped);
            }
            After::Start(request) => self.launch_afresh(request, turn),
            After::Policy | After::Stay if outcome == Outcome::AuthRequired => {
                self.park(after == After::Policy, lasted, turn);
            }
            After::Policy if turn.policy.again(outcome) => {
                if matches!(outcome, Outcome::RateLimited | Outcome::Overloaded) {
                    return self.wait_for_limit(outcome, until, lasted, turn);
                }
                match self.tally.count(outcome, lasted, turn.policy, turn.now.mono) {
                    Next::GiveUp => self.go(Phase::Failed, turn),
                    Next::After { delay, flapping } => {
                        turn.effects.extend(flapping.map(|exits| Effect::Flapping { exits }));
                        self.again_after(delay, outcome, turn);
                    }
                }
            }
            After::Policy | After::Stay => self.go(resting(outcome), turn),
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

    /// Waits until the stated time and a little longer, or for a pause where none is to be believed;
    /// ever longer where the stated time is near, has come, and the limit is met again.
    fn wait_for_limit(
        &mut self,
        outcome: Outcome,
        until: Option<Wall>,
        lasted: Duration,
        turn: &mut Turn<'_>,
    ) {
        let pause = self.tally.limited(outcome, lasted, turn.policy);
        let now = turn.now;
        let stated = until.map(|until| until.since(now.wall));
        let wait = match stated.filter(|wait| !wait.is_zero() && *wait <= FARTHEST) {
            Some(wait) => turn.chance.beyond(wait.max(pause.least)),
            None => turn.chance.jittered(pause.unknown),
        };
        self.go(Phase::Limited { until: now.mono + wait, until_wall: now.wall + wait, outcome }, turn);
    }

    fn park(&mut self, wanted: bool, lasted: Duration, turn: &mut Turn<'_>) {
        self.tally.parked(lasted, turn.policy);
        self.awaited = None;
        self.go(Phase::Parked { wanted }, turn);
        turn.effects.push(Effect::Parked);
    }

    /// An earlier daemon has parked it, and nobody has logged in since as far as is known.
    pub(super) fn park_again(&mut self, turn: &mut Turn<'_>) {
        if matches!(self.phase, Phase::Stopped) {
            self.park(false, Duration::ZERO, turn);
        }
    }

    /// Somebody may have logged in: what the policy wants is tried again.
    pub(super) fn unpark(&mut self, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Parked { wanted: true } if turn.policy.again(Outcome::AuthRequired) => {
                self.launch_again(Outcome::AuthRequired, turn);
            }
            Phase::Parked { .. } => self.go(Phase::Stopped, turn),
            _ => {}
        }
    }

    /// A restart that the policy no longer wants is given up before it happens.
    pub(super) fn revised(&mut self, turn: &mut Turn<'_>) {
        if let Phase::Backoff { outcome, .. } | Phase::Limited { outcome, .. } = self.phase
            && !turn.policy.again(outcome)
        {
            self.go(resting(outcome), turn);
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
