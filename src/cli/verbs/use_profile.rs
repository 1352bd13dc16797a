//! `use-profile`: starts what a profile names, and says what of it could not be.

use std::process::ExitCode;

use super::{results, warnings};
use crate::cli::args::UseProfileArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::Op;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &UseProfileArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let UseProfileArgs { name, exclusive, wait } = args;
    let answer = context.call(Op::UseProfile { name: name.clone(), exclusive: *exclusive, wait: *wait })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    warnings(&answer, out)?;
    results(&answer, out)?;
    out.line(&format!("profile `{name}` is in use"))?;
    Ok(ExitCode::SUCCESS)
}
