//! `enable`: lets a harness start with the daemon (WRT-1).

use std::process::ExitCode;

use crate::cli::args::EditArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::writing;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &EditArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    writing::set(context, (&args.name, "enabled", "true"), &args.write, out)
}
