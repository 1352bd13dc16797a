//! `down`: see its request's file for the rules.

use std::process::ExitCode;

use super::{read, results, warnings};
use crate::cli::args::DownArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::{Op, ProjectView, ProjectsView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &DownArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let file = match &args.name {
        Some(_) => None,
        None => Some(context.enclosing_project()?.to_string()),
    };
    if args.wait {
        stop(context, args.name.as_deref(), file.as_ref())?;
    }
    let answer = context.call(Op::Down { name: args.name.clone(), file })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    warnings(&answer, out)?;
    out.line(&format!("project `{}` is down", answer["project"]["name"].as_str().unwrap_or_default()))?;
    results(&answer, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Stops all of a project that is up and waits for it. One that is not up, or listed, is for `down` to refuse.
fn stop(context: &Context, name: Option<&str>, file: Option<&String>) -> Result<(), Failure> {
    let ProjectsView { projects, harnesses } = read(context.call(Op::Ps { file: file.cloned() })?)?;
    let meant = |project: &&ProjectView| name.is_none() || project.name.as_deref() == name;
    let Some(project) = projects.iter().filter(|project| !project.listed).find(meant) else { return Ok(()) };
    let own = harnesses.iter().filter(|one| one.project.is_some() && one.project == project.name);
    let names: Vec<String> = own.map(|one| one.name.to_string()).collect();
    if !names.is_empty() {
        context.call(Op::Stop { names, all: false, wait: true })?;
    }
    Ok(())
}
