//! Putting the daemon's state together, and the loop that turns it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use calloop::{EventLoop, PostAction};
use camino::{Utf8Path, Utf8PathBuf};
use tracing::warn;

use super::boot::Options;
use super::clients::Clients;
use super::errands::Errands;
use super::error::DaemonError;
use super::following::Following;
use super::parking::Parking;
use super::projects::Lost;
use super::source::{loop_error, readable};
use super::state::{ConfigStatus, Daemon};
use super::versions::Versions;
use super::workers::Workers;
use crate::adapter::Registry;
use crate::config::DaemonSettings;
use crate::host::run_lock::RunLocks;
use crate::host::signals::Signals;
use crate::host::timer::WallTimer;
use crate::host::tree::Family;
use crate::host::{clock, entropy, files, limits, memory, tree};
use crate::launch::Surroundings;
use crate::loader::InForce;
use crate::skills::Bounds;
use crate::store::Store;
use crate::supervisor::Supervisor;
use crate::wire::ConfigState;

/// The buffer through which all output and requests pass.
const BUFFER: usize = 64 * 1024;

/// Effects that leave enough memory behind to be worth a wake-up that gives it back, and how
/// long nothing must happen before that.
const WORK: usize = 256;
const REST: Duration = Duration::from_millis(500);

/// Turns that may fail one after the other, and how long the machine gets to recover after each: the
/// end of the loop is the end of every run.
const MOST_FAILURES: u32 = 100;
const AFTER_FAILURE: Duration = Duration::from_millis(50);

pub(super) fn new_loop() -> Result<EventLoop<'static, Daemon>, DaemonError> {
    EventLoop::try_new().map_err(|cause| DaemonError::system("event loop")(std::io::Error::from(cause)))
}

pub(super) fn make_state_dir(state: &Utf8Path) -> Result<(), DaemonError> {
    files::private_directory(state)
        .map_err(|cause| DaemonError::StateDirectory { path: state.to_owned(), cause })
}

pub(super) fn assemble(
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
    let (workers, answers) = Workers::new().map_err(DaemonError::system("event loop"))?;
    let answered = handle.insert_source(answers.source, move |(), (), daemon: &mut Daemon| {
        while let Ok(answer) = answers.answers.try_recv() {
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
        store_notices: Vec::new(),
        live: HashMap::new(),
        family: Family::default(),
        groups: Err("not looked for".to_owned()),
        errands: Errands::new(entropy::seed()),
        following: Following::default(),
        waiting: Vec::new(),
        versions: Versions::default(),
        surveys: Vec::new(),
        parking: Parking::default(),
        heads: BTreeMap::new(),
        reap_due: false,
        unwatched: BTreeSet::new(),
        unsurveyed: BTreeSet::new(),
        reserve: Vec::new(),
        carried: VecDeque::new(),
        buffer: vec![0; BUFFER].into_boxed_slice(),
        locks,
        lock: None,
        program: None,
        handover: None,
        handover_trouble: None,
        console: None,
        clients: Clients::default(),
        tickets: BTreeMap::new(),
        next_ticket: 0,
        next_event: 0,
        workers,
        around,
        config: ConfigStatus {
            selection: options.selection.clone(),
            files: Vec::new(),
            registry: Registry::builtin(),
            state: ConfigState::Ok,
            watch: settings.watch,
            diagnostics: Vec::new(),
            in_force: InForce::default(),
            registered: Vec::new(),
            projects: Vec::new(),
            lost: Lost::default(),
            watched: Vec::new(),
        },
        removed: Vec::new(),
        options: options.clone(),
        restart_needed: Vec::new(),
        reload_running: None,
        reload_next: VecDeque::new(),
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
pub(super) fn register(daemon: &mut Daemon) -> Result<(), DaemonError> {
    daemon.fill_reserve();
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

pub(super) fn turn_until_finished(
    event_loop: &mut EventLoop<'static, Daemon>,
    daemon: &mut Daemon,
) -> Result<(), DaemonError> {
    daemon.turn();
    let mut failures = 0;
    while !daemon.finished() {
        let patience = daemon.patience();
        let resting = daemon.unrest >= WORK && patience.is_none_or(|patience| patience > REST);
        let begun = clock::now().mono;
        match event_loop.dispatch(if resting { Some(REST) } else { patience }, daemon) {
            Ok(()) => failures = 0,
            // What was not heard now is still there: every source tells until it is listened to.
            Err(cause) if failures < MOST_FAILURES => {
                failures += 1;
                warn!(%cause, "a turn of the loop has failed; it is turned again");
                thread::sleep(AFTER_FAILURE);
            }
            Err(cause) => return Err(DaemonError::system("event loop")(std::io::Error::from(cause))),
        }
        if resting && clock::now().mono.since(begun) >= REST {
            daemon.unrest = 0;
            memory::trim();
        }
        daemon.turn();
    }
    Ok(())
}
