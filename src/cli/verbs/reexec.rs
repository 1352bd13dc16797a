//! `reexec`: the daemon executes its program anew; the answer is the successor's (CTL-11).

use std::process::ExitCode;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::Op;

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    let answer = context.call(Op::Reexec)?;
    if out.is_json() {
        out.json(&answer)?;
    } else {
        let text = |key: &str| answer[key].as_str().unwrap_or_default();
        out.line(&format!("harnessd {} has taken over from {}", text("version"), text("before")))?;
    }
    Ok(ExitCode::SUCCESS)
}
