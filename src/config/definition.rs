//! A harness as it is shown to people, and the hashes that tell a change.
//!
//! Invariant: the hashes depend on what the harness says and on its adapter's
//! data, never on where in the file it stands; the environment file and the
//! prompt file count by their paths, their contents are never looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Context;
use super::fit::SCHEDULED_TIMEOUT;
use super::model::{Budget, Declared, Harness, PromptSource, Watch, Work};
use crate::adapter::{masked, masked_value};
use crate::base::{duration_text, signal_name};

/// The value of a resolved key.
#[derive(Clone, Copy)]
enum Shown<'a> {
    Text(&'a str),
    Switch(bool),
    Number(u64),
    Time(Duration),
    List(&'a [&'a str]),
    Table(&'a BTreeMap<String, String>),
    Budget(Budget),
}

/// What takes the resolved keys one after the other.
type Sink<'s> = &'s mut dyn FnMut(&'static str, Shown<'_>);

/// The resolved keys of a harness: durations as text, sizes in bytes, paths
/// absolute, `prompt_file` as a path. What is not set is left out.
#[must_use]
pub fn definition_json(harness: &Harness) -> Value {
    let mut all = Map::new();
    let mut put = |key: &'static str, value: Shown<'_>| {
        let value = match value {
            Shown::Text(text) => text.into(),
            Shown::Switch(switch) => switch.into(),
            Shown::Number(number) => number.into(),
            Shown::Time(duration) => duration_text(duration).into(),
            Shown::List(list) => json!(masked(list.iter().map(|word| (*word).to_owned()).collect())),
            Shown::Table(table) => {
                let shown = table.iter().map(|(name, value)| (name, masked_value(name, value)));
                json!(shown.collect::<BTreeMap<_, _>>())
            }
            Shown::Budget(Budget { max_cost_usd, max_tokens }) => {
                let cost = max_cost_usd.map(|cost| ("max_cost_usd", json!(cost)));
                let tokens = max_tokens.map(|tokens| ("max_tokens", json!(tokens)));
                json!(cost.into_iter().chain(tokens).collect::<BTreeMap<_, _>>())
            }
        };
        all.insert(key.to_owned(), value);
    };
    launch_keys(harness, &mut put);
    if let Some(timeout) = harness.timeout() {
        put("timeout", Shown::Time(timeout));
    }
    other_keys(harness, &mut put);
    Value::Object(all)
}

/// The keys that a start uses; `timeout` apart, see [`seal`].
fn launch_keys(harness: &Harness, put: Sink<'_>) {
    put("agent", Shown::Text(harness.adapter.id()));
    let program = match &harness.work {
        Work::Command { program, .. } | Work::Prompt { program, .. } => program,
    };
    if let Some(program) = program {
        put("cmd", Shown::Text(program));
    }
    match &harness.work {
        Work::Command { args, .. } => {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            put("args", Shown::List(&args));
        }
        Work::Prompt { prompt, options, .. } => {
            match prompt {
                PromptSource::Text(text) => put("prompt", Shown::Text(text)),
                PromptSource::File(path) => put("prompt_file", Shown::Text(path.as_str())),
            }
            if let Some(model) = &options.model {
                put("model", Shown::Text(model));
            }
            put("auto_accept", Shown::Switch(options.auto_accept));
            put("max_turns", Shown::Number(options.max_turns.unwrap_or(0).into()));
            put("quiet", Shown::Switch(options.quiet));
        }
    }
    put("oneshot", Shown::Switch(harness.oneshot()));
    if let Some(workdir) = &harness.workdir {
        put("workdir", Shown::Text(workdir.as_str()));
    }
    if let Some(env_file) = &harness.env_file {
        put("env_file", Shown::Text(env_file.as_str()));
    }
    put("env", Shown::Table(&harness.env));
    let paths: Vec<&str> = harness.skill_paths.iter().map(|(_, path)| path.as_str()).collect();
    put("skill_paths", Shown::List(&paths));
    put("use_default_skill_paths", Shown::Switch(harness.use_default_skill_paths));
    put("tty", Shown::Switch(harness.tty));
    put("stop_signal", Shown::Text(signal_name(harness.stop_signal).unwrap_or("unknown")));
    put("stop_timeout", Shown::Time(harness.stop_timeout));
    if let Some(bytes) = harness.memory_max {
        put("memory_max", Shown::Number(bytes));
    }
    if let Some(weight) = harness.cpu_weight {
        put("cpu_weight", Shown::Number(weight.into()));
    }
    put("log_max_bytes", Shown::Number(harness.log_max_bytes));
    if let Some(watch) = harness.watch() {
        watch_keys(watch, put);
    }
}

fn watch_keys(watch: &Watch, put: Sink<'_>) {
    for (key, timeout) in
        [("first_output_timeout", watch.first_output_timeout), ("idle_timeout", watch.idle_timeout)]
    {
        if let Some(timeout) = timeout {
            put(key, Shown::Time(timeout));
        }
    }
    if let Some(check) = &watch.check {
        let words: Vec<&str> = check.command.iter().map(String::as_str).collect();
        put("check", Shown::List(&words));
        put("check_timeout", Shown::Time(check.timeout));
    }
    put("linger_timeout", Shown::Time(watch.linger_timeout));
}

/// The keys that count at an exit, at boot or on a call, and so apply at once.
fn other_keys(harness: &Harness, put: Sink<'_>) {
    if let Some(timetable) = harness.timetable() {
        put("schedule", Shown::Text(timetable.expression.as_str()));
        put("timezone", Shown::Text(timetable.timezone.name()));
        put("jitter", Shown::Time(timetable.jitter));
        put("overlap", Shown::Text(&timetable.overlap.to_string()));
        put("catch_up", Shown::Text(timetable.catch_up.as_str()));
        put("catch_up_window", Shown::Time(timetable.catch_up_window));
    }
    if harness.oneshot() {
        put("exclusive", Shown::Switch(harness.exclusive));
    }
    put("restart", Shown::Text(&harness.restart().to_string()));
    if !harness.oneshot() {
        put("resume", Shown::Switch(harness.resume));
    }
    put("restart_delay", Shown::Time(harness.restart_delay));
    put("enabled", Shown::Switch(harness.enabled));
    put("harvest", Shown::Switch(harness.harvest));
    if let Some(budget) = harness.budget {
        put("budget", Shown::Budget(budget));
    }
    put("keep_runs", Shown::Number(harness.keep_runs.into()));
    if let Some(description) = &harness.description {
        put("description", Shown::Text(description));
    }
}

/// Fills in the hashes.
pub(super) fn seal(mut harness: Harness, context: &Context<'_>) -> Harness {
    let mut hasher = Sha256::new();
    text_into(&mut hasher, &context.adapter_digest(&harness.adapter));
    hasher.update((harness.skill_paths.len() as u64).to_le_bytes());
    for (rank, _) in &harness.skill_paths {
        hasher.update([u8::from(*rank == Declared::Project)]);
    }
    if let Some(project) = &harness.project {
        text_into(&mut hasher, &project.name);
        text_into(&mut hasher, project.root.as_str());
        hasher.update([u8::from(project.skills)]);
    }
    launch_keys(&harness, &mut |key, value| value_into(&mut hasher, key, value));
    // The hour that a schedule brings along applies at once, as the schedule does.
    let usual = harness.timetable().map(|_| SCHEDULED_TIMEOUT);
    let mut launch = hasher.clone();
    if let Some(timeout) = harness.timeout() {
        value_into(&mut hasher, "timeout", Shown::Time(timeout));
        if Some(timeout) != usual {
            value_into(&mut launch, "timeout", Shown::Time(timeout));
        }
    }
    other_keys(&harness, &mut |key, value| value_into(&mut hasher, key, value));
    harness.launch_hash = hexadecimal(launch);
    harness.definition_hash = hexadecimal(hasher);
    harness
}

/// A text with its length before it, so that no two sequences of texts are alike.
fn text_into(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text);
}

fn value_into(hasher: &mut Sha256, key: &str, value: Shown<'_>) {
    text_into(hasher, key);
    match value {
        Shown::Text(text) => text_into(hasher, text),
        Shown::Switch(switch) => hasher.update([u8::from(switch)]),
        Shown::Number(number) => hasher.update(number.to_le_bytes()),
        Shown::Time(duration) => hasher.update(duration.as_nanos().to_le_bytes()),
        Shown::List(list) => {
            hasher.update((list.len() as u64).to_le_bytes());
            list.iter().for_each(|text| text_into(hasher, text));
        }
        Shown::Table(table) => {
            hasher.update((table.len() as u64).to_le_bytes());
            for (name, text) in table {
                text_into(hasher, name);
                text_into(hasher, text);
            }
        }
        Shown::Budget(Budget { max_cost_usd, max_tokens }) => {
            for bits in [max_cost_usd.map(f64::to_bits), max_tokens] {
                hasher.update([u8::from(bits.is_some())]);
                hasher.update(bits.unwrap_or_default().to_le_bytes());
            }
        }
    }
}

/// SHA-256 of a file's text, as hexadecimal digits.
#[must_use]
pub fn text_hash(text: &str) -> String {
    digest(text)
}

/// SHA-256 of a text, as hexadecimal digits.
pub(super) fn digest(text: &str) -> String {
    hexadecimal(Sha256::new_with_prefix(text))
}

fn hexadecimal(hasher: Sha256) -> String {
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(half.into(), 16).unwrap_or('0'));
        }
    }
    text
}
