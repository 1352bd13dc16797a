//! `start`: see its request's file for the rules.

use std::process::ExitCode;

use super::act;
use crate::cli::args::StartArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::{Op, Which};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &StartArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let which = |said: &Option<Option<String>>| {
        said.as_ref().map(|id| id.clone().map_or(Which::Last, Which::Session))
    };
    let (resume, fork) = (which(&args.resume), which(&args.fork));
    let (all, wait) = (args.target.all, args.target.wait);
    act(context, &args.target, out, |names| Op::Start { names, all, wait, resume, fork })
}
