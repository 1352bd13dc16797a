//! `show`: one run. Reads the store itself.

use std::process::ExitCode;

use super::usage::cost;
use crate::cli::account::Account;
use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::store::Store;
use crate::wire::{ErrorBody, ErrorCode, Run, RunView, Usage};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &ShowArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let run = find(context, &args.run)?;
    let configuration = context.load().configuration;
    let account = Account::open(context, configuration.as_ref(), false)?;
    let views = account.map(|account| account.inquiry().runs(vec![run.clone()])).transpose()?;
    let view = views.and_then(|mut views| views.pop());
    let run = view.unwrap_or(RunView { run, sessions: None, usage: None });
    if out.is_json() {
        out.json(&run)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&run, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The run of that id or part.
pub(super) fn find(context: &Context, part: &str) -> Result<Run, Failure> {
    let Some(store) = Store::open_read(&context.state_dir())? else {
        let message = format!("no run has the id `{}`", part.escape_debug());
        return Err(ErrorBody::new(ErrorCode::UnknownRun, message).help("nothing has run yet").into());
    };
    store.run(part).map_err(|cause| Failure::Said(cause.body()))
}

/// How a run ended, or what it does now.
pub(super) fn standing(run: &Run) -> String {
    match (run.outcome, run.started_at) {
        (Some(outcome), _) => outcome.to_string(),
        (None, Some(_)) => "running".to_owned(),
        (None, None) => "queued".to_owned(),
    }
}

/// The slots that a run stands for.
pub(super) fn missed(run: &Run, out: &Output) -> Option<String> {
    let missed = run.missed.as_ref()?;
    Some(match missed.count {
        1 => format!("1 slot at {}", out.time(missed.first)),
        count => format!("{count} slots from {} to {}", out.time(missed.first), out.time(missed.last)),
    })
}

/// Where its repository was before and after.
fn commits(run: &Run) -> Option<String> {
    let before = run.git_before.as_ref()?;
    Some(match &run.git_after {
        Some(after) if after == before => format!("{before}, the same afterwards"),
        Some(after) => format!("{before} → {after}"),
        None => before.clone(),
    })
}

fn used(usage: &Usage) -> String {
    let Usage { input, cached, output, calls, .. } = usage;
    let cost = cost(usage);
    format!("input {input} ({cached} cached), output {output}, calls {calls}, cost {cost}")
}

fn print(view: &RunView, out: &mut Output) -> Result<(), Failure> {
    let RunView { run, sessions, usage } = view;
    let mut fields: Vec<(&str, String)> =
        vec![("run", run.id.to_string()), ("harness", run.harness.to_string()), ("outcome", standing(run))];
    let mut add = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
    add("cause", run.cause.clone());
    add("limit until", run.until.map(|at| out.time(at)));
    add("lingered", run.lingered.then(|| "it was ended after it had stated its result".to_owned()));
    add("missed", missed(run, out));
    add("exit status", run.exit_code.map(|code| code.to_string()));
    add("signal", run.signal.clone());
    add("trigger", Some(run.trigger.to_string()));
    add("attempt", Some(run.attempt.to_string()));
    add("planned", run.planned_at.map(|at| out.time(at)));
    add("started", run.started_at.map(|at| out.time(at)));
    add("ended", run.ended_at.map(|at| out.time(at)));
    add("pid", run.pid.map(|pid| pid.to_string()));
    add("agent", Some(run.adapter.clone()));
    add("version", run.agent_version.clone());
    add("command", Some(run.command.join(" ")).filter(|text| !text.is_empty()));
    add("workdir", run.workdir.clone());
    add("git", commits(run));
    add("log", run.log.clone());
    add("report", run.report.clone());
    let dropped = Some(run.dropped_bytes).filter(|bytes| *bytes > 0);
    add("dropped", dropped.map(|bytes| format!("{bytes} bytes of output are not in its log")));
    add("usage", usage.as_ref().map(used));
    add("definition", Some(run.definition_hash.clone()));
    for (name, value) in fields {
        out.line(&format!("{:<12} {value}", format!("{name}:")))?;
    }
    for session in sessions.iter().flatten() {
        out.line(&format!("{:<12} {} ({})", "session:", session.id, session.evidence))?;
    }
    for skill in &run.skills {
        out.line(&format!("{:<12} {} from {}", "skill:", skill.name, skill.source))?;
    }
    Ok(())
}
