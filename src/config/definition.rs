//! A harness as it is shown to people, and the hashes that tell a change.
//!
//! Invariant: the hashes depend on what the harness says and on its adapter's
//! data, never on where in the file it stands; the environment file and the
//! prompt file count by their paths, their contents are never looked at.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Context;
use super::fit::SCHEDULED_TIMEOUT;
use super::model::{Declared, Harness, PromptSource, Work};
use super::signal::signal_name;
use crate::base::duration_text;

/// The resolved keys of a harness: durations as text, sizes in bytes, paths
/// absolute, `prompt_file` as a path. What is not set is left out.
#[must_use]
pub fn definition_json(harness: &Harness) -> Value {
    let mut all = launch_keys(harness);
    all.extend(other_keys(harness));
    if let Some(timeout) = harness.timeout() {
        all.insert("timeout".into(), duration_text(timeout).into());
    }
    Value::Object(all)
}

/// The keys that a start uses; `timeout` apart, see [`seal`].
fn launch_keys(harness: &Harness) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.insert("agent".into(), harness.adapter.id().into());
    let program = match &harness.work {
        Work::Command { program, .. } | Work::Prompt { program, .. } => program,
    };
    if let Some(program) = program {
        keys.insert("cmd".into(), program.as_str().into());
    }
    match &harness.work {
        Work::Command { args, .. } => {
            keys.insert("args".into(), json!(args));
        }
        Work::Prompt { prompt, options, .. } => {
            match prompt {
                PromptSource::Text(text) => keys.insert("prompt".into(), text.as_str().into()),
                PromptSource::File(path) => keys.insert("prompt_file".into(), path.as_str().into()),
            };
            if let Some(model) = &options.model {
                keys.insert("model".into(), model.as_str().into());
            }
            keys.insert("auto_accept".into(), options.auto_accept.into());
            keys.insert("max_turns".into(), options.max_turns.unwrap_or(0).into());
            keys.insert("quiet".into(), options.quiet.into());
        }
    }
    keys.insert("oneshot".into(), harness.oneshot().into());
    if let Some(workdir) = &harness.workdir {
        keys.insert("workdir".into(), workdir.as_str().into());
    }
    if let Some(env_file) = &harness.env_file {
        keys.insert("env_file".into(), env_file.as_str().into());
    }
    keys.insert("env".into(), json!(harness.env));
    let paths: Vec<&str> = harness.skill_paths.iter().map(|(_, path)| path.as_str()).collect();
    keys.insert("skill_paths".into(), json!(paths));
    keys.insert("use_default_skill_paths".into(), harness.use_default_skill_paths.into());
    keys.insert("tty".into(), harness.tty.into());
    let signal = signal_name(harness.stop_signal).map_or_else(|| json!(harness.stop_signal), Value::from);
    keys.insert("stop_signal".into(), signal);
    keys.insert("stop_timeout".into(), duration_text(harness.stop_timeout).into());
    keys.insert("log_max_bytes".into(), harness.log_max_bytes.into());
    keys
}

/// The keys that count at an exit, at boot or on a call, and so apply at once.
fn other_keys(harness: &Harness) -> Map<String, Value> {
    let mut keys = Map::new();
    if let Some(timetable) = harness.timetable() {
        keys.insert("schedule".into(), timetable.expression.as_str().into());
        keys.insert("timezone".into(), timetable.timezone.name().into());
        keys.insert("overlap".into(), timetable.overlap.to_string().into());
    }
    keys.insert("restart".into(), harness.restart().to_string().into());
    keys.insert("restart_delay".into(), duration_text(harness.restart_delay).into());
    keys.insert("enabled".into(), harness.enabled.into());
    keys.insert("keep_runs".into(), harness.keep_runs.into());
    if let Some(description) = &harness.description {
        keys.insert("description".into(), description.as_str().into());
    }
    keys
}

/// Fills in the hashes.
pub(super) fn seal(mut harness: Harness, context: &Context<'_>) -> Harness {
    let mut beside = Map::new();
    let ranks: Vec<bool> = harness.skill_paths.iter().map(|(rank, _)| *rank == Declared::Project).collect();
    beside.insert("project_roots".into(), json!(ranks));
    beside.insert("adapter".into(), context.adapter_digest(&harness.adapter).into());
    if let Some(project) = &harness.project {
        beside.insert("project".into(), json!([project.name, project.root, project.skills]));
    }
    harness.definition_hash = digest(&json!([definition_json(&harness), beside]));
    let mut launch = launch_keys(&harness);
    // The hour that a schedule brings along applies at once, as the schedule does.
    let usual = harness.timetable().map(|_| SCHEDULED_TIMEOUT);
    if let Some(timeout) = harness.timeout().filter(|timeout| Some(*timeout) != usual) {
        launch.insert("timeout".into(), duration_text(timeout).into());
    }
    harness.launch_hash = digest(&json!([launch, beside]));
    harness
}

/// SHA-256 of a value's text, as hexadecimal digits.
pub(super) fn digest(value: &Value) -> String {
    let sum = Sha256::digest(value.to_string());
    let mut text = String::with_capacity(64);
    for byte in sum {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
