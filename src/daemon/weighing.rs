//! What a look brought, weighed by a worker: whose the new events are, and what runs with a budget have used.
//!
//! Invariant: of an event nothing that was said is told, no argument and no target (CTL-12), and only what the
//! rules of attribution give to the run (COR-7).

use std::collections::BTreeMap;

use super::inquiries::{Desk, Fleet};
use super::state::Daemon;
use crate::base::{HarnessName, RunId, Wall};
use crate::config::Budget;
use crate::lifecycle::Overspent;
use crate::store::Store;
use crate::supervisor;
use crate::trajectory::{Call, Event, Format, What};
use crate::transcripts::{Inquiry, opaque_id};
use crate::wire::{EventKind, TrajectoryEvent, Usage};

/// A new event of a session in the store of a run.
pub(super) struct Placed {
    pub(super) run: RunId,
    pub(super) format: Format,
    pub(super) store: String,
    /// The native id of the session.
    pub(super) id: String,
    pub(super) event: Event,
}

/// What is known of a look now.
#[derive(Default)]
pub(super) struct Weighed {
    pub(super) spent: BTreeMap<RunId, Usage>,
    /// The events of runs, with their times.
    pub(super) events: Vec<(Option<Wall>, TrajectoryEvent)>,
}

/// What cannot be told is left out: sums are asked for again after the next look, and an event is no record.
pub(super) fn weigh(kept: &[(RunId, Wall)], events: Vec<Placed>, desk: &Desk, declared: &Fleet) -> Weighed {
    let Ok(Some(store)) = Store::open_read(desk.state()) else { return Weighed::default() };
    let around = desk.around();
    let inquiry = Inquiry { store: &store, declared, around: &around };
    let spent = if kept.is_empty() { BTreeMap::new() } else { inquiry.spent(kept).unwrap_or_default() };
    let ids = events.iter().map(|one| (one.format, one.store.clone(), one.id.clone())).collect();
    let from = events.iter().filter_map(|one| one.event.at).min();
    let events = match inquiry.owners(&ids, from) {
        Ok(owners) => {
            let ledger = owners.ledger();
            let told = |one: Placed| {
                let harness = owners.of(&ledger, one.format, &one.store, &one.id, one.event.at, one.run)?;
                let session = opaque_id(one.format, &one.store, &one.id);
                Some((one.event.at, outline(harness, one.run, session, one.event)))
            };
            events.into_iter().filter_map(told).collect()
        }
        Err(_) => Vec::new(),
    };
    Weighed { spent, events }
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
            let calls = u64::from(tokens.is_some());
            let tokens = tokens.unwrap_or_default();
            let (input, cached, output) = (tokens.input, tokens.cached, tokens.output);
            let unpriced_calls = calls * u64::from(cost_usd.is_none());
            told.usage = Some(Usage { input, cached, output, cost_usd, calls, unpriced_calls });
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

impl Daemon {
    /// Takes whose the events of a look are, and what runs with a budget have used.
    pub(super) fn weighed(&mut self, Weighed { spent, events }: Weighed) {
        self.following.weighed();
        for (at, told) in events {
            if self.harvests(&told.harness) {
                let at = at.unwrap_or_else(|| Self::now().wall);
                self.tell_subscribers(at, EventKind::TrajectoryEvent(Box::new(told)));
            }
        }
        for (run, usage) in spent {
            self.following.held(run);
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
