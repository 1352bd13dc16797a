//! What people ask for: start, stop, restart, once.
//!
//! Invariant: a stop in flight wins over a start that arrives (LIF-5): that one
//! is refused, or waits if its client does.

use std::collections::BTreeSet;

use super::asks::{Answer, line};
use super::message::{Effect, Ticket, Wish};
use super::slot::{Goal, Waiter};
use super::{Supervisor, Turn};
use crate::base::{HarnessName, RunId, Trigger};
use crate::lifecycle::{Event as Order, Request, RestartPolicy, Standing, StopReason};
use crate::wire::{ErrorBody, ErrorCode, Record};

const MANUAL: Request = Request { trigger: Trigger::Manual, planned_at: None };

/// What a good answer says: while it may still fail, and when it is so.
#[derive(Debug, Clone, Copy)]
struct Word {
    soon: &'static str,
    done: &'static str,
}

const RUNS: Word = Word { soon: "already-running", done: "already-running" };
const STARTS: Word = Word { soon: "starting", done: "started" };
const RESTARTS: Word = Word { soon: "restarting", done: "restarted" };

/// One verb applied to one harness; none: the answer comes later.
type Verb = fn(&mut Supervisor, &HarnessName, Ticket, bool, &mut Turn) -> Option<Answer>;

impl Supervisor {
    /// Applies a verb to each of the names and replies when all have their answers.
    pub(super) fn each(
        &mut self,
        ticket: Ticket,
        mut names: Vec<HarnessName>,
        wait: bool,
        verb: Verb,
        turn: &mut Turn,
    ) {
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        self.asks.open(ticket, &names, false);
        let mut reply = if names.is_empty() { self.asks.reply(ticket) } else { None };
        for name in &names {
            if let Some(answer) = verb(self, name, ticket, wait, turn) {
                reply = reply.or(self.asks.answer(ticket, name, answer));
            }
        }
        turn.effects.extend(reply);
    }

    pub(super) fn start_one(
        &mut self,
        name: &HarnessName,
        ticket: Ticket,
        wait: bool,
        turn: &mut Turn,
    ) -> Option<Answer> {
        let standing = match self.startable(name, wait) {
            Ok(standing) => standing,
            Err(error) => return Some(Err(error)),
        };
        let active = matches!(standing, Standing::Running(_) | Standing::Starting(_));
        if active && turn.session.is_some() {
            let error = busy(name, "runs already, in a session of its own");
            return Some(Err(error.help("stop it first")));
        }
        if let Some(slot) = self.slots.get_mut(name)
            && (turn.session.is_some() || !matches!(standing, Standing::Ending { .. }))
        {
            slot.session.clone_from(&turn.session);
        }
        self.remember(name, true, turn);
        let (word, run) = match standing {
            Standing::Running(run) => (RUNS, Some(run)),
            Standing::Starting(run) => (Word { soon: "starting", ..RUNS }, Some(run)),
            Standing::Idle | Standing::Parked | Standing::Waiting => {
                self.drive(name, Order::Start(MANUAL), turn);
                (STARTS, self.run_of(name))
            }
            Standing::Ending { .. } => {
                self.drive(name, Order::Start(MANUAL), turn);
                (STARTS, None)
            }
        };
        self.started(name, ticket, wait, word, run)
    }

    pub(super) fn restart_one(
        &mut self,
        name: &HarnessName,
        ticket: Ticket,
        wait: bool,
        turn: &mut Turn,
    ) -> Option<Answer> {
        let standing = match self.startable(name, wait) {
            Ok(standing) => standing,
            Err(error) => return Some(Err(error)),
        };
        self.remember(name, true, turn);
        if let Some(slot) = self.slots.get_mut(name) {
            slot.session = slot.harness.resume.then_some(Wish::GoOn);
        }
        self.drive(name, Order::Restart(MANUAL), turn);
        let (word, run) = match standing {
            Standing::Idle | Standing::Parked => (STARTS, self.run_of(name)),
            Standing::Waiting => (RESTARTS, self.run_of(name)),
            Standing::Starting(_) | Standing::Running(_) | Standing::Ending { .. } => (RESTARTS, None),
        };
        self.started(name, ticket, wait, word, run)
    }

    pub(super) fn stop_one(
        &mut self,
        name: &HarnessName,
        ticket: Ticket,
        wait: bool,
        turn: &mut Turn,
    ) -> Option<Answer> {
        let Some(slot) = self.slots.get(name) else { return Some(Err(unknown(name))) };
        let standing = slot.machine.standing();
        self.remember(name, false, turn);
        self.let_go(name, turn);
        let run = match standing {
            Standing::Idle => return Some(Ok(line(name, "already-stopped", None))),
            Standing::Parked | Standing::Waiting => None,
            Standing::Starting(run) | Standing::Running(run) | Standing::Ending { run, .. } => Some(run),
        };
        self.drive(name, Order::Stop(StopReason::Asked), turn);
        match run {
            Some(_) if wait => {
                self.await_goal(name, Waiter { ticket, goal: Goal::Gone, result: "stopped".into(), run })
            }
            Some(_) => Some(Ok(line(name, "stopping", run))),
            None => Some(Ok(line(name, "stopped", None))),
        }
    }

    /// One run in the foreground: nothing of the harness may be active, a wait for a restart included.
    pub(super) fn once(&mut self, ticket: Ticket, name: &HarnessName, turn: &mut Turn) {
        self.asks.open(ticket, std::slice::from_ref(name), true);
        let refusal = match self.startable(name, false) {
            Err(error) => Some(error),
            Ok(Standing::Idle | Standing::Parked) => None,
            Ok(Standing::Waiting) => Some(busy(name, "waits to be restarted")),
            Ok(Standing::Starting(_) | Standing::Running(_)) => Some(busy(name, "runs already")),
            Ok(Standing::Ending { .. }) => Some(busy(name, "is still being ended")),
        };
        if let Some(error) = refusal {
            turn.effects.extend(self.asks.answer(ticket, name, Err(error)));
            return;
        }
        self.drive(name, Order::Start(Request { trigger: Trigger::Once, planned_at: None }), turn);
        let run = self.run_of(name);
        self.await_goal(name, Waiter { ticket, goal: Goal::Row, result: "".into(), run });
    }

    /// A client is gone; its foreground run goes with it.
    pub(super) fn forget(&mut self, ticket: Ticket, turn: &mut Turn) {
        let Some((names, foreground)) = self.asks.forget(ticket) else { return };
        for name in names {
            if let Some(slot) = self.slots.get_mut(&name) {
                slot.waiters.retain(|waiter| waiter.ticket != ticket);
            }
            if foreground {
                self.drive(&name, Order::Stop(StopReason::ClientGone), turn);
            }
        }
    }

    /// Where a harness stands that somebody wants to start, unless he may not.
    fn startable(&self, name: &HarnessName, wait: bool) -> Result<Standing, ErrorBody> {
        let slot = self.slots.get(name).ok_or_else(|| unknown(name))?;
        if self.shutting_down {
            return Err(ErrorBody::new(
                ErrorCode::AlreadyStopping,
                format!("start `{name}`: the daemon is shutting down"),
            ));
        }
        if slot.removed {
            return Err(ErrorBody::new(
                ErrorCode::UnknownHarness,
                format!("`{name}` is no longer in the configuration and is being stopped"),
            ));
        }
        match slot.machine.standing() {
            Standing::Ending { by_hand: true, followed: false, .. } if !wait => {
                Err(ErrorBody::new(ErrorCode::AlreadyStopping, format!("`{name}` is being stopped"))
                    .help("try again when it has stopped, or use `--wait`"))
            }
            standing => Ok(standing),
        }
    }

    /// Answers a start, now or when its goal is reached.
    fn started(
        &mut self,
        name: &HarnessName,
        ticket: Ticket,
        wait: bool,
        word: Word,
        run: Option<RunId>,
    ) -> Option<Answer> {
        let slot = self.slots.get(name)?;
        let oneshot = slot.harness.oneshot();
        let runs = matches!(slot.machine.standing(), Standing::Running(_));
        if !wait {
            return Some(Ok(line(name, word.soon, run)));
        }
        if runs && !oneshot && run.is_some() {
            return Some(Ok(line(name, word.done, run)));
        }
        let goal = if oneshot { Goal::Ends } else { Goal::Runs };
        self.await_goal(name, Waiter { ticket, goal, result: word.done.into(), run })
    }

    fn await_goal(&mut self, name: &HarnessName, waiter: Waiter) -> Option<Answer> {
        match self.slots.get_mut(name) {
            Some(slot) => {
                slot.waiters.push(waiter);
                None
            }
            None => Some(Err(unknown(name))),
        }
    }

    fn run_of(&self, name: &HarnessName) -> Option<RunId> {
        self.slots.get(name).and_then(|slot| slot.machine.run())
    }

    /// Remembers what a person wants of a resident harness, and of one whose stop is to last.
    pub(super) fn remember(&mut self, name: &HarnessName, wanted: bool, turn: &mut Turn) {
        let Some(slot) = self.slots.get(name) else { return };
        let lasting = slot.harness.restart() == RestartPolicy::UnlessStopped;
        if (lasting || !slot.harness.oneshot()) && self.intents.get(name) != Some(&wanted) {
            self.intents.insert(name.clone(), wanted);
            turn.effects.push(Effect::Record(Record::Intent { harness: name.clone(), wanted }));
        }
    }
}

fn unknown(name: &HarnessName) -> ErrorBody {
    ErrorBody::new(ErrorCode::UnknownHarness, format!("no harness is called `{name}`"))
}

fn busy(name: &HarnessName, how: &str) -> ErrorBody {
    ErrorBody::new(ErrorCode::AlreadyRunning, format!("`{name}` {how}"))
}
