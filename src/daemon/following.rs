//! Following the transcripts of runs: when to look, and what comes of a look (USE-2, USE-5, TRJ-9).
//!
//! Invariants: one look at a time, in a worker, which is given the follower and gives it back; what it brought
//! is committed as one transaction before anybody hears of it, and a follower whose progress could not be
//! committed is thrown away. Harnesses whose agents keep nothing that is understood wake nobody up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tracing::warn;

use super::state::Daemon;
use crate::base::{HarnessName, Mono, RunId, Wall};
use crate::config::Budget;
use crate::correlate::Known;
use crate::lifecycle::Overspent;
use crate::store::Progress;
use crate::supervisor;
use crate::trajectory::{Call, Event, Format, Needs, What};
use crate::transcripts::{Follower, Look, Subject, Warning, opaque_id};
use crate::wire::{self, EventKind, Evidence, Trail, TrajectoryEvent, Usage};

/// The first looks after a start.
const FIRST: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// After the agent has written something, and where a budget is to be kept.
const SOON: Duration = Duration::from_secs(2);
/// Otherwise.
const SELDOM: Duration = Duration::from_secs(30);
/// Runs that are due within this time are looked at together.
const TOGETHER: Duration = Duration::from_millis(250);
/// Never by itself.
const LATER: Mono = Mono(Duration::MAX);
/// So many warnings are remembered.
const MOST_WARNINGS: usize = 500;

/// A run whose transcripts are looked at.
#[derive(Debug)]
struct Followed {
    harness: HarnessName,
    trail: Trail,
    from: Wall,
    /// Its end: one look more.
    to: Option<Wall>,
    begun: Mono,
    due: Mono,
}

/// What is followed.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// None: a worker has it, or the next look begins anew.
    follower: Option<Box<Follower>>,
    /// A look that a worker is at: the runs, and whether it is the last one for them.
    looking: Option<Vec<(RunId, bool)>>,
    runs: BTreeMap<RunId, Followed>,
    /// What the runs' own outputs said of their sessions, until it is committed.
    known: Vec<Known>,
    warned: BTreeSet<Warning>,
}

impl Following {
    /// Whether no look is under way or due.
    pub(super) fn is_idle(&self) -> bool {
        self.looking.is_none() && self.runs.is_empty()
    }

    /// When the next look is due.
    pub(super) fn deadline(&self) -> Option<Mono> {
        if self.looking.is_some() {
            return None;
        }
        self.runs.values().map(|run| run.due).min()
    }

    /// A run has begun.
    pub(super) fn begin(&mut self, run: RunId, harness: HarnessName, trail: Trail, from: Wall, now: Mono) {
        if trail.format.as_deref().is_some_and(|name| name.parse::<Format>().is_ok()) {
            let due = now + FIRST[0];
            self.runs.insert(run, Followed { harness, trail, from, to: None, begun: now, due });
        }
    }

    /// A run has written something: what it does is in its transcript soon.
    pub(super) fn heard(&mut self, run: RunId) {
        if let Some(followed) = self.runs.get_mut(&run) {
            followed.due = followed.due.min(Daemon::now().mono + SOON);
        }
    }

    /// A run is over.
    pub(super) fn ended(&mut self, run: RunId, to: Wall, now: Mono) {
        if let Some(followed) = self.runs.get_mut(&run) {
            followed.to = Some(to);
            followed.due = now;
        }
    }

    /// The output of a run names its session.
    pub(super) fn named(&mut self, run: RunId, session: &str) {
        let Some(followed) = self.runs.get(&run) else { return };
        let Some(format) = followed.trail.format.as_deref().and_then(|name| name.parse().ok()) else { return };
        let session = session.to_owned();
        self.known.push(Known { run, format, session, evidence: Evidence::Output });
    }

    /// What looks found odd, in words.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warned.iter().map(ToString::to_string).collect()
    }

    fn warn(&mut self, warning: Warning) {
        if self.warned.len() < MOST_WARNINGS && !self.warned.contains(&warning) {
            warn!(path = warning.path, "{}", warning.message);
            self.warned.insert(warning);
        }
    }
}

impl Daemon {
    /// Takes up the runs whose transcripts an earlier daemon, or this program before it was executed anew,
    /// has not read to their end.
    pub(super) fn take_up_transcripts(&mut self) {
        let now = Self::now().mono;
        let unsettled = match self.store.unsettled() {
            Ok(unsettled) => unsettled,
            Err(cause) => return warn!(%cause, "it cannot be told whose transcripts are read"),
        };
        for one in unsettled {
            // One that is open and not ours is another process's, which reads it.
            if one.to.is_some() || self.live.contains_key(&one.run) {
                self.following.begin(one.run, one.harness, one.trail, one.from, now);
                if let Some(to) = one.to {
                    self.following.ended(one.run, to, now);
                }
            }
        }
    }

    /// Looks at what is due, unless a look is under way.
    pub(super) fn follow(&mut self) {
        if self.store_trouble.is_some() || self.handover.is_some() {
            return;
        }
        if !self.following.known.is_empty() {
            let known = std::mem::take(&mut self.following.known);
            let progress = Progress { known, ..Progress::default() };
            if let Err(cause) = self.store.commit_progress(&progress) {
                warn!(%cause, "whose sessions these are is not recorded");
            }
        }
        let now = Self::now().mono;
        if self.following.deadline().is_none_or(|at| at > now) {
            return;
        }
        let due = self.following.runs.iter_mut().filter(|(_, run)| run.due <= now + TOGETHER);
        let runs: Vec<(RunId, bool)> = due
            .map(|(run, followed)| {
                // Until the answer; output and the end bring it nearer again.
                followed.due = LATER;
                (*run, followed.to.is_some())
            })
            .collect();
        let subjects: Vec<Subject> = runs.iter().filter_map(|(run, _)| self.subject(*run)).collect();
        let follower = self.following.follower.take();
        let follower = follower.unwrap_or_else(|| Box::new(Follower::new(&self.around.state)));
        self.following.looking = Some(runs);
        self.workers.look(follower, subjects);
    }

    fn subject(&mut self, run: RunId) -> Option<Subject> {
        let followed = self.following.runs.get(&run)?;
        let processes = match followed.to {
            None => self.family.members(run).iter().map(|one| one.pid).collect(),
            Some(_) => Vec::new(),
        };
        let told = self.clients.are_subscribed() && self.harvests(&followed.harness);
        Some(Subject {
            run,
            harness: followed.harness.clone(),
            trail: followed.trail.clone(),
            from: followed.from,
            to: followed.to,
            processes,
            needs: if told { Needs::Everything } else { Needs::Usage },
        })
    }

    fn harvests(&self, harness: &HarnessName) -> bool {
        self.supervisor.harness(harness).is_some_and(|harness| harness.harvest)
    }

    fn budget(&self, run: RunId) -> Budget {
        let followed = self.following.runs.get(&run).filter(|followed| followed.to.is_none());
        let declared = followed.and_then(|followed| self.supervisor.harness(&followed.harness));
        declared.and_then(|harness| harness.budget).unwrap_or_default()
    }

    /// Takes what a look brought; none: the worker failed.
    pub(super) fn looked(&mut self, found: Option<(Box<Follower>, Look)>) {
        let Some(runs) = self.following.looking.take() else { return };
        let now = Self::now().mono;
        let committed = found.is_some_and(|(follower, look)| {
            let Look { progress, events, warnings } = look;
            let places = progress.sessions.iter().map(|row| ((row.format, row.id.clone()), row.store.clone()));
            let places: BTreeMap<(Format, String), String> = places.collect();
            for warning in warnings {
                self.following.warn(warning);
            }
            if !progress.is_empty()
                && let Err(cause) = self.store.commit_progress(&progress)
            {
                warn!(%cause, "what agents wrote cannot be recorded yet; it is read again");
                return false;
            }
            self.following.follower = Some(follower);
            self.tell(events, &places);
            if !progress.calls.is_empty() {
                self.ask_spent(&runs);
            }
            true
        });
        for (run, last) in runs {
            if last && (committed || self.foreground) {
                self.following.runs.remove(&run);
                continue;
            }
            let kept = self.budget(run) != Budget::default();
            let Some(followed) = self.following.runs.get_mut(&run) else { continue };
            let pause = if kept && committed { SOON } else { SELDOM };
            let early = FIRST.iter().map(|pause| followed.begun + *pause).find(|at| *at > now);
            let next = early.unwrap_or(now + pause);
            followed.due = followed.due.min(next);
        }
    }

    /// Tells subscribers what agents did: not what they said (CTL-12).
    fn tell(&mut self, events: Vec<(RunId, String, Event)>, places: &BTreeMap<(Format, String), String>) {
        for (run, session, event) in events {
            let Some(followed) = self.following.runs.get(&run) else { continue };
            let harness = followed.harness.clone();
            let format = followed.trail.format.as_deref().and_then(|name| name.parse().ok());
            let Some(format) = format.filter(|_| self.harvests(&harness)) else { continue };
            // What is told has grown, so its row is among what was committed.
            let Some(store) = places.get(&(format, session.clone())) else { continue };
            let session = opaque_id(format, store, &session);
            let at = event.at.unwrap_or_else(|| Self::now().wall);
            self.next_event += 1;
            let kind = EventKind::TrajectoryEvent(Box::new(outline(harness, run, session, event)));
            let event = wire::Event { seq: self.next_event, at, kind };
            self.clients.broadcast(&self.handle, &event);
        }
    }

    /// Asks what those of the runs that have a budget have used.
    fn ask_spent(&mut self, runs: &[(RunId, bool)]) {
        let kept = runs.iter().filter(|(run, _)| self.budget(*run) != Budget::default());
        let kept: Vec<(RunId, Wall)> =
            kept.filter_map(|(run, _)| Some((*run, self.following.runs.get(run)?.from))).collect();
        if !kept.is_empty() {
            let desk = self.desk();
            self.workers.spent(kept, desk);
        }
    }

    /// Ends runs that have used up their budget.
    pub(super) fn spent(&mut self, spent: Vec<(RunId, Usage)>) {
        for (run, usage) in spent {
            if let Some(overspent) = overspent(self.budget(run), &usage) {
                self.feed(supervisor::Event::Overspent { run, overspent });
            }
        }
    }
}

/// By what a budget is crossed.
fn overspent(budget: Budget, usage: &Usage) -> Option<Overspent> {
    let tokens = usage.input.saturating_add(usage.output);
    let over = budget.max_tokens.filter(|most| tokens > *most);
    let by_tokens = over.map(|most| Overspent::Tokens { spent: tokens, most });
    let dollars = budget.max_cost_usd.zip(usage.cost_usd).filter(|(most, spent)| spent > most);
    by_tokens.or_else(|| dollars.map(|(most, spent)| Overspent::dollars(spent, most)))
}

fn outline(harness: HarnessName, run: RunId, session: String, event: Event) -> TrajectoryEvent {
    let kind = event.what.kind().to_owned();
    let mut told = TrajectoryEvent {
        harness,
        run,
        session,
        kind,
        native_id: event.id,
        name: None,
        action: None,
        model: None,
        usage: None,
        used: None,
        window: None,
    };
    match event.what {
        What::ToolCall { name, action, .. } => {
            told.name = Some(name);
            told.action = Some(action.to_string());
        }
        What::Model { model } => told.model = Some(model),
        What::Usage(Call { model, tokens, cost_usd, .. }) => {
            told.model = model;
            let tokens = tokens.unwrap_or_default();
            let (input, cached, output) = (tokens.input, tokens.cached, tokens.output);
            let unpriced_calls = u64::from(cost_usd.is_none());
            told.usage = Some(Usage { input, cached, output, cost_usd, calls: 1, unpriced_calls });
        }
        What::Context { used, window } => {
            told.used = Some(used);
            told.window = window;
        }
        What::SubAgent { name, .. } => told.name = name,
        What::Other { name } => told.name = Some(name),
        _ => {}
    }
    told
}
