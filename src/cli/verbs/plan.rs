//! `plan`: what the next start of a harness would do, with nothing done (RUN-6).

use std::process::ExitCode;

use super::describe::words;
use super::read;
use super::skills::{is_not_the_daemons, print_changes};
use crate::base::{HarnessName, RunIds};
use crate::cli::args::PlanArgs;
use crate::cli::context::{Context, Standing};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::config::{Configuration, Harness};
use crate::host::{clock, entropy};
use crate::launch::{Chosen, draft, plan};
use crate::loader::project_name;
use crate::store::{Remembered, Store};
use crate::supervisor::upcoming;
use crate::wire::{
    ErrorBody, ErrorCode, Execution, Op, PlanView, PlannedInput, PlannedSession, PlannedStart, Planner,
};

/// A start would fail.
const WOULD_FAIL: u8 = 1;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &PlanArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let plans = match &args.name {
        Some(name) => vec![one(context, name)?],
        None => all(context)?,
    };
    if out.is_json() {
        match (&args.name, plans.as_slice()) {
            (Some(_), [plan]) => out.json(plan)?,
            _ => out.json(&serde_json::json!({ "plans": plans }))?,
        }
    } else {
        for (number, plan) in plans.iter().enumerate() {
            if number > 0 {
                out.line("")?;
            }
            print(plan, out)?;
        }
    }
    let fails = plans.iter().any(|plan| matches!(plan.start, PlannedStart::Fails { .. }));
    Ok(if fails { ExitCode::from(WOULD_FAIL) } else { ExitCode::SUCCESS })
}

/// By the daemon where there is one that knows the harness: it is what starts it, and its environment counts.
fn one(context: &Context, name: &str) -> Result<PlanView, Failure> {
    let asked = context.name_at_daemon(name).and_then(|name| context.call_if_running(Op::Plan { name }));
    match asked {
        Ok(Some(answer)) => return read(answer),
        Ok(None) => {}
        Err(Failure::Said(said)) if is_not_the_daemons(&said) => {}
        Err(failure) => return Err(failure),
    }
    let configuration = context.whole_configuration()?;
    let harness = context.harness(&configuration, name)?;
    Ok(here(context, &configuration, &harness, &remembered(context)))
}

fn all(context: &Context) -> Result<Vec<PlanView>, Failure> {
    let configuration = context.whole_configuration()?;
    let remembered = remembered(context);
    let mut client = match context.client() {
        Ok(client) => Some(client),
        Err(Failure::Said(ErrorBody { code: ErrorCode::NoDaemon, .. })) => None,
        Err(failure) => return Err(failure),
    };
    let elsewhere = project_elsewhere(context)?;
    let mut plans = Vec::new();
    for (name, harness) in &configuration.harnesses {
        let is_asked = elsewhere.is_none() || name.project() != elsewhere.as_deref();
        let client = client.as_mut().filter(|_| is_asked);
        let asked = client.map(|client| client.call(Op::Plan { name: name.to_string() }));
        plans.push(match asked.transpose() {
            Ok(Some(answer)) => read(answer)?,
            Ok(None) => here(context, &configuration, harness, &remembered),
            Err(cause) => match Failure::from(cause) {
                Failure::Said(ErrorBody { code: ErrorCode::UnknownHarness, .. }) => {
                    here(context, &configuration, harness, &remembered)
                }
                failure => return Err(failure),
            },
        });
    }
    Ok(plans)
}

/// The name of the enclosing project, unless the daemon has this one by it: what it has so is another project's.
fn project_elsewhere(context: &Context) -> Result<Option<String>, Failure> {
    let Some(file) = &context.selection.project else { return Ok(None) };
    let name = project_name(file).ok();
    Ok(match context.standing()? {
        Standing::Up { project } => name.filter(|name| *name != project),
        Standing::Unasked | Standing::Down | Standing::Displaced { .. } => name,
    })
}

/// What an earlier daemon left: an interval has its phase from there.
fn remembered(context: &Context) -> Remembered {
    let store = Store::open_read(&context.state_dir()).ok().flatten();
    store.and_then(|store| store.remembered().ok()).unwrap_or_default()
}

/// What `once` would start here, and when a daemon that starts now would.
fn here(
    context: &Context,
    configuration: &Configuration,
    harness: &Harness,
    remembered: &Remembered,
) -> PlanView {
    let around = context.surroundings_of(configuration);
    let now = clock::now().wall;
    let run = RunIds::new(entropy::seed()).next(now);
    let claim = |name: &HarnessName| remembered.last_firings.get(name);
    let firings = harness.timetable().map_or_else(Vec::new, |timetable| {
        upcoming(&harness.name, timetable, claim(&harness.name), now, PlanView::FIRINGS)
    });
    PlanView {
        harness: harness.name.clone(),
        adapter: harness.adapter.id().to_owned(),
        made_by: Planner::Caller,
        firings,
        start: plan(draft(harness, run, &around, Chosen::Fresh), None),
    }
}

fn print(plan: &PlanView, out: &mut Output) -> Result<(), Failure> {
    let whose = match plan.made_by {
        Planner::Daemon => "in the daemon's environment",
        Planner::Caller => "in this environment: no daemon runs it",
    };
    out.line(&format!("{} ({}), planned {whose}", plan.harness, plan.adapter))?;
    match &plan.start {
        PlannedStart::Fails { failure } => {
            out.line(&format!("  its start would fail: {}", failure.message))?
        }
        PlannedStart::Executes(execution) => print_execution(execution, out)?,
    }
    if !plan.firings.is_empty() {
        out.line("next firings:")?;
    }
    for firing in &plan.firings {
        let delay = firing.delayed_until.map(|due| format!(", delayed until {}", due.rfc3339()));
        out.line(&format!("  {} = {}{}", firing.local, firing.at.rfc3339(), delay.unwrap_or_default()))?;
    }
    Ok(())
}

fn print_execution(execution: &Execution, out: &mut Output) -> Result<(), Failure> {
    out.line(&format!("  program: {}", execution.program))?;
    out.line(&format!("  command: {}", words(&execution.command)))?;
    out.line(&format!("  workdir: {}", execution.workdir))?;
    let input = match execution.stdin {
        PlannedInput::Nothing => "nothing",
        PlannedInput::Terminal => "its terminal",
        PlannedInput::Prompt => "the prompt",
    };
    out.line(&format!("  standard input: {input}"))?;
    let session = match execution.session {
        PlannedSession::New => "a new one",
        PlannedSession::Resumed => "its last one goes on (a start by hand begins a new one)",
    };
    out.line(&format!("  session: {session}"))?;
    out.line(&format!("  log: {}", execution.log))?;
    out.line(&format!("  variables: {}", execution.environment.join(" ")))?;
    match &execution.skills {
        None => out.line("  skills: this agent takes none")?,
        Some(skills) => print_changes(skills, out)?,
    }
    for document in &execution.documents {
        out.line(&format!("  file for the agent: {document}"))?;
    }
    for warning in &execution.warnings {
        out.line(&format!("  warning: {warning}"))?;
    }
    Ok(())
}
