//! What must hold in every history, checked effect by effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harnessd::base::{HarnessName, Mono, Now, Outcome, RunId, State, Trigger, Wall};
use harnessd::config::Harness;
use harnessd::supervisor::{Effect, Event, Supervisor, Ticket};
use harnessd::wire::{EventKind, HarnessView, Record, Run, WaitingReason};

use serde_json::Value;

use crate::shell::Shell;
use crate::world::{CAP, HEARD, WINDOW};

/// A rule that was broken.
pub(crate) type Verdict = Result<(), String>;

/// Which launches an order, a firing or the policy has allowed since the last stop.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Leave {
    pub(crate) asked: bool,
    /// Slots that are claimed to be run and were not launched yet.
    pub(crate) fired: u32,
    pub(crate) policy: bool,
    /// The login of a parked harness has changed.
    pub(crate) login: bool,
}

/// A limit that a run has met.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// When the run ended.
    met: Now,
    /// How long it is to be waited for, at least and at most.
    wait: (Duration, Duration),
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
    last: Option<Outcome>,
    /// What the last run met, if it was a limit.
    limit: Option<Limit>,
    /// Limits since anything else happened.
    limits: u32,
}

/// The books of a history.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    known: BTreeMap<HarnessName, Known>,
    open: BTreeSet<RunId>,
    recorded: BTreeSet<RunId>,
    /// Runs that are recorded and wait.
    queued: BTreeSet<RunId>,
    /// Runs whose agent has stated a result while it ran.
    stated: BTreeSet<RunId>,
    /// Runs that somebody who wants to was told of.
    heard: BTreeSet<RunId>,
    pub(crate) asked: BTreeSet<Ticket>,
    /// The last request that led to no start: refused, or it runs already.
    pub(crate) denied: Option<Ticket>,
    pub(crate) ends: BTreeMap<Outcome, u32>,
    pub(crate) events: BTreeMap<&'static str, u32>,
}

pub(crate) fn rule(holds: bool, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(text()) }
}

impl Rules {
    pub(crate) fn leave(&mut self, name: &HarnessName) -> &mut Leave {
        &mut self.known.entry(name.clone()).or_default().leave
    }

    /// The daemon went away with all that it knew.
    pub(crate) fn crashed(&mut self) {
        self.known.clear();
        self.open.clear();
        self.queued.clear();
        self.asked.clear();
    }

    /// The definition is another one: its delays cannot be compared with those before.
    pub(crate) fn redefined(&mut self, name: &HarnessName) {
        let known = self.known.entry(name.clone()).or_default();
        known.delay = None;
    }

    /// The harness is gone.
    pub(crate) fn forgotten(&mut self, name: &HarnessName) {
        self.known.remove(name);
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    pub(crate) fn hear(&mut self, event: &Event) {
        if let Event::Reported { run, .. } = event {
            self.stated.insert(*run);
        }
    }

    /// Checks one effect before it is performed.
    pub(crate) fn check(&mut self, effect: &Effect, shell: &Shell, now: Now) -> Verdict {
        match effect {
            Effect::Launch { run, harness, trigger, .. } => self.launch(*run, harness, *trigger, shell, now),
            Effect::Cancel { run } => {
                rule(shell.is_launching(*run), || format!("cancel of {run}, which is not being launched"))
            }
            Effect::StopTree { run } | Effect::KillTree { run } => {
                rule(shell.has(*run), || format!("signal to {run}, of which nothing is alive"))
            }
            Effect::Record(record) => self.record(record, shell, now),
            Effect::Emit(EventKind::StateChanged { harness, from, to }) => {
                let known = self.known.entry(harness.clone()).or_default();
                let before = known.shown.replace(*to).unwrap_or(State::Stopped);
                rule(before == *from && from != to, || format!("{harness}: {before}, then {from} > {to}"))
            }
            Effect::Emit(EventKind::Flapping { .. }) => {
                self.count("flapping");
                Ok(())
            }
            Effect::Check { run, harness } => {
                let free = !shell.lives(&harness.name) && self.open.contains(run);
                rule(free, || format!("a check of {run}, which is over or still alive"))
            }
            Effect::Park { harness } => {
                self.count("parked");
                rule(!shell.lives(&harness.name), || format!("{} is parked alive", harness.name))
            }
            Effect::Unpark { harness } => {
                rule(shell.is_parked(harness), || format!("{harness} is unparked, which is not parked"))
            }
            Effect::Notify { run, .. } => {
                let wanted = run.outcome.is_some_and(|outcome| HEARD.contains(&outcome));
                let known = self.recorded.contains(&run.id) && !self.open.contains(&run.id);
                let once = self.heard.insert(run.id);
                rule(wanted && known && once, || format!("{} is told unasked, early or twice", run.id))
            }
            Effect::Emit(_) => Ok(()),
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
            Trigger::Schedule | Trigger::CatchUp => {
                let fired = known.leave.fired;
                known.leave.fired = fired.saturating_sub(1);
                fired > 0
            }
            Trigger::Restart => known.leave.policy,
            _ => std::mem::take(&mut known.leave.asked),
        };
        rule(allowed, || format!("{name} is launched by {trigger} though nobody wants it"))?;
        // A parked harness is started by hand, or by its policy once its login has changed.
        let login = std::mem::take(&mut known.leave.login);
        let freed = match trigger {
            Trigger::Restart => login,
            Trigger::Schedule | Trigger::CatchUp => false,
            _ => true,
        };
        rule(freed || !shell.is_parked(name), || format!("{name} is launched by {trigger} while parked"))?;
        self.limit_is_over(name, trigger, now)?;
        let known = self.known.entry(name.clone()).or_default();
        known.leave.policy = trigger != Trigger::Once;
        known.launched = now.mono;
        if trigger != Trigger::Restart {
            (known.failures, known.quick, known.delay, known.limits) = (0, 0, None, 0);
        }
        Ok(())
    }

    /// A retry is decided when its limit is over; that it has to wait for a place, and what the clock does
    /// meanwhile, changes nothing about that.
    fn limit_is_over(&mut self, name: &HarnessName, trigger: Trigger, now: Now) -> Verdict {
        let known = self.known.entry(name.clone()).or_default();
        if let Some(Limit { met, wait: (least, _) }) = known.limit.take()
            && trigger == Trigger::Restart
        {
            let passed = now.mono.since(met.mono) >= least || now.wall.since(met.wall) >= least;
            rule(passed, || format!("{name} is launched before its limit is over"))?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, shell: &Shell, now: Now) -> Verdict {
        match record {
            Record::RunLost(_) => panic!("the core closes no run as lost"),
            Record::RunStarted(run) => {
                let new = self.queued.remove(&run.id) || self.recorded.insert(run.id);
                let started = run.outcome.is_none() && run.started_at == Some(now.wall);
                rule(new && started, || format!("{} is started twice", run.id))?;
                if self.open.insert(run.id) {
                    self.slot(run);
                }
                Ok(())
            }
            Record::RunEnded(run) => {
                rule(!shell.has(run.id), || format!("{} is ended while something of it is alive", run.id))?;
                rule(self.open.remove(&run.id), || format!("{} is ended twice", run.id))?;
                if self.queued.remove(&run.id) && run.planned_at.is_some() {
                    let fired = &mut self.leave(&run.harness).fired;
                    *fired = fired.saturating_sub(1);
                }
                let said = run.cause.is_none() == (run.outcome == Some(Outcome::Ok));
                rule(said && run.ended_at == Some(now.wall), || {
                    format!("{run:?} does not say how it ended")
                })?;
                let limit = matches!(run.outcome, Some(Outcome::RateLimited | Outcome::Overloaded));
                rule(run.until.is_none() || limit, || format!("{} waits for no limit", run.id))?;
                rule(!run.lingered || self.stated.contains(&run.id), || {
                    format!("{} lingered, which had stated nothing", run.id)
                })?;
                self.ended(run, now);
                Ok(())
            }
            Record::Skipped(run) => {
                self.count("skipped");
                rule(self.recorded.insert(run.id), || format!("{} is recorded twice", run.id))
            }
            Record::RunQueued(run) => {
                let new = self.recorded.insert(run.id) && self.open.insert(run.id);
                rule(new && run.outcome.is_none(), || format!("{} is recorded twice", run.id))?;
                self.queued.insert(run.id);
                self.slot(run);
                self.limit_is_over(&run.harness, run.trigger, now)
            }
            Record::Fired { .. }
            | Record::Disarmed { .. }
            | Record::RunSpawned { .. }
            | Record::RunVersion { .. }
            | Record::Intent { .. }
            | Record::Profile { .. } => Ok(()),
        }
    }

    /// The run of a slot has its row: it may be launched until somebody stops the harness.
    fn slot(&mut self, run: &Run) {
        if run.planned_at.is_some() {
            self.leave(&run.harness).fired += 1;
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
        known.last = Some(outcome);
        let quick = now.mono.since(known.launched) < WINDOW;
        if matches!(outcome, Outcome::RateLimited | Outcome::Overloaded) {
            // It is no part of any count but its own.
            known.quick = if quick { known.quick } else { 0 };
            known.limit = Some(Limit { met: now, wait: wait(run, known.limits, now.wall) });
            known.limits += 1;
            return;
        }
        (known.limit, known.limits) = (None, 0);
        if outcome == Outcome::AuthRequired {
            known.quick = if quick { known.quick } else { 0 };
            return;
        }
        known.quick = if quick { known.quick + 1 } else { 0 };
        match outcome {
            Outcome::Ok => known.failures = 0,
            Outcome::Stopped | Outcome::Replaced => {}
            _ => known.failures += 1,
        }
    }

    /// Checks how the fleet stands after an event.
    pub(crate) fn survey(&mut self, fleet: &Supervisor, max_attempts: u32, now: Now) -> Verdict {
        for view in fleet.views() {
            let name = view.name.clone();
            let known = self.known.entry(name.clone()).or_default();
            let shown = known.shown.unwrap_or(State::Stopped);
            rule(shown == view.state, || format!("{name}: told {shown}, is {}", view.state))?;
            let spent = max_attempts != 0 && known.failures >= max_attempts;
            let failed = view.state != State::Failed || spent || known.last == Some(Outcome::SpawnFailed);
            rule(failed, || format!("{name} is given up after {} failures", known.failures))?;
            let Some((reason, until)) = waits(&view) else { continue };
            if known.until.replace(until) == Some(until) {
                continue;
            }
            if reason == WaitingReason::Limit {
                let wait = until.since(now.wall);
                let bounds = known.limit.map(|limit| limit.wait);
                rule(bounds.is_some_and(|(least, most)| wait >= least && wait <= most), || {
                    format!("{name} waits {wait:?} for a limit, not {bounds:?}")
                })?;
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

fn waits(view: &HarnessView) -> Option<(WaitingReason, Wall)> {
    let waiting = view.waiting.as_ref()?;
    Some((waiting.reason, waiting.until?))
}

/// How long a limit is waited for, at least and at most: until its stated time and 10 % or five
/// minutes longer, or for a pause that grows with each limit in a row, if there is no such time. What is
/// waited for a stated time grows, too, from a second after the second limit in a row.
fn wait(run: &Run, before: u32, now: Wall) -> (Duration, Duration) {
    let minutes = |count: u64| Duration::from_secs(count * 60);
    let stated = run.until.map(|until| until.since(now));
    match stated.filter(|wait| !wait.is_zero() && *wait <= minutes(8 * 24 * 60)) {
        Some(wait) => {
            let grown = |before: u32| Duration::from_secs(1 << (before - 1).min(11)).min(minutes(30));
            let wait = wait.max(if before == 0 { Duration::ZERO } else { grown(before) });
            (wait, wait + (wait / 10).min(minutes(5)))
        }
        None => {
            let first = if run.outcome == Some(Outcome::Overloaded) { 30 } else { 60 };
            let pause = Duration::from_secs(first << before.min(10)).min(minutes(30));
            // Shown times are cut to microseconds.
            (pause * 9 / 10 - Duration::from_micros(1), pause * 11 / 10)
        }
    }
}
