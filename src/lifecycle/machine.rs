//! The machine: one harness's phase, and the transitions between phases.
//!
//! Invariant: an event that names a run which is not the present one changes
//! nothing, so a late answer of the shell can never end or revive a run.

mod answers;
mod orders;
mod sequel;
mod watch;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::phase::{After, Awaited, Ended, Grace, Part, Phase, Request, Standing, Wait, Watch};
use super::policy::Policy;
use super::step::{Effect, Event};
use super::tally::Tally;
use crate::base::{Mono, Now, Outcome, RunId, State, Trigger, Wall};

/// How often KILL is repeated while something of a run is alive.
const KILL_AGAIN: Duration = Duration::from_secs(1);

/// One harness's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    phase: Phase,
    tally: Tally,
    shown: State,
    /// The slot that waits for the present run to end.
    awaited: Option<Awaited>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

/// What a transition consults and where its effects go.
struct Turn<'a> {
    policy: &'a Policy,
    now: Now,
    chance: &'a mut Chance,
    effects: Vec<Effect>,
}

impl Machine {
    /// A harness that is stopped.
    #[must_use]
    pub fn new() -> Self {
        Self { phase: Phase::Stopped, tally: Tally::default(), shown: State::Stopped, awaited: None }
    }

    /// The state that is shown (LIF-1).
    #[must_use]
    pub const fn state(&self) -> State {
        match self.phase {
            Phase::Stopped | Phase::Parked { .. } => State::Stopped,
            Phase::Failed => State::Failed,
            Phase::Starting { .. } => State::Starting,
            Phase::Cancelling { .. } | Phase::Ending { .. } => State::Stopping,
            _ if self.tally.degraded() => State::Degraded,
            Phase::Backoff { .. } | Phase::Limited { .. } => State::Backoff,
            Phase::Running { .. } | Phase::Checking { .. } => State::Running,
        }
    }

    /// Where it stands, for those who give it orders.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        match self.phase {
            Phase::Stopped | Phase::Failed => Standing::Idle,
            Phase::Parked { .. } => Standing::Parked,
            Phase::Backoff { .. } | Phase::Limited { .. } => Standing::Waiting,
            Phase::Starting { run, .. } => Standing::Starting(run),
            Phase::Running { run, .. } | Phase::Checking { run, .. } => Standing::Running(run),
            Phase::Cancelling { run, after, .. } | Phase::Ending { run, after, .. } => {
                Standing::Ending { run, by_hand: self.by_hand(), followed: matches!(after, After::Start(_)) }
            }
        }
    }

    /// Whether it is being ended because a person (or the end of the daemon) wants it down.
    const fn by_hand(&self) -> bool {
        match self.phase {
            Phase::Cancelling { after: After::Down, .. } | Phase::Ending { after: After::Down, .. } => true,
            Phase::Cancelling { reason, .. } | Phase::Ending { ended: Ended::Told(reason, _), .. } => {
                reason.by_hand()
            }
            _ => false,
        }
    }

    /// The run in progress, until nothing of it is alive.
    #[must_use]
    pub const fn run(&self) -> Option<RunId> {
        match self.phase {
            Phase::Stopped
            | Phase::Failed
            | Phase::Parked { .. }
            | Phase::Backoff { .. }
            | Phase::Limited { .. } => None,
            Phase::Starting { run, .. }
            | Phase::Cancelling { run, .. }
            | Phase::Running { run, .. }
            | Phase::Checking { run, .. }
            | Phase::Ending { run, .. } => Some(run),
        }
    }

    /// When it next wants an [`Event::Due`] by the monotonic clock.
    #[must_use]
    pub fn deadline(&self) -> Option<Mono> {
        match &self.phase {
            Phase::Stopped
            | Phase::Failed
            | Phase::Parked { .. }
            | Phase::Starting { .. }
            | Phase::Cancelling { .. } => None,
            Phase::Backoff { until, .. } | Phase::Limited { until, .. } => Some(*until),
            Phase::Running {
                timeout, watch: Watch::Output(bound) | Watch::End(_, bound), settles, ..
            } => timeout.iter().chain(bound).map(|bound| bound.at).chain(*settles).min(),
            Phase::Checking { bound, .. } => Some(bound.at),
            Phase::Ending { grace: Grace::Until(at) | Grace::Over(at), .. } => Some(*at),
        }
    }

    /// When it next wants an [`Event::Due`] by the real-time clock: a limit is over then, though
    /// the monotonic clock stood still while the machine was suspended.
    #[must_use]
    pub const fn wall_deadline(&self) -> Option<Wall> {
        match self.phase {
            Phase::Limited { until_wall, .. } => Some(until_wall),
            _ => None,
        }
    }

    /// What it waits for while nothing of it runs.
    #[must_use]
    pub const fn waits(&self) -> Option<Wait> {
        match self.phase {
            Phase::Parked { .. } => Some(Wait::Login),
            Phase::Backoff { until_wall, .. } => Some(Wait::Backoff(until_wall)),
            Phase::Limited { until_wall, .. } => Some(Wait::Limit(until_wall)),
            _ => None,
        }
    }

    /// Restarts by policy since the last start that was asked for.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.tally.restarts()
    }

    /// Consecutive failed attempts since the last start that was asked for.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.tally.failures()
    }

    /// Takes an event; answers with what is to be done, in order.
    pub fn handle(&mut self, event: Event, policy: &Policy, now: Now, chance: &mut Chance) -> Vec<Effect> {
        let mut turn = Turn { policy, now, chance, effects: Vec::new() };
        match event {
            Event::Start(request) => self.start(request, &mut turn),
            Event::Fire { slot, overlap } => self.fire(Trigger::Schedule, slot, overlap, &mut turn),
            Event::CatchUp { slot, overlap } => self.fire(Trigger::CatchUp, slot, overlap, &mut turn),
            Event::Stop(reason) => self.stop(reason, &mut turn),
            Event::Restart(request) => self.restart(request, &mut turn),
            Event::Kill => self.kill(&mut turn),
            Event::Spawned(run) => self.spawned(run, &mut turn),
            Event::NotSpawned { run, cause, blameless } => {
                self.not_spawned(run, Outcome::SpawnFailed, cause, blameless, &mut turn);
            }
            Event::Busy { run, cause } => self.not_spawned(run, Outcome::Skipped, cause, true, &mut turn),
            Event::Output(run) => self.output(run, &mut turn),
            Event::Overspent { run, overspent } => self.overspent(run, overspent, &mut turn),
            Event::Reported { run, report } => self.reported(run, report, &mut turn),
            Event::Resumed(run) => self.resumed(run, &mut turn),
            Event::Exited { run, status } => self.exited(run, status, &mut turn),
            Event::Emptied { run, report } => self.emptied(run, report, &mut turn),
            Event::CheckRefused { run, cause } => self.check_refused(run, &cause, &mut turn),
            Event::Park => self.park_again(&mut turn),
            Event::Unpark => self.unpark(&mut turn),
            Event::Revised => self.revised(&mut turn),
            Event::Due => self.due(&mut turn),
        }
        turn.effects
    }

    /// Goes into a phase and tells if that shows.
    fn go(&mut self, phase: Phase, turn: &mut Turn<'_>) {
        self.phase = phase;
        self.show(turn);
    }

    /// Tells the state that is shown, if it is another one.
    fn show(&mut self, turn: &mut Turn<'_>) {
        let (from, to) = (self.shown, self.state());
        if from != to {
            self.shown = to;
            turn.effects.push(Effect::Changed { from, to });
        }
    }

    /// Launches a run; what follows a foreground run is never the policy's business.
    fn launch(&mut self, request: Request, wanted: Option<Outcome>, turn: &mut Turn<'_>) {
        let awaited = self.awaited.take().filter(|awaited| request.planned_at == Some(awaited.slot));
        let run = awaited.map_or_else(|| turn.chance.run_id(turn.now.wall), |awaited| awaited.run);
        let after = if request.trigger == Trigger::Once { After::Stay } else { After::Policy };
        let attempt = self.tally.attempt();
        self.go(Phase::Starting { run, after, wanted }, turn);
        turn.effects.push(Effect::Launch { run, request, attempt });
    }

    /// Launches a run that was asked for: history is forgotten, not what it waited for.
    fn launch_afresh(&mut self, request: Request, turn: &mut Turn<'_>) {
        let wanted = match self.phase {
            Phase::Backoff { outcome, .. } | Phase::Limited { outcome, .. } => Some(outcome),
            Phase::Parked { wanted: true } => Some(Outcome::AuthRequired),
            _ => (request.trigger == Trigger::Boot).then_some(Outcome::Skipped),
        };
        self.tally = Tally::default();
        self.launch(request, wanted, turn);
    }

    /// Launches a run because the policy wants it after this outcome.
    fn launch_again(&mut self, outcome: Outcome, turn: &mut Turn<'_>) {
        self.tally.restarted();
        self.launch(Request { trigger: Trigger::Restart, planned_at: None }, Some(outcome), turn);
    }

    fn ending(&mut self, run: RunId, part: Part, ended: Ended, after: After, turn: &mut Turn<'_>) {
        let grace = Grace::Until(turn.now.mono + turn.policy.stop_timeout);
        self.go(Phase::Ending { run, part, ended, grace, after }, turn);
    }
}
