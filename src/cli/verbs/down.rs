//! `down`: see its request's file for the rules.

use std::process::ExitCode;

use super::results;
use crate::cli::args::DownArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::Op;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &DownArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let file = match &args.name {
        Some(_) => None,
        None => Some(context.enclosing_project()?.to_string()),
    };
    let answer = context.call(Op::Down { name: args.name.clone(), file })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    out.line(&format!("project `{}` is down", answer["project"]["name"].as_str().unwrap_or_default()))?;
    results(&answer, out)?;
    Ok(ExitCode::SUCCESS)
}
