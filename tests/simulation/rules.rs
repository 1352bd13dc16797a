//! What must hold in every history, checked effect by effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harnessd::base::{HarnessName, Mono, Now, Outcome, RunId, State, Trigger, Wall};
use harnessd::config::Harness;
use harnessd::supervisor::{Effect, Supervisor, Ticket};
use harnessd::wire::{EventKind, Record, Run};

use serde_json::Value;

use crate::shell::Shell;
use crate::world::{CAP, WINDOW};

/// A rule that was broken.
pub(crate) type Verdict = Result<(), String>;

/// Which launches an order, a firing or the policy has allowed since the last stop.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Leave {
    pub(crate) asked: bool,
    pub(crate) fired: bool,
    pub(crate) policy: bool,
}

/// What is known of one harness.
#[derive(Debug, Default)]
struct Known {
    shown: Option<State>,
    leave: Leave,
    /// Failures in a row since a start that was asked for or a good end.
    failures: u32,
    /// The last delay, while nothing has reset it.
    delay: Option<Duration>,
    /// The end of that delay.
    until: Option<Wall>,
    /// When the last run was launched.
    launched: Mono,
    /// Runs in a row that were certainly shorter than the window.
    quick: u32,
    /// The last launch met a run of another process.
    met: bool,
    slots: BTreeSet<Wall>,
}

/// The books of a history.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    known: BTreeMap<HarnessName, Known>,
    open: BTreeSet<RunId>,
    recorded: BTreeSet<RunId>,
    pub(crate) asked: BTreeSet<Ticket>,
    /// The last request that led to no start: refused, or it runs already.
    pub(crate) denied: Option<Ticket>,
    pub(crate) ends: BTreeMap<Outcome, u32>,
    pub(crate) events: BTreeMap<&'static str, u32>,
}

fn rule(holds: bool, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(text()) }
}

impl Rules {
    pub(crate) fn leave(&mut self, name: &HarnessName) -> &mut Leave {
        &mut self.known.entry(name.clone()).or_default().leave
    }

    /// The definition is another one: its delays and slots cannot be compared with those before.
    pub(crate) fn redefined(&mut self, name: &HarnessName) {
        let known = self.known.entry(name.clone()).or_default();
        known.delay = None;
        known.slots.clear();
    }

    /// The harness is gone.
    pub(crate) fn forgotten(&mut self, name: &HarnessName) {
        self.known.remove(name);
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    /// Checks one effect before it is performed. `rearmed`: the clock has just gone
    /// back, so a claim of this very instant may be a phase that begins anew.
    pub(crate) fn check(&mut self, effect: &Effect, shell: &Shell, now: Now, rearmed: bool) -> Verdict {
        match effect {
            Effect::Launch { run, harness, trigger, .. } => self.launch(*run, harness, *trigger, shell, now),
            Effect::Cancel { run } => {
                rule(shell.is_launching(*run), || format!("cancel of {run}, which is not being launched"))
            }
            Effect::StopTree { run } | Effect::KillTree { run } => {
                rule(shell.has(*run), || format!("signal to {run}, of which nothing is alive"))
            }
            Effect::Record(record) => self.record(record, shell, now, rearmed),
            Effect::Emit(EventKind::StateChanged { harness, from, to }) => {
                let known = self.known.entry(harness.clone()).or_default();
                let before = known.shown.replace(*to).unwrap_or(State::Stopped);
                rule(before == *from && from != to, || format!("{harness}: {before}, then {from} > {to}"))
            }
            Effect::Emit(EventKind::Flapping { .. }) => {
                self.count("flapping");
                Ok(())
            }
            Effect::Emit(_)
            | Effect::Check { .. }
            | Effect::Park { .. }
            | Effect::Unpark { .. }
            | Effect::Notify { .. } => Ok(()),
            Effect::Reply { ticket, result } => {
                let running = |reply: &Value| reply["harnesses"][0]["result"] == "already-running";
                if result.as_ref().map_or(true, running) {
                    self.denied = Some(*ticket);
                }
                rule(self.asked.remove(ticket), || format!("{ticket:?} is answered unasked or twice"))
            }
        }
    }

    fn launch(
        &mut self,
        run: RunId,
        harness: &Harness,
        trigger: Trigger,
        shell: &Shell,
        now: Now,
    ) -> Verdict {
        let name = &harness.name;
        rule(!shell.lives(name), || format!("{name} is launched while something of it is alive"))?;
        rule(self.open.contains(&run), || format!("{run} is launched before its record"))?;
        let known = self.known.entry(name.clone()).or_default();
        let allowed = match trigger {
            Trigger::Schedule => std::mem::take(&mut known.leave.fired),
            Trigger::Restart => known.leave.policy,
            _ => std::mem::take(&mut known.leave.asked),
        };
        rule(allowed, || format!("{name} is launched by {trigger} though nobody wants it"))?;
        known.leave.policy = trigger != Trigger::Once;
        known.launched = now.mono;
        if trigger != Trigger::Restart {
            (known.failures, known.quick, known.delay) = (0, 0, None);
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, shell: &Shell, now: Now, rearmed: bool) -> Verdict {
        match record {
            Record::RunLost(_) => panic!("the core closes no run as lost"),
            Record::RunStarted(run) => {
                let new = self.recorded.insert(run.id) && self.open.insert(run.id);
                rule(new && run.outcome.is_none(), || format!("{} is started twice", run.id))
            }
            Record::RunEnded(run) => {
                rule(!shell.has(run.id), || format!("{} is ended while something of it is alive", run.id))?;
                rule(self.open.remove(&run.id), || format!("{} is ended twice", run.id))?;
                let said = run.cause.is_none() == (run.outcome == Some(Outcome::Ok));
                rule(said && run.ended_at == Some(now.wall), || {
                    format!("{run:?} does not say how it ended")
                })?;
                self.ended(run, now);
                Ok(())
            }
            Record::Skipped(run) => {
                self.count("skipped");
                rule(self.recorded.insert(run.id), || format!("{} is recorded twice", run.id))
            }
            Record::Fired { harness, at, .. } if !(rearmed && *at == now.wall) => {
                let known = self.known.entry(harness.clone()).or_default();
                known.leave.fired = true;
                let new = known.slots.insert(*at);
                rule(new && *at <= now.wall, || format!("{harness}: slot {} again", at.rfc3339()))
            }
            Record::Fired { .. }
            | Record::RunQueued(_)
            | Record::RunSpawned { .. }
            | Record::RunVersion { .. }
            | Record::Intent { .. } => Ok(()),
        }
    }

    fn ended(&mut self, run: &Run, now: Now) {
        let outcome = run.outcome.unwrap_or(Outcome::Lost);
        *self.ends.entry(outcome).or_default() += 1;
        let known = self.known.entry(run.harness.clone()).or_default();
        known.met = outcome == Outcome::Skipped;
        if known.met {
            return;
        }
        let quick = now.mono.since(known.launched) < WINDOW;
        known.quick = if quick { known.quick + 1 } else { 0 };
        match outcome {
            Outcome::Ok => known.failures = 0,
            Outcome::Failed | Outcome::Timeout | Outcome::SpawnFailed => known.failures += 1,
            _ => {}
        }
    }

    /// Checks how the fleet stands after an event.
    pub(crate) fn survey(&mut self, fleet: &Supervisor, max_attempts: u32, now: Now) -> Verdict {
        for view in fleet.views() {
            let name = view.name.clone();
            let known = self.known.entry(name.clone()).or_default();
            let shown = known.shown.unwrap_or(State::Stopped);
            rule(shown == view.state, || format!("{name}: told {shown}, is {}", view.state))?;
            let Some(until) = view.waiting.and_then(|waiting| waiting.until) else { continue };
            if known.until.replace(until) == Some(until) {
                continue;
            }
            let Some(harness) = fleet.harness(&name) else { continue };
            rule(max_attempts == 0 || known.failures < max_attempts, || {
                format!("{name} is retried after {} failures", known.failures)
            })?;
            let (wait, cap) = (until.since(now.wall), CAP.max(harness.restart_delay));
            rule(wait * 10 <= cap * 11 && wait * 10 >= harness.restart_delay * 9, || {
                format!("{name} waits {wait:?}")
            })?;
            // Waiting for another process is no part of the backoff, and only for residents.
            if known.met {
                rule(!harness.oneshot() && wait >= Duration::from_millis(900), || {
                    format!("{name} waits {wait:?} for another process")
                })?;
                continue;
            }
            let floor =
                known.delay.filter(|_| known.quick > 1).map(|before| (before * 3 / 2).min(cap * 9 / 10));
            rule(floor.is_none_or(|floor| wait >= floor), || {
                format!("{name} waits {wait:?} after {:?}", known.delay)
            })?;
            known.delay = Some(wait);
        }
        Ok(())
    }

    /// Checks what must be true when all is over.
    pub(crate) fn close(&self) -> Verdict {
        rule(self.open.is_empty(), || format!("never ended: {:?}", self.open))?;
        rule(self.asked.is_empty(), || format!("never answered: {:?}", self.asked))
    }
}
