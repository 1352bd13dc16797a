//! `skills sync`: the projection of a harness, now (SKL-13).

use std::process::ExitCode;

use super::print_changes;
use crate::cli::args::SyncArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::verbs::read;
use crate::launch::sync_skills;
use crate::wire::{ErrorBody, Op, SyncView};

pub(super) fn perform(context: &Context, args: &SyncArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    let view = synced(context, args)?;
    if out.is_json() {
        out.json(&view)?;
        return Ok(ExitCode::SUCCESS);
    }
    let dry = if view.dry_run { ", nothing is done" } else { "" };
    out.line(&format!("{} ({}){dry}", view.harness, view.adapter))?;
    match &view.skills {
        None => out.line("  skills: this agent takes none")?,
        Some(skills) => print_changes(skills, out)?,
    }
    for warning in &view.warnings {
        out.line(&format!("  warning: {warning}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// By the daemon where there is one that knows the harness: its environment tells where skills are. Where another
/// project is up by this one's name it is refused: private copies lie by the harness's name, and are that one's.
fn synced(context: &Context, args: &SyncArgs) -> Result<SyncView, Failure> {
    let op = |name| Op::SkillsSync { name, dry_run: args.dry_run };
    if let Some(answer) = context.call_if_known(&args.name, op)? {
        return read(answer);
    }
    let configuration = context.whole_configuration()?;
    let harness = context.harness(&configuration, &args.name)?;
    let done = sync_skills(&harness, &context.surroundings_of(&configuration), args.dry_run);
    done.map_err(|cause| ErrorBody::new(cause.code(), cause.to_string()).into())
}
