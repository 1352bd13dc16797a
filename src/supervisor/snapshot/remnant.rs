//! What is left of a definition when the configuration that declared it is gone.
//!
//! A definition does not cross a re-execution; the successor reads its own (CTL-11). This much does, so
//! that a run of a harness that the files no longer declare can be shown, stopped and recorded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::base::HarnessName;
use crate::config::{Configuration, Harness, Mode, Origin, Watch, Work};
use crate::lifecycle::RestartPolicy;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remnant {
    name: HarnessName,
    adapter: String,
    oneshot: bool,
    restart: RestartPolicy,
    restart_delay: Duration,
    workdir: Option<Utf8PathBuf>,
    tty: bool,
    stop_signal: i32,
    stop_timeout: Duration,
    keep_runs: u32,
    log_max_bytes: u64,
    definition_hash: String,
    launch_hash: String,
    #[serde(default)]
    exclusive: bool,
    #[serde(default)]
    at_home: bool,
}

impl Remnant {
    /// What is kept of a definition.
    #[must_use]
    pub fn of(harness: &Harness) -> Self {
        Self {
            name: harness.name.clone(),
            adapter: harness.adapter.id().to_owned(),
            oneshot: harness.oneshot(),
            restart: harness.restart(),
            restart_delay: harness.restart_delay,
            workdir: harness.workdir.clone(),
            tty: harness.tty,
            stop_signal: harness.stop_signal,
            stop_timeout: harness.stop_timeout,
            keep_runs: harness.keep_runs,
            log_max_bytes: harness.log_max_bytes,
            definition_hash: harness.definition_hash.clone(),
            launch_hash: harness.launch_hash.clone(),
            exclusive: harness.exclusive,
            at_home: harness.at_home,
        }
    }

    /// Whose it is.
    #[must_use]
    pub const fn name(&self) -> &HarnessName {
        &self.name
    }

    /// Whether a definition is the one that this is left of.
    #[must_use]
    pub fn is_of(&self, harness: &Harness) -> bool {
        self.definition_hash == harness.definition_hash && self.launch_hash == harness.launch_hash
    }

    /// It is of no definition any more.
    pub(super) fn forget(&mut self) {
        self.definition_hash.clear();
    }

    /// The definition itself if the configuration still has it, else one that can be shown and stopped.
    #[must_use]
    pub fn revive(&self, configuration: &Configuration) -> Arc<Harness> {
        match configuration.harnesses.get(&self.name) {
            Some(harness) if self.is_of(harness) => Arc::clone(harness),
            _ => Arc::new(self.stand_in(configuration)),
        }
    }

    /// Its work cannot be started: a launch that was under way fails and is recorded.
    fn stand_in(&self, configuration: &Configuration) -> Harness {
        let registry = &configuration.registry;
        let restart = self.restart;
        Harness {
            name: self.name.clone(),
            origin: Origin { file: Utf8PathBuf::new(), line: 0 },
            project: None,
            adapter: registry.find(&self.adapter).unwrap_or_else(|| registry.generic()),
            work: Work::Command { program: Some(String::new()), args: Vec::new() },
            mode: if self.oneshot {
                Mode::OneShot { restart, schedule: None, timeout: None, watch: Watch::default() }
            } else {
                Mode::Resident { restart }
            },
            enabled: false,
            resume: false,
            harvest: false,
            budget: None,
            restart_delay: self.restart_delay,
            workdir: self.workdir.clone(),
            at_home: self.at_home,
            env_file: None,
            env: BTreeMap::new(),
            skill_paths: Vec::new(),
            use_default_skill_paths: false,
            exclusive: self.exclusive,
            memory_max: None,
            cpu_weight: None,
            tty: self.tty,
            stop_signal: self.stop_signal,
            stop_timeout: self.stop_timeout,
            keep_runs: self.keep_runs,
            log_max_bytes: self.log_max_bytes,
            description: None,
            definition_hash: self.definition_hash.clone(),
            launch_hash: self.launch_hash.clone(),
        }
    }
}
