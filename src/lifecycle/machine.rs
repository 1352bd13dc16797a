//! The machine: one harness's phase, and the transitions between phases.
//!
//! Invariant: an event that names a run which is not the present one changes
//! nothing, so a late answer of the shell can never end or revive a run.

use std::time::Duration;

use super::chance::Chance;
use super::phase::{After, Ended, Grace, Phase, Request, Standing};
use super::policy::Policy;
use super::step::{Effect, Event, Firing};
use super::tally::{Next, Tally};
use super::verdict::{StopReason, of_exit};
use crate::base::{ExitStatus, Mono, Now, Outcome, RunId, State, Trigger, Wall};

/// How often KILL is repeated while something of a run is alive.
const KILL_AGAIN: Duration = Duration::from_secs(1);

/// One harness's machine.
#[derive(Debug, Clone)]
pub struct Machine {
    phase: Phase,
    tally: Tally,
    shown: State,
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
        Self { phase: Phase::Stopped, tally: Tally::default(), shown: State::Stopped }
    }

    /// The state that is shown (LIF-1).
    #[must_use]
    pub const fn state(&self) -> State {
        match self.phase {
            Phase::Stopped => State::Stopped,
            Phase::Failed => State::Failed,
            Phase::Starting { .. } => State::Starting,
            Phase::Cancelling { .. } | Phase::Ending { .. } => State::Stopping,
            Phase::Backoff { .. } | Phase::Running { .. } if self.tally.degraded() => State::Degraded,
            Phase::Backoff { .. } => State::Backoff,
            Phase::Running { .. } => State::Running,
        }
    }

    /// Where it stands, for those who give it orders.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        match self.phase {
            Phase::Stopped | Phase::Failed => Standing::Idle,
            Phase::Backoff { .. } => Standing::Waiting,
            Phase::Starting { run, .. } => Standing::Starting(run),
            Phase::Running { run, .. } => Standing::Running(run),
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
            Phase::Stopped | Phase::Failed | Phase::Backoff { .. } => None,
            Phase::Starting { run, .. }
            | Phase::Cancelling { run, .. }
            | Phase::Running { run, .. }
            | Phase::Ending { run, .. } => Some(run),
        }
    }

    /// When it next wants an [`Event::Due`].
    #[must_use]
    pub fn deadline(&self) -> Option<Mono> {
        match self.phase {
            Phase::Stopped | Phase::Failed | Phase::Starting { .. } | Phase::Cancelling { .. } => None,
            Phase::Backoff { until, .. } => Some(until),
            Phase::Running { timeout, settles, .. } => {
                timeout.map(|(at, _)| at).into_iter().chain(settles).min()
            }
            Phase::Ending { grace: Grace::Until(at) | Grace::Over(at), .. } => Some(at),
        }
    }

    /// The end of the wait for a restart.
    #[must_use]
    pub const fn waits_until(&self) -> Option<Wall> {
        match self.phase {
            Phase::Backoff { until_wall, .. } => Some(until_wall),
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
            Event::Fire { slot, overlap } => self.fire(slot, overlap, &mut turn),
            Event::Stop(reason) => self.stop(reason, &mut turn),
            Event::Restart(request) => self.restart(request, &mut turn),
            Event::Kill => self.kill(&mut turn),
            Event::Spawned(run) => self.spawned(run, &mut turn),
            Event::NotSpawned { run, cause } => self.not_spawned(run, cause, &mut turn),
            Event::Exited { run, status } => self.exited(run, status, &mut turn),
            Event::Emptied(run) => self.emptied(run, &mut turn),
            Event::Revised => self.revised(&mut turn),
            Event::Due => self.due(&mut turn),
        }
        turn.effects
    }

    /// Goes into a phase and tells if that shows.
    fn go(&mut self, phase: Phase, turn: &mut Turn<'_>) {
        self.phase = phase;
        let (from, to) = (self.shown, self.state());
        if from != to {
            self.shown = to;
            turn.effects.push(Effect::Changed { from, to });
        }
    }

    /// Launches a run; what follows a foreground run is never the policy's business.
    fn launch(&mut self, request: Request, turn: &mut Turn<'_>) {
        let run = turn.chance.run_id(turn.now.wall);
        let after = if request.trigger == Trigger::Once { After::Stay } else { After::Policy };
        let attempt = self.tally.attempt();
        self.go(Phase::Starting { run, after }, turn);
        turn.effects.push(Effect::Launch { run, request, attempt });
    }

    /// Launches a run that was asked for: history is forgotten.
    fn launch_afresh(&mut self, request: Request, turn: &mut Turn<'_>) {
        self.tally = Tally::default();
        self.launch(request, turn);
    }

    /// Launches a run because the policy wants it.
    fn launch_again(&mut self, turn: &mut Turn<'_>) {
        self.tally.restarted();
        self.launch(Request { trigger: Trigger::Restart, planned_at: None }, turn);
    }

    fn start(&mut self, request: Request, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Stopped | Phase::Failed | Phase::Backoff { .. } => self.launch_afresh(request, turn),
            Phase::Starting { .. } | Phase::Running { .. } => {}
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => follow(after, request),
        }
    }

    fn fire(&mut self, slot: Wall, overlap: Firing, turn: &mut Turn<'_>) {
        let request = Request { trigger: Trigger::Schedule, planned_at: Some(slot) };
        let skipped = |turn: &mut Turn<'_>, cause: &str| {
            turn.effects.push(Effect::Skipped { slot, cause: cause.to_owned() });
        };
        if self.by_hand() {
            return skipped(turn, "it is being stopped");
        }
        let (after, active) = match &mut self.phase {
            Phase::Stopped | Phase::Failed | Phase::Backoff { .. } => {
                return self.launch_afresh(request, turn);
            }
            Phase::Starting { after, .. } | Phase::Running { after, .. } => (after, true),
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => (after, false),
        };
        match (overlap, *after) {
            (Firing::Replace, _) if active => {
                self.end(StopReason::Replaced(slot), After::Start(request), turn)
            }
            (Firing::Queue | Firing::Replace, After::Start(_)) => {
                skipped(turn, "another firing waits already")
            }
            (Firing::Queue | Firing::Replace, _) => *after = After::Start(request),
            (Firing::Skip, After::Start(_)) => skipped(turn, "the run before it is still active"),
            (Firing::Skip, _) => {
                // SCH-8: retries of what runs would reach beyond this slot.
                *after = After::Stay;
                skipped(turn, "the run before it is still active");
            }
        }
    }

    fn stop(&mut self, reason: StopReason, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Stopped | Phase::Failed => {}
            Phase::Backoff { .. } => self.go(Phase::Stopped, turn),
            _ => self.end(reason, After::Down, turn),
        }
    }

    fn restart(&mut self, request: Request, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Stopped | Phase::Failed | Phase::Backoff { .. } => self.launch_afresh(request, turn),
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => follow(after, request),
            // A firing that waits already is the start that follows.
            Phase::Starting { after, .. } | Phase::Running { after, .. } => {
                follow(after, request);
                let next = *after;
                self.end(StopReason::Restart, next, turn);
            }
        }
    }

    /// Ends what is alive; a start that waited and is not `next` is dropped.
    fn end(&mut self, reason: StopReason, next: After, turn: &mut Turn<'_>) {
        let (Phase::Starting { after, .. }
        | Phase::Cancelling { after, .. }
        | Phase::Running { after, .. }
        | Phase::Ending { after, .. }) = &mut self.phase
        else {
            return;
        };
        let before = std::mem::replace(after, next);
        match self.phase {
            Phase::Starting { run, after } => {
                turn.effects.push(Effect::Cancel(run));
                self.go(Phase::Cancelling { run, reason, at_once: false, after }, turn);
            }
            Phase::Running { run, since, after, .. } => {
                let lasted = turn.now.mono.since(since);
                turn.effects.push(Effect::StopTree(run));
                self.ending(run, Ended::Told(reason, None), lasted, after, turn);
            }
            _ => {}
        }
        if let After::Start(request) = before
            && before != next
        {
            if let Some(slot) = request.planned_at {
                let cause = reason.cause();
                turn.effects.push(Effect::Skipped { slot, cause });
            }
            turn.effects.push(Effect::Dropped);
        }
    }

    fn ending(&mut self, run: RunId, ended: Ended, lasted: Duration, after: After, turn: &mut Turn<'_>) {
        let grace = Grace::Until(turn.now.mono + turn.policy.stop_timeout);
        self.go(Phase::Ending { run, ended, lasted, grace, after }, turn);
    }

    fn kill(&mut self, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Cancelling { at_once, .. } => *at_once = true,
            Phase::Ending { run, grace, .. } => {
                turn.effects.push(Effect::KillTree(*run));
                *grace = Grace::Over(turn.now.mono + KILL_AGAIN);
            }
            _ => {}
        }
    }

    fn spawned(&mut self, run: RunId, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match self.phase {
            Phase::Starting { run: own, after } if own == run => {
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

    fn not_spawned(&mut self, run: RunId, cause: String, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Starting { run: own, after } if own == run => {
                let outcome = Outcome::SpawnFailed;
                turn.effects.push(Effect::Ended { run, outcome, cause: Some(cause), status: None });
                self.follow_up(outcome, Duration::ZERO, after, turn);
            }
            Phase::Cancelling { run: own, reason, after, .. } if own == run => {
                let outcome = reason.outcome();
                turn.effects.push(Effect::Ended { run, outcome, cause: Some(reason.cause()), status: None });
                self.follow_up(outcome, Duration::ZERO, after, turn);
            }
            _ => {}
        }
    }

    fn exited(&mut self, run: RunId, exit: ExitStatus, turn: &mut Turn<'_>) {
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

    fn emptied(&mut self, run: RunId, turn: &mut Turn<'_>) {
        let Phase::Ending { run: own, ended, lasted, after, .. } = self.phase else { return };
        if own != run {
            return;
        }
        let ((outcome, cause), status) = match ended {
            Ended::Itself(status) => (of_exit(status), Some(status)),
            Ended::Told(reason, status) => ((reason.outcome(), Some(reason.cause())), status),
        };
        turn.effects.push(Effect::Ended { run, outcome, cause, status });
        self.follow_up(outcome, lasted, after, turn);
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
            return self.launch_again(turn);
        }
        let delay = turn.chance.jittered(delay);
        let (until, until_wall) = (turn.now.mono + delay, turn.now.wall + delay);
        self.go(Phase::Backoff { until, until_wall, outcome }, turn);
    }

    /// A restart that the policy no longer wants is given up before it happens.
    fn revised(&mut self, turn: &mut Turn<'_>) {
        if let Phase::Backoff { outcome, .. } = self.phase
            && !turn.policy.again(outcome)
        {
            self.go(resting(outcome), turn);
        }
    }

    fn due(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.mono;
        match self.phase {
            Phase::Backoff { until, .. } if until <= now => self.launch_again(turn),
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

/// A start follows what is being ended, unless one does already.
const fn follow(after: &mut After, request: Request) {
    if !matches!(after, After::Start(_)) {
        *after = After::Start(request);
    }
}
