//! Layer 5: the fleet, pure. Requests, answers of the shell and the time go in;
//! what the shell is to do comes out, in order.
//!
//! Invariants: each harness has one machine, so at most one live run; a run's
//! record is decided before its launch; the work for an event of one harness
//! does not grow with the fleet (deadlines are kept sorted).

mod admission;
mod alarms;
mod asks;
mod configure;
mod firing;
mod health;
mod known;
mod message;
mod perform;
mod profiles;
mod queue;
mod slot;
mod snapshot;
#[cfg(test)]
mod tests;
mod verbs;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::{HarnessName, Mono, Now, RunId, Wall};
use crate::config::{DaemonSettings, Harness, Notify, Profile};
use crate::lifecycle::{Chance, Event as Order, StopReason};
use crate::wire::Run;

use alarms::Alarms;
use asks::Asks;
use queue::Queue;
use slot::Slot;

pub use firing::upcoming;
pub use message::{Effect, Event, Remembered, Rest, Ticket, Wish};
pub use snapshot::{Remnant, Snapshot};

/// How far the real-time clock may lag before it counts as having gone back,
/// in microseconds: slewing stays below it.
const STEP_BACK: i64 = 1_000_000;

/// The fleet.
#[derive(Debug)]
pub struct Supervisor {
    chance: Chance,
    settings: Option<DaemonSettings>,
    notify: Option<Arc<Notify>>,
    profiles: BTreeMap<String, Profile>,
    /// The members of the profile that starts at boot: every harness that is set off is looked for among them.
    starting: BTreeSet<HarnessName>,
    /// The profile that was last used, whether or not it is still declared.
    profile: Option<String>,
    /// Boxed: the tree keeps room for almost twice as many as it holds.
    slots: BTreeMap<HarnessName, Box<Slot>>,
    runs: BTreeMap<RunId, HarnessName>,
    alarms: Alarms,
    asks: Asks,
    queue: Queue,
    intents: BTreeMap<HarnessName, bool>,
    firings: BTreeMap<HarnessName, (String, Wall)>,
    /// Last runs of harnesses that a refused file kept out of the first configuration: they come as at boot.
    late: Option<BTreeMap<HarnessName, Run>>,
    shutting_down: bool,
    /// Real-time minus monotonic clock, in microseconds, when last looked at.
    offset: Option<i64>,
}

/// What one event leads to.
struct Turn {
    now: Now,
    effects: Vec<Effect>,
    /// In which session what is being started is to work.
    session: Option<Wish>,
    /// Runs that joined the queue.
    joined: Vec<RunId>,
    /// Runs whose launch was taken back while they waited.
    withdrawn: Vec<RunId>,
    /// Harnesses that have come to rest and may owe missed slots.
    idle: Vec<HarnessName>,
}

impl Supervisor {
    /// An empty fleet; `seed` is the shell's entropy.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed),
            settings: None,
            notify: None,
            profiles: BTreeMap::new(),
            starting: BTreeSet::new(),
            profile: None,
            slots: BTreeMap::new(),
            runs: BTreeMap::new(),
            alarms: Alarms::default(),
            asks: Asks::default(),
            queue: Queue::default(),
            intents: BTreeMap::new(),
            firings: BTreeMap::new(),
            late: None,
            shutting_down: false,
            offset: None,
        }
    }

    /// Takes an event; answers with what is to be done, in order.
    pub fn handle(&mut self, event: Event, now: Now) -> Vec<Effect> {
        let (joined, withdrawn, idle) = (Vec::new(), Vec::new(), Vec::new());
        let mut turn = Turn { now, effects: Vec::new(), session: None, joined, withdrawn, idle };
        if self.clock_went_back(now) {
            self.plan_anew(&mut turn);
            self.queue.follow_clock_back(now.wall);
        }
        match event {
            Event::Boot { configuration, remembered } => self.boot(&configuration, remembered, &mut turn),
            Event::Configure(configuration) => self.configure(&configuration, &mut turn),
            Event::Start { ticket, names, wait, session } => {
                turn.session = session;
                self.each(ticket, names, wait, Self::start_one, &mut turn);
            }
            Event::Stop { ticket, names, wait } => self.each(ticket, names, wait, Self::stop_one, &mut turn),
            Event::Restart { ticket, names, wait } => {
                self.each(ticket, names, wait, Self::restart_one, &mut turn);
            }
            Event::UseProfile { ticket, profile, exclusive, wait } => {
                self.use_profile(ticket, &profile, exclusive, wait, &mut turn);
            }
            Event::Once { ticket, name } => self.once(ticket, &name, &mut turn),
            Event::Forget(ticket) => self.forget(ticket, &mut turn),
            Event::Spawned { run, facts } => self.spawned(run, facts, &mut turn),
            Event::NotSpawned { run, cause, code } => self.not_spawned(run, cause, code, &mut turn),
            Event::Exited { run, status } => self.of_run(run, Order::Exited { run, status }, &mut turn),
            Event::Overspent { run, overspent } => {
                self.of_run(run, Order::Overspent { run, overspent }, &mut turn);
            }
            Event::Output { run } => self.of_run(run, Order::Output(run), &mut turn),
            Event::Reported { run, report } => {
                self.of_run(run, Order::Reported { run, report }, &mut turn);
            }
            Event::Resumed { run } => self.of_run(run, Order::Resumed(run), &mut turn),
            Event::Emptied { run, rest } => self.emptied(run, rest, &mut turn),
            Event::CheckRefused { run, cause } => {
                self.of_run(run, Order::CheckRefused { run, cause }, &mut turn);
            }
            Event::Version { run, version } => self.version(run, version, &mut turn),
            Event::LoginChanged { harness } => self.drive(&harness, Order::Unpark, &mut turn),
            Event::Tick => self.tick(&mut turn),
            Event::Shutdown { at_once } => self.shut_down(at_once, &mut turn),
        }
        self.finish(&mut turn);
        turn.effects
    }

    /// When it next wants a [`Event::Tick`] by the monotonic clock.
    #[must_use]
    pub fn deadline(&self) -> Option<Mono> {
        self.alarms.mono()
    }

    /// When it next wants a [`Event::Tick`] by the real-time clock.
    #[must_use]
    pub fn wall_deadline(&self) -> Option<Wall> {
        self.alarms.wall()
    }

    /// The present definition of a harness.
    #[must_use]
    pub fn harness(&self, name: &HarnessName) -> Option<&Arc<Harness>> {
        self.slots.get(name).map(|slot| &slot.harness)
    }

    /// All harnesses by name; those that a reload has removed, too, until they have stopped.
    pub fn names(&self) -> impl Iterator<Item = &HarnessName> {
        self.slots.keys()
    }

    /// The definitions of all harnesses that no reload has removed.
    pub fn present(&self) -> impl Iterator<Item = &Arc<Harness>> {
        self.slots.values().filter(|slot| !slot.removed).map(|slot| &slot.harness)
    }

    /// Whether the daemon may go: it was told to, and no run is alive or being launched.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.shutting_down && self.runs.is_empty()
    }

    /// Gives an order to the machine whose run it is; a run that is over is nobody's.
    fn of_run(&mut self, run: RunId, order: Order, turn: &mut Turn) {
        if let Some(name) = self.runs.get(&run).cloned() {
            self.drive(&name, order, turn);
        }
    }

    /// Firings come first: one that is due together with a retry takes its place (SCH-8).
    fn tick(&mut self, turn: &mut Turn) {
        for name in self.alarms.due_by_wall(turn.now.wall) {
            self.fire(&name, turn);
        }
        let mut due = self.alarms.limits_over(turn.now.wall);
        due.extend(self.alarms.due_by_mono(turn.now.mono));
        for name in due {
            self.drive(&name, Order::Due, turn);
        }
    }

    fn shut_down(&mut self, at_once: bool, turn: &mut Turn) {
        self.shutting_down = true;
        let names: Vec<_> = self.slots.keys().cloned().collect();
        for name in names {
            self.disarm(&name);
            self.drive(&name, Order::Stop(StopReason::Shutdown), turn);
            if at_once {
                self.drive(&name, Order::Kill, turn);
            }
        }
    }

    /// Compares the clocks: the monotonic one tells how far the other should be.
    fn clock_went_back(&mut self, now: Now) -> bool {
        let mono = i64::try_from(now.mono.0.as_micros()).unwrap_or(i64::MAX);
        let offset = now.wall.0.saturating_sub(mono);
        let before = self.offset.replace(offset);
        before.is_some_and(|before| offset < before.saturating_sub(STEP_BACK))
    }
}
