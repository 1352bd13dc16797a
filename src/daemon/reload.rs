//! Reading the configuration again (CFG-10).

use std::io;
use std::sync::Arc;

use calloop::PostAction;
use camino::{Utf8Path, Utf8PathBuf};
use tracing::{error, info, warn};

use super::projects::Readers;
use super::signals::tell_manager;
use super::source::{not_taken, readable};
use super::state::Daemon;
use crate::base::{Diagnostic, HarnessName, Severity, Wall, json_one};
use crate::config::{Configuration, drop_in_dir, is_drop_in};
use crate::host::watch::Watcher;
use crate::host::{memory, notify};
use crate::loader::{Reading, Request, Selection, read_units};
use crate::skills::Bounds;
use crate::supervisor::{Event, Ticket};
use crate::wire::{ConfigState, ErrorBody, ErrorCode, EventKind, RegisteredProject, ReloadView, json};

impl Daemon {
    /// Asks a worker to read the files; `ticket` is told the result.
    pub(super) fn reload(&mut self, ticket: Option<Ticket>) {
        self.read_for(Readers { reloads: ticket.into_iter().collect(), ..Readers::default() });
    }

    /// Asks a worker to read the files, at once or when it has done so for others.
    pub(super) fn read_for(&mut self, readers: Readers) {
        tell_manager(notify::reloading());
        if self.reload_running.is_none() {
            return self.begin_reading(readers);
        }
        match self.reload_next.back_mut().filter(|next| next.may_join(&readers)) {
            Some(next) => next.join(readers),
            None => self.reload_next.push_back(readers),
        }
    }

    fn begin_reading(&mut self, mut readers: Readers) {
        for (_, leaving) in &mut readers.downs {
            self.leave(leaving);
        }
        let raise = readers.ups.iter().map(|(_, file)| file.clone()).collect();
        self.reload_running = Some(readers);
        self.workers.load(self.request(raise), Arc::clone(&self.around));
    }

    /// What a reading begins with.
    pub(super) fn request(&self, raise: Vec<Utf8PathBuf>) -> Request {
        Request {
            selection: self.config.selection.clone(),
            registered: self.config.registered.clone(),
            raise,
            in_force: self.config.in_force.clone(),
        }
    }

    /// Applies what was read; of what is refused the last good definition stays in force.
    pub(super) fn loaded(&mut self, read: Result<Reading, String>) {
        // It goes on until it is applied: a reading that this asks for comes after those that wait.
        let readers = self.reload_running.replace(Readers::default()).unwrap_or_default();
        match read {
            Ok(reading) => self.apply(reading, readers),
            Err(trouble) => {
                error!(trouble, "the configuration could not be read; what is in force stays so");
                let error = ErrorBody::new(ErrorCode::Internal, trouble);
                let ups = readers.ups.into_iter().map(|(ticket, _)| ticket);
                let downs = readers.downs.into_iter().map(|(ticket, _)| ticket);
                for ticket in readers.reloads.into_iter().chain(ups).chain(downs) {
                    self.reply(ticket, Err(error.clone()));
                }
            }
        }
        self.reload_running = None;
        memory::trim();
        tell_manager(notify::ready("running"));
        if let Some(next) = self.reload_next.pop_front() {
            self.begin_reading(next);
        }
    }

    fn apply(&mut self, reading: Reading, readers: Readers) {
        self.register(&reading.asked);
        let (errors, accepted) = (reading.errors(), reading.accepted());
        if !accepted {
            error!(errors, "configuration rejected; of what is rejected the last good one stays in force");
            self.announce(EventKind::ConfigRejected { errors });
        }
        let refusal = (!accepted).then(|| rejection(&reading));
        let (global_accepted, asked) = (reading.global_accepted, reading.asked.clone());
        let configuration = self.take_in(reading);
        let configuration = Arc::new(self.with_lost(configuration));
        if global_accepted || !self.supervisor.agrees_with(&configuration) {
            self.put_in_force(configuration);
        }
        let told = refusal.map_or_else(
            || json(&ReloadView { state: ConfigState::Ok, diagnostics: self.config.diagnostics.clone() }),
            Err,
        );
        for ticket in readers.reloads {
            self.reply(ticket, told.clone());
        }
        for (ticket, file) in readers.ups {
            match asked.iter().find(|one| one.file == file) {
                Some(one) => self.tell_raised(ticket, one),
                None => self.reply(ticket, Err(ErrorBody::new(ErrorCode::Internal, "it was not read"))),
            }
        }
        for (ticket, leaving) in readers.downs {
            self.tell_lowered(ticket, leaving);
        }
    }

    /// Keeps what was read for the next reading and for whoever asks; what is to be in force is left.
    pub(super) fn take_in(&mut self, reading: Reading) -> Configuration {
        self.config.state = if reading.accepted() { ConfigState::Ok } else { ConfigState::Rejected };
        let Reading { in_force, configuration, projects, diagnostics, sources, watched, .. } = reading;
        self.config.diagnostics = diagnostics.iter().map(|one| json_one(one, &sources)).collect();
        log_diagnostics(&diagnostics);
        self.config.in_force = in_force;
        self.config.projects = projects;
        self.follow_files(watched);
        configuration
    }

    /// Applies a configuration by difference to the one before it.
    pub(super) fn put_in_force(&mut self, configuration: Arc<Configuration>) {
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
        self.feed(Event::Configure(configuration));
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
        self.config.registry.clone_from(&configuration.registry);
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

    /// Goes on watching, if that is wanted.
    pub(super) fn watch_since(&mut self, Watched { watcher, files }: Watched) {
        if let Some(watcher) = watcher.filter(|_| self.config.watch) {
            self.watch_by(watcher);
            self.watch_besides(&files);
        }
    }

    /// Watches also what has come to be read, and only what still is.
    fn follow_files(&mut self, watched: Vec<Utf8PathBuf>) {
        if self.config.watched == watched {
            return;
        }
        let before = std::mem::replace(&mut self.config.watched, watched);
        self.watch_besides(&before);
    }

    /// Has what is to be watched watched, if that is more or less than these files.
    fn watch_besides(&mut self, before: &[Utf8PathBuf]) {
        let watched = self.config.watched.clone();
        let Some(watcher) = self.watcher.as_mut().filter(|_| watched != before) else { return };
        if let Err(cause) = watcher.watch(watched) {
            warn!(%cause, "some changed files are not noticed; use `harnessd reload`");
        }
        // What changed between its reading and its being watched is read now.
        self.reload(None);
    }

    /// Listens to what watches the configuration's files.
    fn watch_by(&mut self, watcher: Watcher) {
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

/// What has watched these files since before they were read.
pub(super) struct Watched {
    watcher: Option<Watcher>,
    files: Vec<Utf8PathBuf>,
}

/// The first reading of a daemon. The files are watched before that, so that no change is missed.
pub(super) fn read_first(
    selection: &Selection,
    registered: Vec<RegisteredProject>,
    home: &Utf8Path,
    now: Wall,
    watch: bool,
) -> (Reading, Watched) {
    let mut selection = selection.clone();
    selection.look_again();
    let files = selection.watched();
    let watcher = watch.then(|| watcher_of(&selection, files.clone())).flatten();
    let reading = read_units(Request::first(selection, registered), home, now);
    (reading, Watched { watcher, files })
}

/// What watches the configuration's files; without it they are read when that is asked for.
fn watcher_of(selection: &Selection, files: Vec<Utf8PathBuf>) -> Option<Watcher> {
    let watching = Watcher::new().and_then(|mut watcher| {
        watcher.watch(files)?;
        watcher.watch_whole(drop_in_dir(&selection.global.file), is_drop_in)?;
        Ok(watcher)
    });
    watching.map_err(|cause| warn!(%cause, "changed files are not noticed; use `harnessd reload`")).ok()
}

/// What is told to whoever asked for a reading of which something is refused.
fn rejection(reading: &Reading) -> ErrorBody {
    let errors = reading.errors();
    if !reading.global_accepted {
        let message = format!("the configuration has {errors} errors; the last good one stays in force");
        return ErrorBody::new(ErrorCode::ConfigInvalid, message)
            .help("run `harnessd validate` to see each with its place");
    }
    let refused = reading.projects.iter().filter(|project| !project.accepted);
    let names: Vec<String> = refused
        .map(|project| format!("`{}`", project.name.as_deref().unwrap_or(project.file.as_str())))
        .collect();
    let (projects, have) = if names.len() == 1 { ("project", "has") } else { ("projects", "have") };
    let message = format!(
        "{projects} {} {have} {errors} error{}; the last good definition stays in force",
        names.join(", "),
        if errors == 1 { "" } else { "s" }
    );
    ErrorBody::new(ErrorCode::ConfigInvalid, message).help("`harnessd status` shows each with its place")
}

/// Says each mistake in the daemon's log.
fn log_diagnostics(diagnostics: &[Diagnostic]) {
    for one in diagnostics {
        let (file, harness) = (&one.place.file, one.harness.as_deref().unwrap_or_default());
        match one.severity {
            Severity::Error => error!(code = one.code, %file, harness, "{}", one.message),
            Severity::Warning => warn!(code = one.code, %file, harness, "{}", one.message),
        }
    }
}
