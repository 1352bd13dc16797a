//! Starting a daemon: its places, what an earlier one left, its first configuration.

use std::sync::Arc;
use std::time::Duration;

use calloop::EventLoop;
use calloop::timer::{TimeoutAction, Timer};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tracing::{error, info, warn};

use super::assembly::{assemble, make_state_dir, new_loop, register, turn_until_finished};
use super::containment;
use super::errands::errand_owner;
use super::error::DaemonError;
use super::handover::arrive;
use super::lost::{close_lost, end_forgotten};
use super::reload::read_first;
use super::signals::tell_manager;
use super::state::Daemon;
use crate::base::version;
use crate::config::DaemonSettings;
use crate::host::console::Console;
use crate::host::files::{self, Places};
use crate::host::lock::DirLock;
use crate::host::logs;
use crate::host::run_lock::RunLocks;
use crate::host::socket::Listener;
use crate::host::{handover, memory, notify, tree};
use crate::loader::{self, Reading, Selection};
use crate::store::{Store, StoreError};
use crate::supervisor::{Event, Remembered};
use crate::wire::ConfigState;

/// How long the loop may wait for another process's transaction; then the records wait instead.
pub(super) const STORE_PATIENCE: Duration = Duration::from_millis(50);

/// Where a daemon finds its files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// Its configuration files.
    pub selection: Selection,
    /// The directory that relative settings of the environment are taken from.
    pub cwd: Utf8PathBuf,
    /// `--state-dir`.
    pub state_dir: Option<Utf8PathBuf>,
    /// `--socket`.
    pub socket: Option<Utf8PathBuf>,
}

impl Options {
    /// The state directory that was chosen: by the flag, a variable or `[daemon]`.
    fn chosen_state(&self, settings: &DaemonSettings) -> Option<Utf8PathBuf> {
        self.state_dir.as_ref().or(settings.state_dir.as_ref()).map(|state| self.cwd.join(state))
    }

    /// The state directory: the chosen one, else the usual place.
    #[must_use]
    pub fn state_path(&self, settings: &DaemonSettings) -> Utf8PathBuf {
        self.chosen_state(settings).unwrap_or_else(|| Places::of_this_process().state)
    }

    /// The control socket: flag, variable or `[daemon]`, then inside a state directory that was
    /// chosen, then the usual place. So two daemons with two state directories never meet.
    #[must_use]
    pub fn socket_path(&self, settings: &DaemonSettings) -> Utf8PathBuf {
        let named = self.socket.as_ref().or(settings.socket.as_ref()).map(|socket| self.cwd.join(socket));
        let inside = || self.chosen_state(settings).map(|state| state.join("harnessd.sock"));
        let usual = || {
            let places = Places::of_this_process();
            places.socket(&places.state)
        };
        named.or_else(inside).unwrap_or_else(usual)
    }
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// [`DaemonError`], when it cannot run at all.
pub fn run(options: &Options, console: &Console) -> Result<(), DaemonError> {
    let (event_loop, daemon) = match arrive(console)? {
        Some(resumed) => resumed,
        None => begin(options, console)?,
    };
    serve(event_loop, daemon)
}

/// A daemon that begins anew.
fn begin(options: &Options, console: &Console) -> Result<(EventLoop<'static, Daemon>, Daemon), DaemonError> {
    let event_loop = new_loop()?;
    let home = files::home_directory();
    let loaded = loader::load_global(&options.selection, &home);
    let settings = loaded.settings.clone();
    if let Some(wrong) = loaded.diagnostics.iter().find(|one| one.code == "harnessd::config::bad_setting") {
        return Err(DaemonError::Setting(wrong.message.clone()));
    }
    let state = options.state_path(&settings);
    let socket_path = options.socket_path(&settings);
    make_state_dir(&state)?;
    let lock = DirLock::acquire(&state.join("lock"))
        .map_err(|cause| DaemonError::Locked { path: state.clone(), cause })?;
    let (mut store, replaced) = Store::open_or_replace(&state)?;
    store.set_patience(STORE_PATIENCE)?;
    let mut locks = RunLocks::open(&state).map_err(DaemonError::system("run locks"))?;
    let groups = containment::establish();
    let notice = match replaced {
        Some(replaced) => Some(replaced.to_string()),
        None => forgetful(&store, &state)?,
    };
    if let Some(notice) = &notice {
        error!("{notice}");
        end_forgotten(&state, &store, &locks, &groups)?;
    }
    let lost = close_lost(&store, &mut locks, &groups)?;
    // A disk that is full, or another process's transaction, is no reason not to start.
    let waiting = store.commit(&lost).err().map(|cause| (cause, lost));
    let owner = errand_owner(&state);
    let errands = owner.as_deref().map_or(0, |owner| tree::end_lost_errands(owner, true));
    if errands > 0 {
        warn!(processes = errands, "commands of an earlier daemon, or of a `harnessd once`, are killed");
    }
    let remembered = remembered(&store)?;
    let registered = store.projects()?;
    let listener = Listener::bind(&socket_path)?;
    let mut daemon = assemble(&event_loop, options, home, state, &settings, store, locks)?;
    daemon.console = Some(console.clone());
    daemon.lock = Some(lock);
    daemon.program = own_program();
    daemon.contain(groups);
    daemon.errands.owner = owner.unwrap_or_default();
    daemon.store_notices.extend(notice);
    if let Some((cause, lost)) = waiting {
        daemon.backlog = lost;
        daemon.keep_waiting(&cause);
    }
    daemon.config.registered = registered.clone();
    daemon.listen(listener)?;
    register(&mut daemon)?;
    let (selection, home) = (&options.selection, &daemon.around.home);
    let (reading, watched) = read_first(selection, registered, home, daemon.started_at, settings.watch);
    daemon.boot(reading, remembered);
    daemon.tidy();
    daemon.take_up_transcripts();
    daemon.watch_since(watched);
    info!(socket = %socket_path, version = version(), "ready");
    Ok((event_loop, daemon))
}

/// Opens the store for a loop that must not wait for long.
pub(super) fn open_store(state: &Utf8Path) -> Result<Store, StoreError> {
    let mut store = Store::open(state)?;
    store.set_patience(STORE_PATIENCE)?;
    Ok(store)
}

/// What the store knows, as the core takes it.
pub(super) fn remembered(store: &Store) -> Result<Remembered, StoreError> {
    let known = store.remembered()?;
    Ok(Remembered {
        intents: known.intents,
        last_firings: known.last_firings,
        last_runs: known.last_runs,
        profile: known.profile,
    })
}

/// The file that a re-execution executes; without one it is refused when it is asked for.
fn own_program() -> Option<Utf8PathBuf> {
    handover::own_program().map_err(|cause| warn!(%cause, "the program's own file cannot be told")).ok()
}

/// Turns the loop until the daemon is told to stop.
fn serve(mut event_loop: EventLoop<'static, Daemon>, mut daemon: Daemon) -> Result<(), DaemonError> {
    daemon.start_watchdog();
    memory::trim();
    tell_manager(notify::ready("running"));
    let turned = turn_until_finished(&mut event_loop, &mut daemon);
    if let Err(cause) = &turned {
        error!(%cause, "the loop has failed: everything is ended");
        daemon.end_everything();
    }
    daemon.kill_unclaimed();
    daemon.write_backlog()?;
    turned?;
    info!("stopped");
    Ok(())
}

/// What is to be said of a store that was made anew although something ran here before.
fn forgetful(store: &Store, state: &Utf8Path) -> Result<Option<String>, DaemonError> {
    if !store.is_new() {
        return Ok(None);
    }
    let logs = logs::all(&logs::directory(state)).map_err(DaemonError::system("directory of logs"))?;
    let notice = "there are logs of earlier runs and no state store: a new one was made, which knows neither \
                  these runs nor what was started, stopped or fired";
    Ok((!logs.is_empty()).then(|| notice.to_owned()))
}

impl Daemon {
    /// Puts the first configuration in force: what is refused of it contributes nothing.
    fn boot(&mut self, reading: Reading, remembered: Remembered) {
        if !reading.global_accepted {
            error!("the configuration has errors: nothing of it is in force; mend it and reload");
        }
        for project in reading.projects.iter().filter(|project| !project.accepted) {
            error!(file = %project.file, "the project has errors: nothing of it is in force; mend it and reload");
        }
        let configuration = self.take_in(reading);
        if configuration.files.is_empty() && self.config.state == ConfigState::Ok {
            self.say_unconfigured();
        }
        self.take_over(&configuration);
        self.feed(Event::Boot { configuration: Arc::new(configuration), remembered });
        self.say_profile_trouble();
    }

    /// Tells systemd that the loop turns, when it asked to be told.
    fn start_watchdog(&mut self) {
        let Some(every) = notify::watchdog() else { return };
        let timer = Timer::from_duration(every);
        let inserted = self.handle.insert_source(timer, move |_, _, _: &mut Self| {
            tell_manager(notify::alive());
            TimeoutAction::ToDuration(every)
        });
        if let Err(cause) = inserted {
            warn!(%cause, "the watchdog cannot be served");
        }
    }
}
