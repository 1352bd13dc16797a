//! What a start finds around it, and the environment that the child gets (LIF-7).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use camino::{Utf8Path, Utf8PathBuf};

use crate::adapter::Synthesis;
use crate::base::{HarnessName, RunId};
use crate::config::Harness;
use crate::host::files;
use crate::host::limits::InheritedLimits;
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

impl Surroundings {
    /// The inherited variables that are UTF-8, for adapters that read overrides.
    #[must_use]
    pub fn text_env(&self) -> BTreeMap<String, String> {
        text_of(&self.env)
    }
}

/// The variables and the home directory by which the agent of a harness finds its places: those of
/// its own environment. An `env_file` that cannot be read says nothing here; a start tells of it.
pub(super) fn agents_view(
    harness: &Harness,
    around: &Surroundings,
) -> (BTreeMap<String, String>, Utf8PathBuf) {
    let mut env = around.text_env();
    env.retain(|name, _| !around.scrub.contains(name));
    let file = harness.env_file.as_deref().and_then(|path| files::read_env_file(path).ok().flatten());
    env.extend(file.into_iter().flatten());
    env.extend(harness.env.clone());
    let home = env.get("HOME").map(Utf8PathBuf::from).filter(|home| home.is_absolute());
    let home = home.unwrap_or_else(|| around.home.clone());
    (env, home)
}

pub(super) fn text_of(env: &BTreeMap<OsString, OsString>) -> BTreeMap<String, String> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    env.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// The log file of a run.
#[must_use]
pub fn log_file(state: &Utf8Path, harness: &HarnessName, run: RunId) -> Utf8PathBuf {
    state.join("logs").join(harness.file_name()).join(format!("{run}.log"))
}

/// Variables that belong to the daemon's own service manager and never reach a child.
fn is_private(name: &OsStr) -> bool {
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
    let outer = |name: &OsStr| around.scrub.iter().any(|word| OsStr::new(word) == name);
    let inherited = around.env.iter().filter(|(name, _)| !is_private(name) && !outer(name));
    let mut env: BTreeMap<OsString, OsString> =
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    if harness.tty {
        env.insert("TERM".into(), "xterm-256color".into());
    }
    let own: BTreeMap<String, String> = env_file.iter().cloned().chain(harness.env.clone()).collect();
    let set = synthesis.environment(&text_of(&env), &own);
    env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
    env.insert("HARNESSD_HARNESS".into(), harness.name.as_str().into());
    env.insert("HARNESSD_RUN_ID".into(), run.to_string().into());
    if let Some(project) = &harness.project {
        env.insert("HARNESSD_PROJECT".into(), project.name.as_str().into());
    }
    env
}
