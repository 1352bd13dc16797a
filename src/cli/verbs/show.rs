//! `show`: one run. Reads the store itself.

use std::process::ExitCode;

use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::store::Store;
use crate::wire::{ErrorBody, ErrorCode, Run};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &ShowArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let run = find(context, &args.run)?;
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

fn print(run: &Run, out: &mut Output) -> Result<(), Failure> {
    let mut fields: Vec<(&str, String)> = vec![
        ("run", run.id.to_string()),
        ("harness", run.harness.to_string()),
        ("outcome", run.outcome.map_or_else(|| "running".to_owned(), |outcome| outcome.to_string())),
    ];
    let mut add = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
    add("cause", run.cause.clone());
    add("exit status", run.exit_code.map(|code| code.to_string()));
    add("signal", run.signal.clone());
    add("trigger", Some(run.trigger.to_string()));
    add("attempt", Some(run.attempt.to_string()));
    add("planned", run.planned_at.map(|at| out.time(at)));
    add("started", run.started_at.map(|at| out.time(at)));
    add("ended", run.ended_at.map(|at| out.time(at)));
    add("pid", run.pid.map(|pid| pid.to_string()));
    add("agent", Some(run.adapter.clone()));
    add("command", Some(run.command.join(" ")).filter(|text| !text.is_empty()));
    add("workdir", run.workdir.clone());
    add("log", run.log.clone());
    add("definition", Some(run.definition_hash.clone()));
    for (name, value) in fields {
        out.line(&format!("{:<12} {value}", format!("{name}:")))?;
    }
    for skill in &run.skills {
        out.line(&format!("{:<12} {} from {}", "skill:", skill.name, skill.source))?;
    }
    Ok(())
}
