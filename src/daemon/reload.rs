//! Reading the configuration again (CFG-10).

use std::io;
use std::sync::Arc;

use calloop::PostAction;
use tracing::{error, info, warn};

use super::requests::json;
use super::signals::tell_manager;
use super::source::{not_taken, readable};
use super::state::Daemon;
use crate::base::{HarnessName, Severity, json_one};
use crate::config::{Configuration, Loaded};
use crate::host::watch::Watcher;
use crate::host::{memory, notify};
use crate::loader::Selection;
use crate::skills::Bounds;
use crate::supervisor::{Event, Ticket};
use crate::wire::{ConfigState, ErrorBody, ErrorCode, EventKind, ReloadView};

impl Daemon {
    /// Asks a worker to read the files; `ticket` is told the result.
    pub(super) fn reload(&mut self, ticket: Option<Ticket>) {
        tell_manager(notify::reloading());
        match (&mut self.reload_running, &mut self.reload_next) {
            (None, _) => {
                self.reload_running = Some(ticket.into_iter().collect());
                self.workers.load(self.config.selection.clone(), Arc::clone(&self.around));
            }
            (Some(_), Some(next)) => next.extend(ticket),
            (Some(_), next @ None) => *next = Some(ticket.into_iter().collect()),
        }
    }

    /// Applies what was read, or keeps what is in force.
    pub(super) fn loaded(&mut self, loaded: Loaded) {
        let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
        self.note_diagnostics(&loaded);
        let result = match loaded.configuration {
            Some(configuration) => {
                self.put_in_force(Arc::new(configuration));
                json(&ReloadView { state: ConfigState::Ok, diagnostics: self.config.diagnostics.clone() })
            }
            None => {
                self.config.state = ConfigState::Rejected;
                error!(errors, "configuration rejected; the last good one stays in force");
                self.announce(EventKind::ConfigRejected { errors });
                let message =
                    format!("the configuration has {errors} errors; the last good one stays in force");
                Err(ErrorBody::new(ErrorCode::ConfigInvalid, message)
                    .help("run `harnessd validate` to see each with its place"))
            }
        };
        memory::trim();
        tell_manager(notify::ready("running"));
        for ticket in self.reload_running.take().into_iter().flatten() {
            self.reply(ticket, result.clone());
        }
        if let Some(next) = self.reload_next.take() {
            self.reload_running = Some(next);
            self.workers.load(self.config.selection.clone(), Arc::clone(&self.around));
        }
    }

    /// Keeps the mistakes in what was read for whoever asks, and says each.
    pub(super) fn note_diagnostics(&mut self, loaded: &Loaded) {
        self.config.diagnostics =
            loaded.diagnostics.iter().map(|one| json_one(one, &loaded.sources)).collect();
        log_diagnostics(loaded);
    }

    /// Applies a configuration by difference to the one before it.
    pub(super) fn put_in_force(&mut self, configuration: Arc<Configuration>) {
        self.config.state = ConfigState::Ok;
        if configuration.files.is_empty() && !self.config.files.is_empty() {
            self.say_unconfigured();
        }
        self.take_over(&configuration);
        info!(harnesses = configuration.harnesses.len(), "configuration in force");
        let stays = |name: &&HarnessName| configuration.harnesses.contains_key(*name);
        let removed = self.supervisor.names().filter(|name| !stays(name));
        let removed: Vec<_> = removed.filter_map(|name| self.supervisor.harness(name).cloned()).collect();
        // Those of an earlier reload that are still stopping are among the names again.
        self.removed = removed;
        match self.remembered.take() {
            Some(remembered) => self.feed(Event::Boot { configuration, remembered }),
            None => self.feed(Event::Configure(configuration)),
        }
        self.say_profile_trouble();
    }

    /// Says what is odd about profiles, which may be the doing of a project.
    pub(super) fn say_profile_trouble(&self) {
        for trouble in self.supervisor.profile_trouble() {
            warn!("{trouble}");
        }
    }

    /// Says that there is no configuration, which is no error.
    pub(super) fn say_unconfigured(&self) {
        let looked_for = self.config.selection.watched();
        warn!(?looked_for, "no configuration file was found: nothing is to be run until there is one");
    }

    /// Keeps what the shell itself needs of a configuration that comes into force.
    pub(super) fn take_over(&mut self, configuration: &Configuration) {
        self.config.files.clone_from(&configuration.files);
        self.following.reconsider(Self::now().mono);
        let around = Arc::make_mut(&mut self.around);
        around.scrub = configuration.registry.scrub().into_iter().map(str::to_owned).collect();
        let settings = &configuration.daemon;
        let inside =
            self.listener.as_ref().is_some_and(|ours| ours.path() != self.options.socket_path(settings));
        let elsewhere = around.state != self.options.state_path(settings);
        let watch = self.config.watch != settings.watch;
        let changed = [("socket", inside), ("state_dir", elsewhere && !self.foreground), ("watch", watch)];
        self.restart_needed =
            changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect();
        for key in &self.restart_needed {
            warn!("`[daemon] {key}` has changed: restart the daemon to apply it");
        }
        around.bounds = Bounds { files: settings.skill_max_files, bytes: settings.skill_max_bytes };
        if !self.foreground {
            // A run in the foreground has but one harness, and its store remembers that with the run.
            self.see(configuration.harnesses.keys().cloned().collect());
        }
    }

    /// Begins to watch the configuration's files, if that is wanted.
    pub(super) fn watch_files(&mut self) {
        if !self.config.watch {
            return;
        }
        if let Some(watcher) = watcher_of(&self.config.selection) {
            self.watch_by(watcher);
        }
    }

    /// Listens to what watches the configuration's files.
    pub(super) fn watch_by(&mut self, watcher: Watcher) {
        if let Err(cause) = self.try_watch_by(watcher) {
            warn!(%cause, "changed files are not noticed; use `harnessd reload`");
        }
    }

    fn try_watch_by(&mut self, watcher: Watcher) -> io::Result<()> {
        let source = readable(&watcher)?;
        self.watcher = Some(watcher);
        let inserted = self.handle.insert_source(source, |_, _, daemon: &mut Self| {
            match daemon.watcher.as_mut().map(Watcher::read).transpose() {
                Ok(changed) => {
                    if changed.is_some_and(|files| !files.is_empty()) {
                        daemon.reload(None);
                    }
                    Ok(PostAction::Continue)
                }
                Err(cause) => {
                    // What can be seen no more may have changed: it is read once again, and from now on asked for.
                    warn!(%cause, "changed files are not noticed any more; use `harnessd reload`");
                    daemon.watcher = None;
                    daemon.reload(None);
                    Ok(PostAction::Remove)
                }
            }
        });
        inserted.map(drop).map_err(not_taken)
    }
}

/// What watches the configuration's files; without it they are read when that is asked for.
pub(super) fn watcher_of(selection: &Selection) -> Option<Watcher> {
    let watching = Watcher::new().and_then(|mut watcher| {
        watcher.watch(selection.watched())?;
        Ok(watcher)
    });
    watching.map_err(|cause| warn!(%cause, "changed files are not noticed; use `harnessd reload`")).ok()
}

/// Says each mistake in the daemon's log.
fn log_diagnostics(loaded: &Loaded) {
    for one in &loaded.diagnostics {
        let (file, harness) = (&one.place.file, one.harness.as_deref().unwrap_or_default());
        match one.severity {
            Severity::Error => error!(code = one.code, %file, harness, "{}", one.message),
            Severity::Warning => warn!(code = one.code, %file, harness, "{}", one.message),
        }
    }
}
