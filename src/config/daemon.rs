//! The daemon's own settings: built-in < `[daemon]` < `HARNESSD_*` (CFG-6).
//!
//! Invariant: a setting comes from the highest layer that says it, and an
//! empty variable says nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use figment::Figment;
use figment::value::{Dict, Value};

use super::Lookup;
use super::codes::{BAD_SETTING, MISSING_PROJECT, WRONG_TYPE};
use super::discover::FILE_NAME;
use super::document::File;
use super::keys::{self, DAEMON_KEYS, Key};
use super::layers::{Layer, dict_of, extract};
use super::model::{DaemonSettings, Setting};
use super::path::{PathError, resolve};
use super::raw::RawDaemon;
use super::scalar::Element;
use crate::base::{Diagnostic, Place, Severity, duration_text, quoted, size_text};

/// The built-in settings as the lowest layer.
fn built_in() -> Figment {
    let dict = built_in_values().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Figment::from(Layer::new("built-in settings", dict))
}

/// The built-in settings as they could be written.
pub(super) fn built_in_values() -> Vec<(&'static str, Value)> {
    let defaults = defaults();
    let number = |number: u64| Value::from(number);
    let text = |duration| Value::from(duration_text(duration).as_str());
    vec![
        ("watch", Value::from(defaults.watch)),
        ("crash_loop_exits", number(defaults.crash_loop_exits.into())),
        ("crash_loop_window", text(defaults.crash_loop_window)),
        ("max_attempts", number(defaults.max_attempts.into())),
        ("backoff_max", text(defaults.backoff_max)),
        ("skill_max_files", number(defaults.skill_max_files)),
        ("skill_max_bytes", Value::from(size_text(defaults.skill_max_bytes).replace(".0 ", " ").as_str())),
    ]
}

/// The `[daemon]` table of a file as it stands below the environment.
#[derive(Debug, Default)]
pub(super) struct DaemonLayer {
    dict: Dict,
    dir: Utf8PathBuf,
}

impl DaemonLayer {
    /// The first file that has a table decides.
    pub(super) fn or(self, later: Self) -> Self {
        if self.dict.is_empty() { later } else { self }
    }
}

/// Reads the `[daemon]` table of a global file.
pub(super) fn daemon_table(
    file: &File,
    home: &Utf8Path,
    lookup: &dyn Lookup,
) -> (DaemonLayer, Vec<Diagnostic>) {
    let path = ["daemon"];
    let mut layer = DaemonLayer { dict: Dict::new(), dir: file.dir.clone() };
    let Some(table) = file.table(&path) else { return (layer, Vec::new()) };
    let mut read = extract::<RawDaemon>(&built_in(), file, &path, dict_of(table), DAEMON_KEYS);
    let mut found = read.found;
    if let Some(raw) = &read.value {
        for (key, text) in [("state_dir", &raw.state_dir), ("socket", &raw.socket)] {
            let Some(Err(error)) = text.as_deref().map(|text| resolve(text, &file.dir, home)) else {
                continue;
            };
            let place = file.value(&["daemon", key]);
            found
                .push(Diagnostic::error(error.code(), place, format!("`{key}`: {error}")).help(error.help()));
            read.dict.remove(key);
        }
        let wrong = projects(file, raw, home, lookup);
        if wrong.iter().any(|one| one.severity == Severity::Error) {
            read.dict.remove("projects");
        }
        found.extend(wrong);
    }
    layer.dict = read.dict;
    (layer, found)
}

/// What is wrong with the directories of projects.
fn projects(file: &File, raw: &RawDaemon, home: &Utf8Path, lookup: &dyn Lookup) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (at, project) in raw.projects.iter().flatten().enumerate() {
        let index = at.to_string();
        let path = ["daemon", "projects", index.as_str()];
        let place = || file.value(&path);
        match project.text().map(|text| resolve(text, &file.dir, home)) {
            Some(Ok(dir)) if lookup.lacks_project(&dir.join(FILE_NAME)) => {
                let message = format!("there is no `{FILE_NAME}` in `{dir}`");
                found.push(
                    Diagnostic::warning(MISSING_PROJECT, place(), message)
                        .help("mend the path, or write one there: nothing of this project runs before"),
                );
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let message = format!("`projects[{at}]`: {error}");
                found.push(Diagnostic::error(error.code(), place(), message).help(error.help()));
            }
            None => {
                let kind = file.node(&path).map_or("this", |node| node.kind());
                let message = format!("`projects[{at}]` takes a path, not {kind}");
                found.push(
                    Diagnostic::error(WRONG_TYPE, place(), message).help("every element is one string"),
                );
            }
        }
    }
    found
}

/// Whether a variable may say the key: none adds harnesses (CFG-6).
fn by_variable(key: &Key) -> bool {
    key.name != "projects"
}

/// The settings, with the variables `HARNESSD_STATE_DIR`, `HARNESSD_SOCKET`,
/// `HARNESSD_WATCH` … over the table. A relative path in a variable is left as
/// it is, for the shell to read like one on its command line.
pub(super) fn settings(
    layer: &DaemonLayer,
    env: &BTreeMap<String, String>,
    home: &Utf8Path,
) -> (DaemonSettings, Vec<Setting>, Vec<Diagnostic>) {
    let base = built_in().merge(Layer::new("[daemon]", layer.dict.clone()));
    let mut dict = Dict::new();
    for key in DAEMON_KEYS.iter().filter(|key| by_variable(key)) {
        if let Some(text) = env.get(&variable(key)).filter(|text| !text.is_empty()) {
            dict.insert(key.name.to_owned(), typed(key, text));
        }
    }
    let mut found = Vec::new();
    loop {
        let merged = base.clone().merge(Layer::new("environment", dict.clone()));
        match merged.extract::<RawDaemon>() {
            Ok(raw) => {
                let read = |key: &str, text: &Option<String>| {
                    let text = text.as_deref()?;
                    let dir = if dict.contains_key(key) { Utf8Path::new("") } else { &layer.dir };
                    Some(resolve(text, dir, home).map_err(|error| (key.to_owned(), error)))
                };
                let (state_dir, socket) = (read("state_dir", &raw.state_dir), read("socket", &raw.socket));
                for (key, error) in
                    [&state_dir, &socket].into_iter().flatten().filter_map(|r| r.as_ref().err())
                {
                    found.push(bad_setting(key, &error.to_string(), error.help()));
                }
                let projects = raw.projects.iter().flatten().filter_map(Element::text);
                let projects = projects.filter_map(|text| resolve(text, &layer.dir, home).ok()).collect();
                return (made(&raw, state_dir, socket, projects), told(&layer.dict, &dict), found);
            }
            Err(error) => {
                let key = error.path.first().cloned().unwrap_or_default();
                if dict.remove(&key).is_none() {
                    // The table below was clean when it was read by itself.
                    return (defaults(), told(&Dict::new(), &Dict::new()), found);
                }
                found.push(wrong_setting(&key, &error, env));
            }
        }
    }
}

/// Each setting as the highest layer says it, with that layer (CFG-6).
fn told(table: &Dict, environment: &Dict) -> Vec<Setting> {
    let built_in = built_in();
    let one = |key: &Key| {
        let (value, source) = match (environment.get(key.name), table.get(key.name)) {
            (Some(value), _) => (Some(value.clone()), variable(key)),
            (None, Some(value)) => (Some(value.clone()), "[daemon]".to_owned()),
            (None, None) => (built_in.find_value(key.name).ok(), "built-in".to_owned()),
        };
        Setting { key: key.name, value: value.as_ref().map(plain), source }
    };
    DAEMON_KEYS.iter().filter(|key| !key.later).map(one).collect()
}

/// A value as it would be written, a text without its quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(_, text) => text.clone(),
        Value::Bool(_, flag) => flag.to_string(),
        Value::Array(_, list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => match (other.to_u128(), other.to_i128()) {
            (Some(number), _) => number.to_string(),
            (None, Some(number)) => number.to_string(),
            (None, None) => String::new(),
        },
    }
}

/// What holds when nothing is said.
pub(super) fn defaults() -> DaemonSettings {
    DaemonSettings {
        state_dir: None,
        socket: None,
        watch: true,
        crash_loop_exits: 5,
        crash_loop_window: Duration::from_secs(60),
        max_attempts: 10,
        backoff_max: Duration::from_secs(300),
        max_parallel_runs: None,
        skill_max_files: 4096,
        skill_max_bytes: 256 << 20,
        projects: Vec::new(),
    }
}

type ReadPath = Option<Result<Utf8PathBuf, (String, PathError)>>;

fn made(
    raw: &RawDaemon,
    state_dir: ReadPath,
    socket: ReadPath,
    projects: Vec<Utf8PathBuf>,
) -> DaemonSettings {
    DaemonSettings {
        state_dir: state_dir.and_then(Result::ok),
        socket: socket.and_then(Result::ok),
        watch: raw.watch,
        crash_loop_exits: raw.crash_loop_exits.0,
        crash_loop_window: raw.crash_loop_window.0.0,
        max_attempts: raw.max_attempts,
        backoff_max: raw.backoff_max.0.0,
        max_parallel_runs: raw.max_parallel_runs.map(|most| most.0),
        skill_max_files: raw.skill_max_files.0.into(),
        skill_max_bytes: raw.skill_max_bytes.0.0,
        projects,
    }
}

fn variable(key: &Key) -> String {
    format!("HARNESSD_{}", key.name.to_ascii_uppercase())
}

/// A variable's text as the type that its key takes, where it can be read so.
fn typed(key: &Key, text: &str) -> Value {
    match (key.name, text) {
        ("state_dir" | "socket", _) => text.into(),
        (_, "true") => true.into(),
        (_, "false") => false.into(),
        ("watch", "1") => true.into(),
        ("watch", "0") => false.into(),
        _ => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
    }
}

fn wrong_setting(key: &str, error: &figment::Error, env: &BTreeMap<String, String>) -> Diagnostic {
    let known = keys::find(DAEMON_KEYS, &[key.to_owned()]);
    let takes = known.map_or("another value", |key| key.takes);
    let name = format!("HARNESSD_{}", key.to_ascii_uppercase());
    let written = env.get(&name).map_or("", String::as_str);
    let message = match &error.kind {
        figment::error::Kind::Message(text) => text.split('\n').next().unwrap_or(text).to_owned(),
        _ => format!("takes {takes}, not `{}`", quoted(written)),
    };
    bad_setting(key, &message, &format!("set `{name}` to {takes}, or unset it"))
}

/// No file holds the environment: the place is named so, and has no span.
fn bad_setting(key: &str, message: &str, help: &str) -> Diagnostic {
    let place = Place { file: "environment".into(), span: None };
    let name = format!("HARNESSD_{}", key.to_ascii_uppercase());
    Diagnostic::error(BAD_SETTING, place, format!("`{name}`: {message}")).help(help)
}
