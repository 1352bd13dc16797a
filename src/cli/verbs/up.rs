//! `up`: see its request's file for the rules.

use std::process::ExitCode;

use super::list::print;
use super::{read, warnings};
use crate::cli::args::UpArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::loader::project_key;
use crate::wire::{Op, RaisedView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &UpArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let file = match &args.dir {
        Some(dir) => project_key(&context.cwd.join(dir)),
        None => context.enclosing_project()?,
    };
    let answer = context.call(Op::Up { file: file.to_string() })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    warnings(&answer, out)?;
    let RaisedView { project, harnesses, .. } = read(answer)?;
    let name = project.name.as_deref().unwrap_or_default();
    let listed = if project.listed { " (it is listed in the global file)" } else { "" };
    out.line(&format!("project `{name}` is up{listed}: {}", project.file))?;
    print(&harnesses, "it declares no harness", out)?;
    Ok(ExitCode::SUCCESS)
}
