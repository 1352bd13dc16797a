//! The store of a history, and what must hold of slots and places whatever happens to daemon and clock.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use harnessd::base::{HarnessName, Now, Outcome, RunId, Trigger, Wall};
use harnessd::config::Harness;
use harnessd::schedule::Schedule;
use harnessd::supervisor::{Effect, Remembered, Supervisor};
use harnessd::wire::{Record, Run, WaitingReason};

use crate::rules::{Verdict, rule};

/// What of one turn speaks of one schedule.
#[derive(Debug, Default)]
struct Account {
    /// Slots that were claimed.
    claimed: u64,
    /// Slots that have a row since.
    rows: u64,
}

/// The books of slots and places.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    firings: BTreeMap<HarnessName, (String, Wall)>,
    intents: BTreeMap<HarnessName, bool>,
    last_runs: BTreeMap<HarnessName, Run>,
    profile: Option<String>,
    open: BTreeMap<RunId, Run>,
    turn: BTreeMap<HarnessName, Account>,
    /// One-shots that go on, with the directories that they have to themselves.
    going: BTreeMap<RunId, Option<Option<Utf8PathBuf>>>,
    schedules: BTreeMap<String, Schedule>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

impl Ledger {
    fn count(&mut self, what: &'static str, by: u64) {
        *self.counts.entry(what).or_default() += by;
    }

    /// Takes an effect in; `bound` is that of the configuration in force.
    pub(crate) fn check(&mut self, effect: &Effect, bound: Option<u32>) -> Verdict {
        match effect {
            Effect::Record(record) => self.record(record),
            Effect::Launch { run, harness, trigger, .. }
                if harness.oneshot() && *trigger != Trigger::Once =>
            {
                self.launch(*run, harness, bound)
            }
            _ => Ok(()),
        }
    }

    fn launch(&mut self, run: RunId, harness: &Harness, bound: Option<u32>) -> Verdict {
        let place = harness.exclusive.then(|| directory(harness));
        rule(place.is_none() || self.going.values().all(|other| *other != place), || {
            format!("{} is launched in a directory that another run has to itself", harness.name)
        })?;
        self.going.insert(run, place);
        rule(bound.is_none_or(|bound| self.going.len() <= bound as usize), || {
            format!("{} is launched as number {} of {bound:?}", harness.name, self.going.len())
        })
    }

    fn record(&mut self, record: &Record) -> Verdict {
        match record {
            Record::Fired { harness, expression, at } => {
                let before = self.firings.insert(harness.clone(), (expression.clone(), *at));
                // Else it is armed, or armed anew since the clock went back before its first slot.
                let since = before.filter(|(of, before)| of == expression && before < at);
                let text = expression.strip_suffix(" UTC").unwrap_or(expression).to_owned();
                let parsed = |text: &String| Schedule::parse(text).unwrap();
                let schedule = self.schedules.entry(text).or_insert_with_key(parsed);
                let count = |since| schedule.count(since, *at, chrono_tz::Tz::UTC, since);
                let claimed = since.map_or(0, |(_, since)| count(since));
                self.turn.entry(harness.clone()).or_default().claimed += claimed;
                self.count("slots", claimed);
            }
            Record::Disarmed { harness } => {
                let known = self.firings.remove(harness).is_some();
                rule(known, || format!("{harness} is disarmed, which has no schedule"))?;
            }
            Record::RunQueued(run) => {
                self.count("queued", 1);
                let new = self.open.insert(run.id, run.clone()).is_none();
                rule(new && run.started_at.is_none(), || format!("{} is queued twice", run.id))?;
                self.row(run, 1);
            }
            Record::RunStarted(run) => {
                if self.open.insert(run.id, run.clone()).is_none() {
                    self.row(run, 1);
                }
                if run.trigger == Trigger::CatchUp {
                    self.count("caught up", 1);
                }
            }
            Record::Skipped(run) => {
                if run.outcome == Some(Outcome::Missed) {
                    self.count("missed", 1);
                }
                self.row(run, run.missed.as_ref().map_or(1, |stretch| stretch.count));
            }
            Record::RunEnded(run) => {
                self.open.remove(&run.id);
                self.going.remove(&run.id);
                if run.outcome != Some(Outcome::Skipped) {
                    self.last_runs.insert(run.harness.clone(), run.clone());
                }
            }
            Record::Intent { harness, wanted } => {
                self.intents.insert(harness.clone(), *wanted);
            }
            Record::Profile { name } => {
                self.count("profiles", 1);
                let before = self.profile.replace(name.clone());
                rule(before.as_ref() != Some(name), || format!("profile {name} is recorded twice"))?;
            }
            Record::RunSpawned { .. } | Record::RunVersion { .. } | Record::RunLost(_) => {}
        }
        Ok(())
    }

    /// A row of one slot or of several.
    fn row(&mut self, run: &Run, slots: u64) {
        if run.planned_at.is_some() {
            self.turn.entry(run.harness.clone()).or_default().rows += slots;
        }
    }

    /// Checks a turn that is over: each slot that it claimed has its row, and no place stands empty that
    /// somebody waits for.
    pub(crate) fn close_turn(&mut self, fleet: &Supervisor, bound: Option<u32>) -> Verdict {
        for (name, Account { claimed, rows }) in std::mem::take(&mut self.turn) {
            rule(claimed == rows, || format!("{name}: {claimed} slots are claimed, {rows} have rows"))?;
        }
        let (used, kept) = (fleet.profile(), self.profile.as_deref());
        rule(used == kept, || format!("profile {used:?} is in use, {kept:?} is recorded"))?;
        let full = bound.is_some_and(|bound| self.going.len() >= bound as usize);
        let places: BTreeSet<_> = self.going.values().flatten().collect();
        for view in fleet.views() {
            let Some(harness) = fleet.harness(&view.name) else { continue };
            let free = match view.waiting.map(|waiting| waiting.reason) {
                Some(WaitingReason::Queue) => !full,
                // It waits behind another one of its directory, which goes on or waits for a place.
                Some(WaitingReason::Workdir) => !full && !places.contains(&directory(harness)),
                _ => false,
            };
            rule(!free, || format!("{} waits though there is room", view.name))?;
        }
        Ok(())
    }

    /// The daemon goes away: its open runs are closed as lost, and this is what the next one is told.
    pub(crate) fn crash(&mut self, now: Now) -> Remembered {
        self.count("crashes", 1);
        self.count("lost", self.open.len() as u64);
        for (_, run) in std::mem::take(&mut self.open) {
            let (outcome, ended_at) = (Some(Outcome::Lost), Some(now.wall));
            let cause = Some("the daemon went away".to_owned());
            self.last_runs.insert(run.harness.clone(), Run { outcome, ended_at, cause, ..run });
        }
        self.going.clear();
        Remembered {
            intents: self.intents.clone(),
            last_firings: self.firings.clone(),
            last_runs: self.last_runs.clone(),
            profile: self.profile.clone(),
        }
    }

    /// What a person last wanted of a harness.
    pub(crate) fn intent(&self, name: &HarnessName) -> Option<bool> {
        self.intents.get(name).copied()
    }
}

/// Where a harness works; none: in the home directory, named or not.
fn directory(harness: &Harness) -> Option<Utf8PathBuf> {
    harness.workdir.clone().filter(|_| !harness.at_home)
}
