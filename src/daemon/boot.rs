//! Starting a daemon, and the loop; also one run in the foreground by the same machinery.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use calloop::timer::{TimeoutAction, Timer};
use calloop::{EventLoop, PostAction, channel};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use tracing::{error, info, warn};

use super::clients::Clients;
use super::error::DaemonError;
use super::lost::close_lost;
use super::signals::tell_manager;
use super::source::{loop_error, readable};
use super::state::{Asker, ConfigStatus, Daemon};
use super::workers::{Answer, Workers};
use crate::base::{HarnessName, json_one};
use crate::config::Loaded;
use crate::config::{Configuration, DaemonSettings};
use crate::host::console::Console;
use crate::host::files::{self, Places};
use crate::host::lock::DirLock;
use crate::host::run_lock::RunLocks;
use crate::host::signals::Signals;
use crate::host::socket::Listener;
use crate::host::timer::WallTimer;
use crate::host::tree::Family;
use crate::host::{clock, entropy, limits, memory, notify, tree};
use crate::launch::Surroundings;
use crate::loader::{self, Selection};
use crate::skills::Bounds;
use crate::store::Store;
use crate::supervisor::{Event, Remembered, Supervisor};
use crate::wire::{ConfigState, ErrorBody, ErrorCode, Run};

/// The buffer through which all output and requests pass.
const BUFFER: usize = 64 * 1024;

/// How long the loop may wait for another process's transaction; then the records wait instead.
const STORE_PATIENCE: Duration = Duration::from_millis(50);
/// How long a reader of a foreground run's output may stall at the end.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long records that could not be stored are tried again when the daemon ends.
const LAST_TRIES: Duration = Duration::from_secs(5);
/// Effects that leave enough memory behind to be worth a wake-up that gives it back, and how
/// long nothing must happen before that.
const WORK: usize = 256;
const REST: Duration = Duration::from_millis(500);

/// Where a daemon finds its files.
#[derive(Debug, Clone)]
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
    let home = files::home_directory();
    let loaded = loader::load_global(&options.selection, &home);
    let settings = loaded.settings.clone();
    if let Some(wrong) = loaded.diagnostics.iter().find(|one| one.code == "harnessd::config::bad_setting") {
        return Err(DaemonError::Setting(wrong.message.clone()));
    }
    let state = options.state_path(&settings);
    let socket_path = options.socket_path(&settings);
    make_state_dir(&state)?;
    let _lock = DirLock::acquire(&state.join("lock"))
        .map_err(|cause| DaemonError::Locked { path: state.clone(), cause })?;
    let mut store = Store::open(&state)?;
    store.set_patience(STORE_PATIENCE)?;
    let locks = RunLocks::open(&state).map_err(DaemonError::system("run locks"))?;
    close_lost(&mut store, &locks)?;
    let known = store.remembered()?;
    let remembered =
        Remembered { intents: known.intents, last_firings: known.last_firings, last_runs: known.last_runs };
    let listener = Listener::bind(&socket_path)?;
    let mut daemon = assemble(&event_loop, options, home, state, &settings, store, locks)?;
    daemon.listen(listener)?;
    register(&mut daemon)?;
    daemon.boot(loaded, remembered);
    daemon.watch_files();
    daemon.start_watchdog();
    memory::trim();
    info!(socket = %socket_path, version = env!("CARGO_PKG_VERSION"), "ready");
    tell_manager(notify::ready("running"));
    turn_until_finished(&mut event_loop, &mut daemon)?;
    daemon.kill_unclaimed();
    daemon.write_backlog()?;
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
    if let Some(pid) = locks.holder(&what.name) {
        let message = format!("harness `{}` runs already, under process {pid}", what.name);
        return Err(ErrorBody::new(ErrorCode::AlreadyRunning, message).into());
    }
    let settings = what.configuration.daemon.clone();
    let mut daemon =
        assemble(&event_loop, options, files::home_directory(), state.to_owned(), &settings, store, locks)?;
    daemon.foreground = true;
    if !what.quiet {
        daemon.echo = Some(Console::stdout().map_err(DaemonError::system("standard output"))?);
    }
    register(&mut daemon)?;
    daemon.take_over(&what.configuration);
    let remembered = Remembered::default();
    daemon.feed(Event::Boot { configuration: Arc::new(what.configuration), remembered });
    let ticket = daemon.ticket(Asker::Foreground);
    daemon.feed(Event::Once { ticket, name: what.name });
    turn_until_finished(&mut event_loop, &mut daemon)?;
    if let Some(echo) = &daemon.echo {
        echo.finish(LAST_WORDS);
    }
    daemon.write_backlog()?;
    let reply = daemon.foreground_reply.take();
    let reply =
        reply.unwrap_or_else(|| Err(ErrorBody::new(ErrorCode::Internal, "the run gave no record")))?;
    let run: Result<Run, _> = serde_json::from_value(reply);
    run.map_err(|cause| DaemonError::Setting(format!("the run's record: {cause}")))
}

fn new_loop() -> Result<EventLoop<'static, Daemon>, DaemonError> {
    EventLoop::try_new().map_err(|cause| DaemonError::system("event loop")(std::io::Error::from(cause)))
}

fn make_state_dir(state: &Utf8Path) -> Result<(), DaemonError> {
    files::private_directory(state)
        .map_err(|cause| DaemonError::StateDirectory { path: state.to_owned(), cause })
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
    let inherited = limits::raise_descriptors().map_err(DaemonError::system("limit of open files"))?;
    tree::become_subreaper().map_err(DaemonError::system("subreaper"))?;
    let handle = event_loop.handle();
    let (workers, answers) = Workers::new();
    let answered = handle.insert_source(answers, |event, (), daemon: &mut Daemon| {
        if let channel::Event::Msg(answer) = event {
            daemon.answered(answer);
        }
    });
    answered.map_err(loop_error)?;
    let around = Arc::new(Surroundings {
        home,
        env: files::whole_environment(),
        scrub: Vec::new(),
        state,
        bounds: Bounds { files: settings.skill_max_files, bytes: settings.skill_max_bytes },
        limits: inherited,
    });
    Ok(Daemon {
        handle,
        supervisor: Supervisor::new(entropy::seed()),
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
        removed: Vec::new(),
        remembered: None,
        options: options.clone(),
        restart_needed: Vec::new(),
        reload_running: None,
        reload_next: None,
        watcher: None,
        listener: None,
        signals: Signals::install().map_err(DaemonError::system("signals"))?,
        wall_timer: WallTimer::new().map_err(DaemonError::system("timer"))?,
        wall_timer_set: None,
        started_at: clock::now().wall,
        foreground: false,
        echo: None,
        foreground_reply: None,
        stopping: false,
        unrest: 0,
    })
}

/// Registers signals and the timer of schedules.
fn register(daemon: &mut Daemon) -> Result<(), DaemonError> {
    let source = readable(&daemon.signals).map_err(DaemonError::system("signals"))?;
    let heard = daemon.handle.insert_source(source, |_, _, daemon: &mut Daemon| {
        for signal in daemon.signals.read()? {
            daemon.signalled(signal);
        }
        Ok(PostAction::Continue)
    });
    heard.map_err(loop_error)?;
    let source = readable(&daemon.wall_timer).map_err(DaemonError::system("timer"))?;
    let woken = daemon.handle.insert_source(source, |_, _, daemon: &mut Daemon| {
        daemon.wall_timer.read()?;
        daemon.wall_timer_set = None;
        Ok(PostAction::Continue)
    });
    woken.map_err(loop_error).map(drop)
}

fn turn_until_finished(
    event_loop: &mut EventLoop<'static, Daemon>,
    daemon: &mut Daemon,
) -> Result<(), DaemonError> {
    daemon.turn();
    while !daemon.finished() {
        let patience = daemon.patience();
        let resting = daemon.unrest >= WORK && patience.is_none_or(|patience| patience > REST);
        let begun = clock::now().mono;
        event_loop
            .dispatch(if resting { Some(REST) } else { patience }, daemon)
            .map_err(|cause| DaemonError::system("event loop")(std::io::Error::from(cause)))?;
        if resting && clock::now().mono.since(begun) >= REST {
            daemon.unrest = 0;
            memory::trim();
        }
        daemon.turn();
    }
    Ok(())
}

impl Daemon {
    /// Puts the first configuration in force, or says why there is none.
    fn boot(&mut self, loaded: Loaded, remembered: Remembered) {
        self.config.diagnostics =
            loaded.diagnostics.iter().map(|one| json_one(one, &loaded.sources)).collect();
        super::reload::log_diagnostics(&loaded);
        match loaded.configuration {
            Some(configuration) => {
                self.take_over(&configuration);
                self.feed(Event::Boot { configuration: Arc::new(configuration), remembered });
            }
            None => {
                self.config.state = ConfigState::Rejected;
                error!("the configuration has errors: nothing of it is in force; mend it and reload");
                self.remembered = Some(remembered);
            }
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Prepared { run, stale, prepared } => {
                self.commit(stale.into_iter().map(super::lost::closed).collect());
                self.start(run, prepared.map(|boxed| *boxed));
            }
            Answer::Withdrawn { harness, trouble: Some(cause) } => {
                warn!(%harness, cause, "the skills of a removed harness stay where they are");
            }
            Answer::Withdrawn { .. } => {}
            Answer::Loaded(loaded) => self.loaded(*loaded),
            Answer::Told { ticket, result } => self.reply(ticket, result as Result<Value, ErrorBody>),
        }
    }

    /// The last tries to store what could not be stored; what is lost for good is said, one by one.
    fn write_backlog(&mut self) -> Result<(), DaemonError> {
        let start = Instant::now();
        self.commit(Vec::new());
        while !self.backlog.is_empty() && start.elapsed() < LAST_TRIES {
            thread::sleep(Duration::from_millis(50));
            self.commit(Vec::new());
        }
        for record in &self.backlog {
            error!(?record, "this record is lost");
        }
        match self.backlog.len() {
            0 => Ok(()),
            records => Err(DaemonError::RecordsLost {
                records,
                cause: self.store_trouble.clone().unwrap_or_default(),
            }),
        }
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
