//! `set`: gives a key of a harness a value (WRT-1).

use std::process::ExitCode;

use crate::cli::args::SetArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::writing;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &SetArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    writing::set(context, (&args.name, &args.key, &args.value), &args.write, out)
}
