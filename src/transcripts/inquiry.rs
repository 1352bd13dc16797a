//! The questions that people ask of the account; daemon and command line answer them alike.
//!
//! Invariant: of a harness that does not let its trajectories be read (`harvest`) no session, no exclusion and
//! no log is told here; what it used is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono_tz::Tz;

use super::follow::Warning;
use super::survey::{Circumstances, Credited, Survey, opaque_id};
use crate::base::{HarnessName, RunId, Wall};
use crate::config::Harness;
use crate::correlate::{Attribution, Ledger, Peer, SLACK};
use crate::host::zone;
use crate::store::{AccountQuery, Store, StoreError};
use crate::trajectory::Format;
use crate::wire::{By, Evidence, Run, RunSession, RunView, Usage, UsageKey, UsageRow, UsageView};

/// What the present configuration says of a harness, as far as these questions go.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Its trajectories may be listed and read.
    pub harvest: bool,
    /// Its agent keeps transcripts that are understood.
    pub native: bool,
    /// The zone of its days.
    pub zone: Tz,
    /// What it could have written, also where it never ran (COR-4).
    pub peer: Peer,
    /// What is odd about the places where it would write.
    pub warnings: Vec<String>,
}

impl Declared {
    /// What a definition says.
    #[must_use]
    pub fn of(harness: &Harness, (peer, warnings): (Peer, Vec<String>)) -> Self {
        Self {
            harvest: harness.harvest,
            native: harness.adapter.transcript_format().is_some(),
            zone: harness.timetable().map_or_else(zone::system, |timetable| timetable.timezone),
            peer,
            warnings,
        }
    }
}

/// What looks found odd, as it may be told: the name of a file in a store may hold the id of a session, so it
/// stands for itself only where every harness that uses the store lets its trajectories be read (TRJ-6).
#[must_use]
pub fn told_warnings(
    warnings: impl IntoIterator<Item = Warning>,
    declared: &BTreeMap<HarnessName, Declared>,
) -> Vec<String> {
    let open = |store: &str| {
        let uses = |one: &&Declared| one.peer.stores.iter().any(|place| place.path == store);
        let mut users = declared.values().filter(uses).peekable();
        users.peek().is_some() && users.all(|one| one.harvest)
    };
    let told = |warning: Warning| match &warning.store {
        Some(store) if !open(store) => Warning { path: store.clone(), ..warning }.to_string(),
        _ => warning.to_string(),
    };
    let told: BTreeSet<String> = warnings.into_iter().map(told).collect();
    told.into_iter().collect()
}

/// Somebody asks.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// What is recorded.
    pub store: &'a Store,
    /// The harnesses as they are configured now.
    pub declared: &'a BTreeMap<HarnessName, Declared>,
    /// The present.
    pub around: &'a Circumstances,
}

impl Inquiry<'_> {
    pub(super) fn harvested(&self, harness: &HarnessName) -> bool {
        self.declared.get(harness).is_some_and(|declared| declared.harvest)
    }

    pub(super) fn survey(&self, query: &AccountQuery) -> Result<Survey, StoreError> {
        let peers = self.declared.values().map(|declared| declared.peer.clone());
        Survey::read(self.store, self.around, peers.collect(), query)
    }

    /// Runs with their sessions and what they used.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs(&self, runs: Vec<Run>) -> Result<Vec<RunView>, StoreError> {
        let from = runs.iter().filter_map(|run| run.started_at).min();
        let open = runs.iter().any(|run| run.started_at.is_some() && run.ended_at.is_none());
        let to = runs.iter().filter_map(|run| run.ended_at).max().filter(|_| !open);
        let query = AccountQuery { cwd: None, from: from.map(|at| at - SLACK), to: to.map(|to| to + SLACK) };
        let survey = self.survey(&query)?;
        let calls = if from.is_some() { self.store.calls(&query)? } else { Vec::new() };
        let mut used: HashMap<RunId, Usage> = HashMap::new();
        survey.count(&calls, |counted| used.entry(counted.window.run).or_default().add(&counted.usage));
        let mut sessions: HashMap<RunId, Vec<RunSession>> = HashMap::new();
        for one in survey.sessions() {
            let id = opaque_id(one.row.format, &one.row.store, &one.row.id);
            for (run, evidence) in survey.parts(one) {
                sessions.entry(run).or_default().push(RunSession { id: id.clone(), evidence });
            }
        }
        let view = |run: Run| RunView {
            sessions: self.harvested(&run.harness).then(|| sessions.remove(&run.id).unwrap_or_default()),
            usage: used.remove(&run.id),
            run,
        };
        Ok(runs.into_iter().map(view).collect())
    }

    /// What runs used, summed up.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn usage(
        &self,
        harness: Option<&HarnessName>,
        by: Option<By>,
        since: Option<Wall>,
    ) -> Result<UsageView, StoreError> {
        let query = AccountQuery { cwd: None, from: since, to: None };
        let survey = self.survey(&query)?;
        let calls = self.store.calls(&query)?;
        let mut rows: BTreeMap<UsageKey, Usage> = BTreeMap::new();
        let mut total = Usage::default();
        survey.count(&calls, |counted| {
            let of = &counted.window.harness;
            if harness.is_some_and(|only| only != of) {
                return;
            }
            let key = match by {
                None => UsageKey { harness: Some(of.clone()), ..UsageKey::default() },
                Some(By::Run) => UsageKey {
                    harness: Some(of.clone()),
                    run: Some(counted.window.run),
                    ..UsageKey::default()
                },
                Some(By::Day) => UsageKey { day: Some(self.day(of, counted.call.at)), ..UsageKey::default() },
                Some(By::Model) => UsageKey { model: counted.call.model.clone(), ..UsageKey::default() },
                Some(By::Project) => {
                    UsageKey { project: of.project().map(str::to_owned), ..UsageKey::default() }
                }
            };
            rows.entry(key).or_default().add(&counted.usage);
            total.add(&counted.usage);
        });
        let rows = rows.into_iter().map(|(key, usage)| UsageRow { key, usage }).collect();
        Ok(UsageView { rows, total })
    }

    /// What runs, each with its start, have used so far.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn spent(&self, runs: &[(RunId, Wall)]) -> Result<BTreeMap<RunId, Usage>, StoreError> {
        let mut spent: BTreeMap<RunId, Usage> =
            runs.iter().map(|(run, _)| (*run, Usage::default())).collect();
        let Some(from) = runs.iter().map(|(_, from)| *from - SLACK).min() else { return Ok(spent) };
        let survey = self.survey(&AccountQuery { cwd: None, from: Some(from), to: None })?;
        // It is asked every few seconds: what the rest of the fleet did is not read for it.
        let mut calls = Vec::new();
        for one in survey.sessions() {
            if matches!(&one.whose, Attribution::To(of) if of.iter().any(|(run, _)| spent.contains_key(run)))
            {
                calls.extend(self.store.calls_of(&one.row, from)?);
            }
        }
        survey.count(&calls, |counted| {
            if let Some(sum) = spent.get_mut(&counted.window.run) {
                sum.add(&counted.usage);
            }
        });
        Ok(spent)
    }

    /// Whose parts of these sessions are, all of which went on since then.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn owners(
        &self,
        sessions: &HashSet<(Format, String, String)>,
        from: Option<Wall>,
    ) -> Result<Owners, StoreError> {
        let query = AccountQuery { cwd: None, from, to: None };
        let survey = if sessions.is_empty() { Survey::default() } else { self.survey(&query)? };
        let wanted =
            |one: &&Credited| sessions.contains(&(one.row.format, one.row.store.clone(), one.row.id.clone()));
        let mut of = HashMap::new();
        for one in survey.sessions().iter().filter(wanted) {
            if let Attribution::To(runs) = &one.whose {
                of.insert((one.row.format, one.row.store.clone(), one.row.id.clone()), runs.clone());
            }
        }
        Ok(Owners { survey, of })
    }

    fn day(&self, harness: &HarnessName, at: Wall) -> String {
        let zone = self.declared.get(harness).map_or_else(zone::system, |declared| declared.zone);
        at.utc().with_timezone(&zone).format("%Y-%m-%d").to_string()
    }
}

/// Whose the parts of some sessions are.
#[derive(Debug)]
pub struct Owners {
    survey: Survey,
    of: HashMap<(Format, String, String), Vec<(RunId, Evidence)>>,
}

impl Owners {
    /// The facts, arranged for many questions.
    #[must_use]
    pub fn ledger(&self) -> Ledger<'_> {
        self.survey.facts().prepare()
    }

    /// The harness of the run, if what happened then in that session is the run's. What has no time is, where
    /// the session is.
    #[must_use]
    pub fn of(
        &self,
        ledger: &Ledger<'_>,
        format: Format,
        store: &str,
        id: &str,
        at: Option<Wall>,
        run: RunId,
    ) -> Option<HarnessName> {
        let of = self.of.get(&(format, store.to_owned(), id.to_owned()))?;
        let owner = match at {
            Some(at) => ledger.owner(at, of)?,
            None => of.iter().find(|(one, _)| *one == run)?.0,
        };
        let window = self.survey.window(run).filter(|_| owner == run)?;
        Some(window.harness.clone())
    }
}
