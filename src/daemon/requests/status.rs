//! `status`: the daemon, its configuration, and what needs a person.

use std::collections::BTreeMap;

use super::Answer;
use crate::base;
use crate::daemon::projects::project_view;
use crate::daemon::state::Daemon;
use crate::wire::{Attention, ConfigView, StatusView, json};

pub(super) fn answer(daemon: &Daemon) -> Answer {
    let mut states = BTreeMap::new();
    for view in daemon.supervisor.views() {
        *states.entry(view.state).or_insert(0) += 1;
    }
    json(&StatusView {
        version: base::version().to_owned(),
        pid: std::process::id(),
        started_at: daemon.started_at,
        config: ConfigView {
            files: daemon.config.files.iter().map(ToString::to_string).collect(),
            state: daemon.config.state,
            diagnostics: daemon.config.diagnostics.clone(),
        },
        profile: daemon.supervisor.profile().map(str::to_owned),
        projects: daemon.config.projects.iter().map(project_view).collect(),
        harnesses: states,
        attention: attention(daemon),
        problems: daemon.supervisor.problems(Daemon::now().wall),
        trouble: daemon.trouble(),
    })
    .map(Some)
}

impl Daemon {
    /// What is wrong with the daemon itself.
    pub(in crate::daemon) fn trouble(&self) -> Vec<String> {
        let store = self.store_trouble.iter().map(|cause| format!("records wait in memory: {cause}"));
        let restart = self
            .restart_needed
            .iter()
            .map(|key| format!("`[daemon] {key}` has changed: restart the daemon to apply it"));
        let store = self.store_notices.iter().cloned().chain(store);
        let profiles = self.supervisor.profile_trouble();
        store.chain(restart).chain(self.handover_trouble.clone()).chain(profiles).collect()
    }
}

fn attention(daemon: &Daemon) -> Vec<Attention> {
    let mut list = daemon.supervisor.attention();
    for live in daemon.live.values() {
        let dropped = live.output.as_ref().map_or(0, crate::daemon::output::Output::dropped);
        if dropped > 0 {
            let reason = format!("{dropped} bytes of output were not written to its log");
            list.push(Attention { harness: live.harness.name.clone(), reason });
        }
    }
    list.sort_by(|a, b| a.harness.cmp(&b.harness));
    list
}
