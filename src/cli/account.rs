//! What the verbs about trajectories and usage share: they read the store and the agents' files themselves.
//!
//! Invariant: where a daemon runs it keeps the account, and it alone; where none does, what runs have left
//! unread is read first.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::context::Context;
use super::failure::Failure;
use crate::base::{HarnessName, RunId, Wall};
use crate::config::{Configuration, Harness};
use crate::host::run_lock::RunLocks;
use crate::launch::peer;
use crate::store::Store;
use crate::transcripts::{Circumstances, Declared, Inquiry, settle, told_warnings};
use crate::wire::{ErrorBody, ErrorCode, Op, StatusView, TrajectoriesView};

/// The store with what a question about it needs.
pub(super) struct Account {
    pub(super) store: Store,
    declared: BTreeMap<HarnessName, Declared>,
    around: Circumstances,
    /// What could not be read, or was odd.
    pub(super) warnings: Vec<String>,
}

impl Account {
    /// The account as it is; none: nothing has run yet. Without a configuration nothing may be listed.
    pub(super) fn open(
        context: &Context,
        configuration: Option<&Configuration>,
        fresh: bool,
    ) -> Result<Option<Self>, Failure> {
        let state = context.state_dir();
        let declared = configuration.map(|found| declared(context, found)).unwrap_or_default();
        let mut warnings = Vec::new();
        let mut started = None;
        match context.client() {
            Ok(mut client) => {
                let status: StatusView = super::verbs::read(client.call(Op::Status)?)?;
                started = Some(status.started_at);
                if fresh {
                    let none =
                        Op::Trajectories { name: None, run: None, from: None, to: None, limit: Some(0) };
                    let known: TrajectoriesView = super::verbs::read(client.call(none)?)?;
                    warnings = known.warnings;
                }
            }
            Err(Failure::Said(ErrorBody { code: ErrorCode::NoDaemon, .. })) if fresh => {
                let now = crate::host::clock::now().wall;
                warnings = told_warnings(settle(&state, now)?, &declared);
            }
            // Of another version, or silent: the account is what it is.
            Err(_) => {}
        }
        let Some(store) = Store::open_read(&state)? else { return Ok(None) };
        let around = Circumstances::present(&context.home, started, live(&store, &state, started)?);
        Ok(Some(Self { store, declared, around, warnings }))
    }

    /// The questions.
    pub(super) const fn inquiry(&self) -> Inquiry<'_> {
        Inquiry { store: &self.store, declared: &self.declared, around: &self.around }
    }
}

/// The harnesses of a configuration, each with where it would write.
fn declared(context: &Context, configuration: &Configuration) -> BTreeMap<HarnessName, Declared> {
    let around = context.surroundings_of(configuration);
    let of = |harness: &Harness| Declared::of(harness, peer(harness, &around));
    configuration.harnesses.iter().map(|(name, harness)| (name.clone(), of(harness))).collect()
}

/// The runs that go on: those of the present daemon, or those whose harness somebody's `once` has locked.
fn live(store: &Store, state: &Utf8Path, daemon: Option<Wall>) -> Result<BTreeSet<RunId>, Failure> {
    let open = store.open_runs()?;
    let locks = if open.is_empty() { None } else { RunLocks::open(state).ok() };
    let goes_on = |harness: &HarnessName, from: Wall| match (daemon, &locks) {
        (Some(started), _) if from >= started => true,
        (_, Some(locks)) => locks.holder(harness).is_some(),
        (_, None) => false,
    };
    let live = open.iter().filter(|run| run.started_at.is_some_and(|from| goes_on(&run.harness, from)));
    Ok(live.map(|run| run.id).collect())
}
