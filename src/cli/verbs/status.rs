//! `status`: the daemon, its configuration and what needs attention; or, for a health check, whether all is well.

use std::process::ExitCode;

use super::read;
use crate::cli::args::StatusArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::{ConfigState, Op, StatusView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &StatusArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let answer = context.call(Op::Status)?;
    if out.is_json() {
        out.json(&answer)?;
        let well = !args.check || read::<StatusView>(answer)?.problems.is_empty();
        return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let status: StatusView = read(answer)?;
    if args.check {
        return check(&status, out);
    }
    out.line(&format!(
        "harnessd {}, pid {}, since {}",
        status.version,
        status.pid,
        out.time(status.started_at)
    ))?;
    let state = match status.config.state {
        ConfigState::Ok if status.config.files.is_empty() => "no file was found: nothing is to be run",
        ConfigState::Ok => "in force",
        ConfigState::Rejected if status.config.files.is_empty() => "REJECTED: nothing of it is in force",
        ConfigState::Rejected => "REJECTED, the last good one is in force",
    };
    out.line(&format!("configuration: {state}"))?;
    for file in &status.config.files {
        out.line(&format!("  {file}"))?;
    }
    for one in &status.config.diagnostics {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        out.line(&format!(
            "  {}: {}:{}:{}: {}",
            text("severity"),
            text("file"),
            one["line"],
            one["column"],
            text("message")
        ))?;
    }
    if let Some(profile) = &status.profile {
        out.line(&format!("profile: {profile}"))?;
    }
    let states: Vec<String> =
        status.harnesses.iter().map(|(state, count)| format!("{count} {state}")).collect();
    out.line(&format!(
        "harnesses: {}",
        if states.is_empty() { "none".to_owned() } else { states.join(", ") }
    ))?;
    for trouble in &status.trouble {
        out.line(&format!("trouble: {trouble}"))?;
    }
    for one in &status.attention {
        out.line(&format!("attention: {}: {}", one.harness, one.reason))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// SCH-11: exits 1 while a job is late, parked or failed its last run, and says which and why.
fn check(status: &StatusView, out: &mut Output) -> Result<ExitCode, Failure> {
    for one in &status.problems {
        out.line(&format!("{}: {}", one.harness, one.reason))?;
    }
    if status.problems.is_empty() {
        out.line("every job is well")?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}
