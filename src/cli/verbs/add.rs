//! `add`: declares a harness (WRT-1).

use std::process::ExitCode;

use crate::cli::args::AddArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::writing;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &AddArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    writing::add(context, &args.name, &args.keys.0, &args.write, out)
}
