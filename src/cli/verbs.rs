//! One file a verb.

pub(super) mod add;
pub(super) mod agents;
pub(super) mod completions;
pub(super) mod describe;
pub(super) mod disable;
pub(super) mod doctor;
pub(super) mod down;
pub(super) mod enable;
pub(super) mod init;
pub(super) mod list;
pub(super) mod logs;
pub(super) mod once;
pub(super) mod plan;
pub(super) mod probe_handover;
pub(super) mod ps;
pub(super) mod reexec;
pub(super) mod reload;
pub(super) mod remove;
pub(super) mod restart;
pub(super) mod run;
pub(super) mod runs;
pub(super) mod schedule;
pub(super) mod schema;
pub(super) mod set;
pub(super) mod show;
pub(super) mod skills;
pub(super) mod start;
pub(super) mod status;
pub(super) mod stop;
pub(super) mod trajectories;
pub(super) mod trajectory;
pub(super) mod unset;
pub(super) mod up;
pub(super) mod usage;
pub(super) mod use_profile;
pub(super) mod validate;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::TargetArgs;
use super::context::Context;
use super::failure::Failure;
use super::output::Output;
use crate::wire::{ErrorBody, ErrorCode, Op};

/// Reads the daemon's answer.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|cause| {
        Failure::Said(ErrorBody::new(
            ErrorCode::VersionMismatch,
            format!("the daemon's answer is not understood: {cause}"),
        ))
    })
}

/// Sends a verb that acts on harnesses, and prints what became of each.
fn act(
    context: &Context,
    args: &TargetArgs,
    out: &mut Output,
    op: impl FnOnce(Vec<String>) -> Op,
) -> Result<std::process::ExitCode, Failure> {
    let names = args.names.iter().map(|name| context.name_at_daemon(name)).collect::<Result<_, _>>()?;
    let answer = context.call(op(names))?;
    if out.is_json() {
        out.json(&answer)?;
    } else {
        results(&answer, out)?;
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// Prints what else is to be known of an answer.
fn warnings(answer: &Value, out: &mut Output) -> Result<(), Failure> {
    for warning in answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.line(&format!("warning: {warning}"))?;
    }
    Ok(())
}

/// Prints what became of each harness.
fn results(answer: &Value, out: &mut Output) -> Result<(), Failure> {
    let list = answer["harnesses"].as_array().map(Vec::as_slice).unwrap_or_default();
    for one in list {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let result = match text("result") {
            "unknown" => "not started: nothing that is in force declares it".to_owned(),
            "scheduled" => "not started: only its schedule starts it".to_owned(),
            result => result.replace('-', " "),
        };
        out.line(&format!("{}: {result}", text("name")))?;
    }
    Ok(())
}
