//! Starting a daemon, and the loop; also one run in the foreground by the same machinery.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use calloop::generic::Generic;
use calloop::timer::{TimeoutAction, Timer};
use calloop::{EventLoop, Interest, Mode, PostAction, channel};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use tracing::{error, info, warn};

use super::clients::Clients;
use super::error::DaemonError;
use super::lost::close_lost;
use super::state::{Asker, ConfigStatus, Daemon};
use super::workers::{Answer, Workers};
use crate::base::{HarnessName, json_one};
use crate::config::{Configuration, DaemonSettings};
use crate::config::Loaded;
use crate::host::lock::{DirLock, RunLocks};
use crate::host::tree::Family;
use crate::host::timer::WallTimer;
use crate::host::{clock, files, limits, memory, signals, socket, tree};
use crate::launch::Surroundings;
use crate::loader::{self, Selection};
use crate::skills::Bounds;
use crate::store::Store;
use crate::supervisor::{Event, Remembered, Supervisor};
use crate::wire::{ConfigState, ErrorBody, Run};

/// The buffer through which all output and requests pass.
const BUFFER: usize = 64 * 1024;

/// Where a daemon finds its files.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its configuration files.
    pub selection: Selection,
    /// `--state-dir` or its variable.
    pub state_dir: Option<Utf8PathBuf>,
    /// `--socket` or its variable.
    pub socket: Option<Utf8PathBuf>,
}

impl Options {
    /// The state directory: flag or variable, then `[daemon]`, then the usual place.
    #[must_use]
    pub fn state_path(&self, settings: &DaemonSettings) -> Utf8PathBuf {
        self.state_dir.clone().or_else(|| settings.state_dir.clone()).unwrap_or_else(files::state_dir)
    }

    /// The control socket: flag or variable, then `[daemon]`, then inside a state directory that
    /// was chosen, then the usual place. So two daemons with two state directories never meet.
    #[must_use]
    pub fn socket_path(&self, settings: &DaemonSettings) -> Utf8PathBuf {
        let chosen = self.state_dir.as_ref().or(settings.state_dir.as_ref());
        let inside = || chosen.map(|state| state.join("harnessd.sock"));
        self.socket.clone().or_else(|| settings.socket.clone()).or_else(inside).unwrap_or_else(files::socket_path)
    }
}

/// One run in the foreground.
#[derive(Debug)]
pub struct Foreground {
    /// A configuration that holds just the harness.
    pub configuration: Configuration,
    /// The harness.
    pub name: HarnessName,
    /// Whether its output goes to the log alone.
    pub quiet: bool,
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// [`DaemonError`], when it cannot run at all.
pub fn run(options: &Options) -> Result<(), DaemonError> {
    let mut event_loop = new_loop()?;
    let home = files::home_dir();
    let loaded = loader::load_global(&options.selection, &home);
    let settings = loaded.configuration.as_ref().map(|found| found.daemon.clone()).unwrap_or_default();
    let state = options.state_path(&settings);
    let socket_path = options.socket_path(&settings);
    make_state_dir(&state)?;
    let _lock = DirLock::acquire(&state).map_err(|cause| DaemonError::Locked { path: state.clone(), cause })?;
    let mut store = Store::open(&state)?;
    let mut locks = RunLocks::open(&state).map_err(DaemonError::system("run locks"))?;
    close_lost(&mut store, &mut locks)?;
    let remembered = store.remembered()?;
    let listener = socket::listen(&socket_path)?;
    let mut daemon = assemble(&event_loop, options, home, state, &settings, store, locks)?;
    daemon.listen(listener.take()).map_err(|cause| DaemonError::system("control socket")(std::io::Error::from(cause)))?;
    register(&mut daemon)?;
    daemon.boot(loaded, remembered);
    daemon.watch_files();
    daemon.start_watchdog();
    memory::trim();
    info!(socket = %socket_path, version = env!("CARGO_PKG_VERSION"), "ready");
    daemon.notifier.ready();
    turn_until_finished(&mut event_loop, &mut daemon)?;
    daemon.kill_unclaimed();
    info!("stopped");
    Ok(())
}

/// Does one run of one harness and tells its record (RUN-4).
///
/// # Errors
/// [`DaemonError`], when it could not be tried; how it ended is in the record.
pub fn foreground(options: &Options, state: &Utf8Path, what: Foreground) -> Result<Run, DaemonError> {
    let mut event_loop = new_loop()?;
    make_state_dir(state)?;
    let store = Store::open(state)?;
    let locks = RunLocks::open(state).map_err(DaemonError::system("run locks"))?;
    let settings = what.configuration.daemon.clone();
    let mut daemon =
        assemble(&event_loop, options, files::home_dir(), state.to_owned(), &settings, store, locks)?;
    daemon.foreground = true;
    daemon.echo = !what.quiet;
    register(&mut daemon)?;
    let remembered = Remembered::default();
    daemon.feed(Event::Boot { configuration: Arc::new(what.configuration), remembered });
    let ticket = daemon.ticket(Asker::Foreground);
    daemon.feed(Event::Once { ticket, name: what.name });
    turn_until_finished(&mut event_loop, &mut daemon)?;
    let reply = daemon.foreground_reply.take();
    let reply = reply.unwrap_or_else(|| Err(ErrorBody::new(crate::wire::ErrorCode::Internal, "the run gave no record")))?;
    let run: Result<Run, _> = serde_json::from_value(reply);
    run.map_err(|cause| DaemonError::Setting(format!("the run's record: {cause}")))
}

fn new_loop() -> Result<EventLoop<'static, Daemon>, DaemonError> {
    EventLoop::try_new().map_err(|cause| DaemonError::system("event loop")(std::io::Error::from(cause)))
}

fn make_state_dir(state: &Utf8Path) -> Result<(), DaemonError> {
    files::make_private_dir(state).map_err(|cause| DaemonError::StateDirectory { path: state.to_owned(), cause })
}

fn assemble(
    event_loop: &EventLoop<'static, Daemon>,
    options: &Options,
    home: Utf8PathBuf,
    state: Utf8PathBuf,
    settings: &DaemonSettings,
    store: Store,
    locks: RunLocks,
) -> Result<Daemon, DaemonError> {
    limits::raise().map_err(DaemonError::system("limit of open files"))?;
    tree::become_subreaper().map_err(DaemonError::system("subreaper"))?;
    let handle = event_loop.handle();
    let (workers, answers) = Workers::new();
    let answered = handle.insert_source(answers, |event, (), daemon: &mut Daemon| {
        if let channel::Event::Msg(answer) = event {
            daemon.answered(answer);
        }
    });
    answered.map_err(|cause| DaemonError::system("workers")(std::io::Error::from(calloop::Error::from(cause))))?;
    let around = Arc::new(Surroundings {
        home,
        env: files::whole_env(),
        state,
        bounds: Bounds { files: settings.skill_max_files, bytes: settings.skill_max_bytes },
    });
    Ok(Daemon {
        handle,
        supervisor: Supervisor::new(clock::entropy()),
        effects: Vec::new(),
        store,
        backlog: Vec::new(),
        store_trouble: None,
        live: HashMap::new(),
        family: Family::default(),
        reap_due: false,
        buffer: vec![0; BUFFER].into_boxed_slice(),
        locks,
        clients: Clients::default(),
        tickets: BTreeMap::new(),
        next_ticket: 0,
        next_event: 0,
        workers,
        around,
        config: ConfigStatus {
            selection: options.selection.clone(),
            files: Vec::new(),
            state: ConfigState::Ok,
            watch: settings.watch,
            diagnostics: Vec::new(),
        },
        reload_running: None,
        reload_next: None,
        watcher: None,
        wall_timer: WallTimer::new().map_err(DaemonError::system("timer"))?,
        wall_timer_set: None,
        started_at: clock::now().wall,
        foreground: false,
        echo: false,
        foreground_reply: None,
        stopping: false,
    })
}

/// Registers signals and the timer of schedules.
fn register(daemon: &mut Daemon) -> Result<(), DaemonError> {
    let loop_error = |cause: calloop::Error| DaemonError::system("event loop")(std::io::Error::from(cause));
    let signals = signals::install().map_err(DaemonError::system("signals"))?;
    let source = Generic::new(signals, Interest::READ, Mode::Level);
    let heard = daemon.handle.insert_source(source, |_, signals, daemon: &mut Daemon| {
        for signal in signals.read()? {
            daemon.signalled(signal);
        }
        Ok(PostAction::Continue)
    });
    heard.map_err(|cause| loop_error(cause.into()))?;
    let timer = daemon.wall_timer.shared().map_err(DaemonError::system("timer"))?;
    let source = Generic::new(timer, Interest::READ, Mode::Level);
    let woken = daemon.handle.insert_source(source, |_, timer, daemon: &mut Daemon| {
        timer.read()?;
        daemon.wall_timer_set = None;
        Ok(PostAction::Continue)
    });
    woken.map_err(|cause| loop_error(cause.into())).map(drop)
}

fn turn_until_finished(event_loop: &mut EventLoop<'static, Daemon>, daemon: &mut Daemon) -> Result<(), DaemonError> {
    daemon.turn();
    while !daemon.finished() {
        let patience = daemon.patience();
        event_loop
            .dispatch(patience, daemon)
            .map_err(|cause| DaemonError::system("event loop")(std::io::Error::from(cause)))?;
        daemon.turn();
    }
    Ok(())
}

impl Daemon {
    /// Puts the first configuration in force, or says why there is none.
    fn boot(&mut self, loaded: Loaded, remembered: Remembered) {
        self.config.diagnostics = loaded.diagnostics.iter().map(|one| json_one(one, &loaded.sources)).collect();
        super::reload::log_diagnostics(&loaded);
        let configuration = loaded.configuration.unwrap_or_else(|| {
            self.config.state = ConfigState::Rejected;
            error!("the configuration has errors: nothing of it is in force; mend it and reload");
            Configuration::empty()
        });
        self.config.files = configuration.files.clone();
        self.feed(Event::Boot { configuration: Arc::new(configuration), remembered });
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Prepared { run, prepared } => self.start(run, prepared.map(|boxed| *boxed)),
            Answer::Loaded(loaded) => self.loaded(*loaded),
            Answer::Told { ticket, result } => self.reply(ticket, result as Result<Value, ErrorBody>),
        }
    }

    /// Tells systemd that the loop turns, when it asked to be told.
    fn start_watchdog(&mut self) {
        let Some(every) = self.notifier.watchdog() else { return };
        let timer = Timer::from_duration(every);
        let inserted = self.handle.insert_source(timer, move |_, (), daemon: &mut Self| {
            daemon.notifier.alive();
            TimeoutAction::ToDuration(every)
        });
        if let Err(cause) = inserted {
            warn!(%cause, "the watchdog cannot be served");
        }
    }
}
