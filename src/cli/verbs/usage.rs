//! `usage`: what runs used, as their agents state it (USE-5). Reads the store itself.

use std::process::ExitCode;

use super::runs::known;
use crate::cli::account::Account;
use crate::cli::args::{UsageArgs, UsageBy};
use crate::cli::context::{Context, since};
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::wire::{By, Usage, UsageKey, UsageView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &UsageArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    // It says in which zones the days are; a broken one costs no more than that.
    let configuration = context.whole()?;
    let account = Account::open(context, configuration.as_ref(), true)?;
    let store = account.as_ref().map(|account| &account.store);
    let harness = args.name.as_deref().map(|name| known(context, store, name)).transpose()?;
    let since = args.since.as_deref().map(since).transpose()?;
    let by = args.by.map(|by| match by {
        UsageBy::Run => By::Run,
        UsageBy::Day => By::Day,
        UsageBy::Model => By::Model,
        UsageBy::Project => By::Project,
    });
    let used = match &account {
        Some(account) => account.inquiry().usage(harness.as_ref(), by, since)?,
        None => UsageView::default(),
    };
    if out.is_json() {
        out.json(&used)?;
        return Ok(ExitCode::SUCCESS);
    }
    if used.rows.is_empty() {
        out.line("no usage")?;
    } else {
        print(&used, by, out)?;
    }
    for warning in account.iter().flat_map(|account| &account.warnings) {
        out.line(&format!("warning: {warning}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(used: &UsageView, by: Option<By>, out: &mut Output) -> Result<(), Failure> {
    let mut rows: Vec<Vec<String>> =
        used.rows.iter().map(|row| cells(keys(&row.key, by), &row.usage)).collect();
    if used.rows.len() > 1 {
        let mut total = vec!["total".to_owned()];
        total.resize(heads(by).len(), String::new());
        rows.push(cells(total, &used.total));
    }
    let header: Vec<&str> =
        heads(by).iter().copied().chain(["INPUT", "CACHED", "OUTPUT", "CALLS", "COST"]).collect();
    out.table(&header, &rows)
}

const fn heads(by: Option<By>) -> &'static [&'static str] {
    match by {
        None => &["HARNESS"],
        Some(By::Run) => &["RUN", "HARNESS"],
        Some(By::Day) => &["DAY"],
        Some(By::Model) => &["MODEL"],
        Some(By::Project) => &["PROJECT"],
    }
}

fn keys(key: &UsageKey, by: Option<By>) -> Vec<String> {
    match by {
        None => vec![or_dash(key.harness.as_ref())],
        Some(By::Run) => vec![or_dash(key.run), or_dash(key.harness.as_ref())],
        Some(By::Day) => vec![or_dash(key.day.as_ref())],
        Some(By::Model) => vec![or_dash(key.model.as_ref())],
        Some(By::Project) => vec![or_dash(key.project.as_ref())],
    }
}

fn cells(mut row: Vec<String>, usage: &Usage) -> Vec<String> {
    row.extend([usage.input, usage.cached, usage.output, usage.calls].map(|number| number.to_string()));
    row.push(cost(usage));
    row
}

/// Dollars as far as they are stated, and of how many calls they are not.
pub(super) fn cost(usage: &Usage) -> String {
    let unpriced = match usage.unpriced_calls {
        0 => String::new(),
        calls => format!(" ({calls} call{} unpriced)", if calls == 1 { "" } else { "s" }),
    };
    match usage.cost_usd {
        Some(dollars) => format!("${dollars:.4}{unpriced}"),
        None => "-".to_owned(),
    }
}
