//! `runs`: what ran, newest first (RUN-2). Reads the store itself.

use std::collections::BTreeSet;
use std::process::ExitCode;

use super::show::{missed, standing};
use super::usage::cost;
use crate::base::{HarnessName, duration_text};
use crate::cli::account::Account;
use crate::cli::args::RunsArgs;
use crate::cli::context::{Context, since};
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::store::{RunQuery, Store};
use crate::wire::{RunView, unknown_harness};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &RunsArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let configuration = context.whole()?;
    let account = Account::open(context, configuration.as_ref(), false)?;
    let store = account.as_ref().map(|account| &account.store);
    let harness = args.name.as_deref().map(|name| known(context, store, name)).transpose()?;
    let since = args.since.as_deref().map(since).transpose()?;
    let query = RunQuery { harness, limit: args.limit, failed: args.failed, since };
    let runs = match &account {
        Some(account) => account.inquiry().runs(account.store.runs(&query)?)?,
        None => Vec::new(),
    };
    if out.is_json() {
        out.json(&serde_json::json!({ "runs": runs }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        out.line("no runs")?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, out)).collect();
    let header = ["RUN", "HARNESS", "TRIGGER", "STARTED", "TOOK", "OUTCOME", "TOKENS", "COST", "CAUSE"];
    out.table(&header, &rows)?;
    Ok(ExitCode::SUCCESS)
}

/// A harness that is declared or has runs.
pub(super) fn known(context: &Context, store: Option<&Store>, name: &str) -> Result<HarnessName, Failure> {
    let full = context.name_in_records(name)?;
    let recorded = store.map(Store::harnesses).transpose()?.unwrap_or_default();
    let mut known: BTreeSet<String> = recorded.into_iter().collect();
    let declared = context.whole()?;
    known.extend(declared.iter().flat_map(|found| found.harnesses.keys()).map(ToString::to_string));
    match HarnessName::parse(&full) {
        Ok(parsed) if known.contains(&full) => Ok(parsed),
        _ => Err(Failure::Said(unknown_harness(&full, known.iter().map(String::as_str)))),
    }
}

fn row(view: &RunView, out: &Output) -> Vec<String> {
    let RunView { run, usage, .. } = view;
    let took = run.started_at.zip(run.ended_at).map(|(start, end)| {
        let took = end.since(start);
        let rounded = std::time::Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        duration_text(if took.as_secs() > 0 {
            std::time::Duration::from_secs(took.as_secs())
        } else {
            rounded
        })
    });
    vec![
        run.id.to_string(),
        run.harness.to_string(),
        run.trigger.to_string(),
        or_dash(run.started_at.or(run.planned_at).map(|at| out.time(at))),
        or_dash(took),
        standing(run),
        or_dash(usage.map(|usage| usage.input.saturating_add(usage.output))),
        or_dash(usage.as_ref().map(cost)),
        missed(run, out).into_iter().chain(run.cause.clone()).collect::<Vec<_>>().join(": "),
    ]
}
