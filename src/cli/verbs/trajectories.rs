//! `trajectories`: what agents did, and in which run (TRJ-7). Reads the store itself.

use std::process::ExitCode;

use super::runs::known;
use super::show;
use crate::cli::account::Account;
use crate::cli::args::TrajectoriesArgs;
use crate::cli::context::{Context, since};
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::transcripts::Wanted;
use crate::wire::{ExcludedView, TrajectoriesView, TrajectoryView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &TrajectoriesArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let configuration = context.whole_configuration()?;
    let account = Account::open(context, Some(&configuration), true)?;
    let store = account.as_ref().map(|account| &account.store);
    let wanted = Wanted {
        harness: args.name.as_deref().map(|name| known(context, store, name)).transpose()?,
        run: args.run.as_deref().map(|run| show::find(context, run)).transpose()?.map(|run| run.id),
        from: args.from.as_deref().map(since).transpose()?,
        to: args.to.as_deref().map(since).transpose()?,
    };
    let listed = match &account {
        Some(account) => account.inquiry().trajectories(&wanted, account.warnings.clone())?,
        None => TrajectoriesView::default(),
    };
    if out.is_json() {
        out.json(&listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&listed, out)?;
    Ok(ExitCode::SUCCESS)
}

fn print(listed: &TrajectoriesView, out: &mut Output) -> Result<(), Failure> {
    if listed.trajectories.is_empty() {
        out.line("no trajectories; only those of harnesses with `harvest = true` are listed")?;
    } else {
        let rows: Vec<Vec<String>> = listed.trajectories.iter().map(|one| row(one, out)).collect();
        out.table(&["ID", "HARNESS", "AGENT", "STARTED", "RUN", "KNOWN BY", "MODELS"], &rows)?;
    }
    if !listed.excluded.is_empty() {
        out.line("\nnobody's, since several can have written them:")?;
        let rows: Vec<Vec<String>> = listed.excluded.iter().map(|one| excluded(one, out)).collect();
        out.table(&["SESSION", "STARTED", "CLAIMANTS", "REASON"], &rows)?;
    }
    for warning in &listed.warnings {
        out.line(&format!("warning: {warning}"))?;
    }
    Ok(())
}

fn row(one: &TrajectoryView, out: &Output) -> Vec<String> {
    let below = one.parent.as_ref().map(|parent| format!(" ({})", parent.kinship)).unwrap_or_default();
    vec![
        one.id.clone(),
        one.harness.to_string(),
        format!("{}{below}", one.agent),
        or_dash(one.started_at.map(|at| out.time(at))),
        or_dash(one.run),
        one.evidence.map_or_else(|| one.source.to_string(), |evidence| evidence.to_string()),
        one.models.join(", "),
    ]
}

fn excluded(one: &ExcludedView, out: &Output) -> Vec<String> {
    let claimants: Vec<&str> = one.claimants.iter().map(crate::base::HarnessName::as_str).collect();
    vec![
        one.native_id.clone(),
        or_dash(one.started_at.map(|at| out.time(at))),
        claimants.join(", "),
        one.reason.clone(),
    ]
}
