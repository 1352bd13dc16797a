//! `skills check`: skills by the public rules for `SKILL.md` (SKL-13).

use std::process::ExitCode;

use crate::base::{Format, Severity, render};
use crate::cli::args::CheckArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, counted, plain};
use crate::skills::{UNREADABLE, check};

/// There are errors.
const INVALID: u8 = 1;
/// Something could not be judged.
const COULD_NOT_RUN: u8 = 2;

pub(super) fn perform(context: &Context, args: &CheckArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    let found = check(&args.paths, &context.cwd);
    let format = match out.is_json() {
        true => Format::Json,
        false => Format::Human { color: Output::color(&context.env) },
    };
    let text = render(&found.diagnostics, &found.sources, format);
    out.bytes(if out.is_json() { plain(text) } else { text }.as_bytes())?;
    let errors = found.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    if !out.is_json() {
        let warnings = found.diagnostics.len() - errors;
        let counts = [counted(found.skills, "skill"), counted(errors, "error"), counted(warnings, "warning")];
        out.line(&counts.join(", "))?;
    }
    let unreadable = found.diagnostics.iter().any(|one| one.code == UNREADABLE);
    Ok(match (errors, unreadable) {
        (0, _) => ExitCode::SUCCESS,
        (_, true) => ExitCode::from(COULD_NOT_RUN),
        (_, false) => ExitCode::from(INVALID),
    })
}
