//! What a start finds around it, and the environment that the child gets (LIF-7).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use camino::{Utf8Path, Utf8PathBuf};

use super::prepare::workdir;
use crate::adapter::{SkillFacts, Synthesis};
use crate::base::{HarnessName, RunId};
use crate::config::Harness;
use crate::host::files;
use crate::host::limits::InheritedLimits;
use crate::host::logs;
use crate::skills::Bounds;

/// What a start finds around it.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The home directory.
    pub home: Utf8PathBuf,
    /// The environment that children inherit from.
    pub env: BTreeMap<OsString, OsString>,
    /// The state directory.
    pub state: Utf8PathBuf,
    /// Variables of an outer agent, which no child inherits.
    pub scrub: Vec<String>,
    /// Bounds of one skill.
    pub bounds: Bounds,
    /// The resource limits that children get.
    pub limits: InheritedLimits,
}

/// The variables that the harness sets itself.
pub(super) fn own_variables(harness: &Harness, env_file: &[(String, String)]) -> BTreeMap<String, String> {
    env_file.iter().cloned().chain(harness.env.clone()).collect()
}

/// The same before a start. An `env_file` that cannot be read sets none here; the start itself fails for it.
pub(super) fn readable_variables(harness: &Harness) -> BTreeMap<String, String> {
    let file = harness.env_file.as_ref().and_then(|path| files::read_env_file(path).ok().flatten());
    own_variables(harness, &file.unwrap_or_default())
}

/// The UTF-8 variables that the agent will see before its adapter adds any: by them it finds its own
/// directories.
pub(super) fn agent_environment(
    harness: &Harness,
    around: &Surroundings,
    own: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut env = text_of(&inherited(harness, around));
    env.extend(own);
    env
}

/// The files whose change may mean that somebody has logged in: the agent's own, and the file that
/// its keys may stand in.
#[must_use]
pub fn login_files(harness: &Harness, around: &Surroundings) -> Vec<Utf8PathBuf> {
    let env = agent_environment(harness, around, readable_variables(harness));
    let files = harness.adapter.login_files(&env, &agent_home(&env, around));
    let workdir = workdir(harness, around);
    files.into_iter().map(|file| workdir.join(file)).chain(harness.env_file.clone()).collect()
}

/// The home directory that the agent will see.
pub(super) fn agent_home(env: &BTreeMap<String, String>, around: &Surroundings) -> Utf8PathBuf {
    let home = env.get("HOME").map(Utf8PathBuf::from).filter(|home| home.is_absolute());
    home.unwrap_or_else(|| around.home.clone())
}

/// What the adapter says of the agent's skills, by the variables and the home that the agent will see.
pub(super) fn skill_facts(harness: &Harness, around: &Surroundings) -> SkillFacts {
    let env = agent_environment(harness, around, readable_variables(harness));
    harness.adapter.skill_facts(&env, &agent_home(&env, around))
}

/// What the daemon has, less its own variables and those of an outer agent.
pub(super) fn passed_on(around: &Surroundings) -> BTreeMap<OsString, OsString> {
    let outer = |name: &OsStr| around.scrub.iter().any(|word| OsStr::new(word) == name);
    let passed = around.env.iter().filter(|(name, _)| !is_private(name) && !outer(name));
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What every agent of the harness gets before anything is set for it.
fn inherited(harness: &Harness, around: &Surroundings) -> BTreeMap<OsString, OsString> {
    let mut env = passed_on(around);
    if harness.tty {
        env.insert("TERM".into(), "xterm-256color".into());
    }
    env
}

pub(super) fn text_of(env: &BTreeMap<OsString, OsString>) -> BTreeMap<String, String> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    env.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// The log file of a run.
#[must_use]
pub fn log_file(state: &Utf8Path, harness: &HarnessName, run: RunId) -> Utf8PathBuf {
    logs::directory(state).join(harness.file_name()).join(format!("{run}.log"))
}

/// Variables that belong to the daemon's own service manager and never reach a child.
pub(super) fn is_private(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"HARNESSD_") || matches!(name, b"NOTIFY_SOCKET" | b"WATCHDOG_PID" | b"WATCHDOG_USEC")
}

/// The child's environment: what the daemon has, less its own variables and those of an outer
/// agent; then the adapter's, the `env_file`'s and the harness's own; then the marks of the run.
pub(super) fn child_environment(
    harness: &Harness,
    run: RunId,
    around: &Surroundings,
    synthesis: &Synthesis,
    env_file: &[(String, String)],
) -> BTreeMap<OsString, OsString> {
    let mut env = inherited(harness, around);
    let set = synthesis.environment(&text_of(&env), &own_variables(harness, env_file));
    env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
    env.insert("HARNESSD_HARNESS".into(), harness.name.as_str().into());
    env.insert("HARNESSD_RUN_ID".into(), run.to_string().into());
    if let Some(project) = &harness.project {
        env.insert("HARNESSD_PROJECT".into(), project.name.as_str().into());
    }
    env
}
