//! `list`: all harnesses with their states.

use std::process::ExitCode;

use serde::Deserialize;

use super::read;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::wire::{HarnessView, Op, WaitingReason};

#[derive(Deserialize)]
struct List {
    harnesses: Vec<HarnessView>,
}

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    let answer = context.call(Op::List)?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let list: List = read(answer)?;
    print(&list.harnesses, "no harness is configured", out)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints harnesses for people, or what is to be said when there is none.
pub(super) fn print(harnesses: &[HarnessView], none: &str, out: &mut Output) -> Result<(), Failure> {
    if harnesses.is_empty() {
        return out.line(none);
    }
    let rows: Vec<Vec<String>> = harnesses.iter().map(|one| row(one, out)).collect();
    out.table(&["NAME", "AGENT", "STATE", "PID", "RESTARTS", "NEXT", "LAST"], &rows)
}

/// What it waits for, where its state does not say so.
fn waits(one: &HarnessView) -> &'static str {
    match one.waiting.as_ref().map(|waiting| waiting.reason) {
        None | Some(WaitingReason::Backoff) => "",
        Some(WaitingReason::Limit) => " (limit)",
        Some(WaitingReason::Login) => " (waits for a login)",
        Some(WaitingReason::Queue) => " (queued)",
        Some(WaitingReason::Workdir) => " (waits for its workdir)",
    }
}

fn row(one: &HarnessView, out: &Output) -> Vec<String> {
    let changed = match (one.changed, one.changed_since_up) {
        (true, _) => " (changed: restart to apply)",
        (false, Some(true)) => " (changed since up)",
        (false, _) => "",
    };
    // A firing ends a wait.
    let until = one.waiting.as_ref().and_then(|waiting| waiting.until);
    let next = until.into_iter().chain(one.next_firing).min();
    let last = one.last_run.as_ref().and_then(|run| run.outcome);
    vec![
        one.name.to_string(),
        one.adapter.clone(),
        format!("{}{}{changed}", one.state, waits(one)),
        or_dash(one.pid),
        one.restarts.to_string(),
        or_dash(next.map(|at| out.time(at))),
        or_dash(last),
    ]
}
