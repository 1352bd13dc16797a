//! `reload`: the daemon reads its configuration again.

use std::process::ExitCode;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::Op;

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    let answer = context.call(Op::Reload)?;
    if out.is_json() {
        out.json(&answer)?;
    } else {
        let warnings = answer["diagnostics"].as_array().map_or(0, Vec::len);
        let suffix = if warnings == 0 {
            String::new()
        } else {
            format!(" ({warnings} warnings: see `harnessd validate`)")
        };
        out.line(&format!("the configuration is in force{suffix}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
