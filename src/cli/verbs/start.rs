//! `start`: see its request's file for the rules.

use std::process::ExitCode;

use super::act;
use crate::cli::args::TargetArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::Op;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &TargetArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    act(context, args, out, |names| Op::Start { names, all: args.all, wait: args.wait })
}
