//! Questions about trajectories and usage, which a worker answers: it reads the store and the agents' files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;
use serde_json::Value;

use super::state::Daemon;
use crate::base::{HarnessName, Mono, RunId, Wall};
use crate::config::Harness;
use crate::launch::{Surroundings, peer};
use crate::store::Store;
use crate::supervisor::Ticket;
use crate::transcripts::{Circumstances, Declared, Inquiry, Wanted, Warning, told_warnings};
use crate::wire::{
    By, ErrorBody, ErrorCode, MAX_LINE, PageView, Run, RunView, RunsView, TrajectoriesView, UsageView, json,
};

/// The events of one answer: it must fit into a line of the protocol, with room for what stands around them.
const MOST_BYTES: usize = MAX_LINE / 2;

/// So long a question waits for what ended runs have left to be read.
const PATIENCE: Duration = Duration::from_secs(5);
/// What stands around an answer in its line.
const ENVELOPE: usize = 1024;

/// What is asked.
pub(super) enum Asks {
    Runs(Vec<Run>),
    Run(Box<Run>),
    Trajectories { wanted: Wanted, limit: usize },
    Trajectory { session: String, skip: usize, limit: usize },
    Usage { harness: Option<HarnessName>, by: Option<By>, since: Option<Wall> },
}

impl Asks {
    /// Whether what an ended run has left unread would change the answer.
    fn needs(&self, run: RunId) -> bool {
        match self {
            Self::Run(asked) => asked.id == run,
            Self::Runs(asked) => asked.iter().any(|asked| asked.id == run),
            Self::Trajectories { .. } | Self::Trajectory { .. } | Self::Usage { .. } => true,
        }
    }
}

/// A question that waits until what ended runs have left is read.
pub(super) struct Waiting {
    ticket: Ticket,
    asks: Asks,
    /// Those runs.
    runs: Vec<RunId>,
    /// It is answered then at the latest.
    until: Mono,
}

/// The harnesses as they are configured now, each with where it would write.
pub(super) type Fleet = BTreeMap<HarnessName, Declared>;

/// What a worker needs besides.
pub(super) struct Desk {
    started_at: Wall,
    live: BTreeSet<RunId>,
    harnesses: Vec<Arc<Harness>>,
    around: Arc<Surroundings>,
    warnings: Vec<Warning>,
}

impl Desk {
    pub(super) fn state(&self) -> &Utf8Path {
        &self.around.state
    }

    /// The harnesses; files of each are read for that.
    pub(super) fn declared(&self) -> Fleet {
        let of = |harness: &Arc<Harness>| Declared::of(harness, peer(harness, &self.around));
        self.harnesses.iter().map(|harness| (harness.name.clone(), of(harness))).collect()
    }

    pub(super) fn around(&self) -> Circumstances {
        Circumstances::present(&self.around.home, Some(self.started_at), self.live.clone())
    }
}

impl Daemon {
    /// Has a worker answer, as soon as what ended runs have left is read: who waits for a run and then asks
    /// what it used is told all of it.
    pub(super) fn inquire(&mut self, ticket: Ticket, asks: Asks) {
        let runs: Vec<RunId> = self.following.unread().filter(|run| asks.needs(*run)).collect();
        let until = Self::now().mono + PATIENCE;
        self.waiting.push(Waiting { ticket, asks, runs, until });
        self.answer_waiting();
    }

    /// Has those questions answered that need not wait any longer.
    pub(super) fn answer_waiting(&mut self) {
        let now = Self::now().mono;
        let unread: BTreeSet<RunId> = match self.store_trouble.is_some() || self.handover.is_some() {
            true => BTreeSet::new(),
            false => self.following.unread().collect(),
        };
        let waits = |one: &Waiting| one.until > now && one.runs.iter().any(|run| unread.contains(run));
        let (waiting, ripe) = std::mem::take(&mut self.waiting).into_iter().partition(waits);
        self.waiting = waiting;
        let ripe: Vec<Waiting> = ripe;
        for Waiting { ticket, asks, .. } in ripe {
            let desk = self.desk();
            self.workers.inquire(ticket, asks, desk);
        }
    }

    /// When the first of those that wait is to be answered.
    pub(super) fn inquiry_deadline(&self) -> Option<Mono> {
        self.waiting.iter().map(|one| one.until).min()
    }

    pub(super) fn desk(&self) -> Desk {
        let harnesses = self.supervisor.names().filter_map(|name| self.supervisor.harness(name));
        Desk {
            started_at: self.started_at,
            live: self.live.keys().copied().collect(),
            harnesses: harnesses.cloned().collect(),
            around: Arc::clone(&self.around),
            warnings: self.following.warnings(),
        }
    }
}

/// Answers, unless that would be more than a line of the protocol holds.
pub(super) fn answer(asks: Asks, desk: &Desk) -> Result<Value, ErrorBody> {
    let value = found(asks, desk)?;
    let size = value.to_string().len();
    if size > MAX_LINE - ENVELOPE {
        let message = format!("the answer has {size} bytes, {MAX_LINE} are allowed");
        return Err(ErrorBody::new(ErrorCode::TooLarge, message)
            .help("ask for less: of one harness, since a later time, or with a smaller `limit`"));
    }
    Ok(value)
}

fn found(asks: Asks, desk: &Desk) -> Result<Value, ErrorBody> {
    let around = desk.around();
    match Store::open_read(desk.state()) {
        Ok(Some(store)) => with(&store, asks, desk, &around),
        Ok(None) => bare(asks, ErrorBody::new(ErrorCode::Internal, "there is no state store")),
        Err(cause) => bare(asks, cause.body()),
    }
}

/// Of runs what the loop knew, where the worker cannot read the store.
fn bare(asks: Asks, cause: ErrorBody) -> Result<Value, ErrorBody> {
    let view = |run| RunView { run, sessions: None, usage: None };
    match asks {
        Asks::Runs(runs) => {
            let views: Vec<RunView> = runs.into_iter().map(view).collect();
            json(&RunsView { runs: views })
        }
        Asks::Run(run) => json(&view(*run)),
        _ => Err(cause),
    }
}

fn with(store: &Store, asks: Asks, desk: &Desk, around: &Circumstances) -> Result<Value, ErrorBody> {
    let declared = desk.declared();
    let inquiry = Inquiry { store, declared: &declared, around };
    match asks {
        Asks::Runs(runs) => {
            let views = inquiry.runs(runs).map_err(|cause| cause.body())?;
            json(&RunsView { runs: views })
        }
        Asks::Run(run) => {
            let views = inquiry.runs(vec![*run]).map_err(|cause| cause.body())?;
            json(&views.first())
        }
        Asks::Trajectories { wanted, limit } => {
            let mut warnings = told_warnings(desk.warnings.iter().cloned(), &declared);
            let mut room = MOST_BYTES;
            warnings.retain(|warning| {
                room = room.saturating_sub(warning.len());
                room > 0
            });
            let mut listed: TrajectoriesView = inquiry.trajectories(&wanted, warnings)?;
            listed.trajectories.truncate(limit);
            listed.excluded.truncate(limit);
            json(&listed)
        }
        Asks::Trajectory { session, skip, limit } => page(&inquiry, &session, skip, limit),
        Asks::Usage { harness, by, since } => {
            let used: UsageView = inquiry.usage(harness.as_ref(), by, since).map_err(|cause| cause.body())?;
            json(&used)
        }
    }
}

/// Some of the events of a trajectory; `more`: others follow.
fn page(inquiry: &Inquiry<'_>, session: &str, skip: usize, limit: usize) -> Result<Value, ErrorBody> {
    let telling = inquiry.trajectory(session)?;
    let mut events: Vec<Value> = Vec::new();
    let (mut number, mut bytes, mut more) = (0, 0, false);
    telling.events(&mut |event| {
        let wanted = number >= skip;
        number += 1;
        if !wanted || more {
            return;
        }
        let value = serde_json::to_value(&event).unwrap_or_default();
        let size = value.to_string().len();
        // One that is longer than an answer may be is told as a kind that has nothing but a name.
        let (value, size) = match size > MOST_BYTES {
            true => (serde_json::json!({"kind": "other", "name": "too-long"}), 32),
            false => (value, size),
        };
        if events.len() >= limit || bytes + size > MOST_BYTES {
            more = true;
            return;
        }
        bytes += size;
        events.push(value);
    })?;
    json(&PageView { session: telling.view, events, more })
}
