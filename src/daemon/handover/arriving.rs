//! Taking over from a predecessor.
//!
//! Invariants: every descriptor that was handed over is marked to be closed at an `exec` before anything
//! is started; no signal is let through before the handlers stand; one reap follows at once.

use std::sync::Arc;

use calloop::EventLoop;
use camino::Utf8Path;
use tracing::{error, info, warn};

use super::document::{Document, DocumentError, HandedLive};
use crate::base::version;
use crate::config::Configuration;
use crate::daemon::assembly::{assemble, new_loop, register};
use crate::daemon::boot::{open_store, remembered};
use crate::daemon::containment;
use crate::daemon::effects::Start;
use crate::daemon::errands::errand_owner;
use crate::daemon::error::DaemonError;
use crate::daemon::projects::Lost;
use crate::daemon::reload::read_first;
use crate::daemon::state::{Asker, Daemon, Live, Main};
use crate::host::console::Console;
use crate::host::handover::inherit;
use crate::host::lock::DirLock;
use crate::host::run_lock::RunLocks;
use crate::host::socket::Listener;
use crate::host::{clock, entropy, handover, signals};
use crate::loader::Reading;
use crate::store::Store;
use crate::supervisor::{Effect, Event, Remembered, Supervisor};
use crate::wire::{SuccessorView, json};

/// A daemon that goes on where its predecessor left off, if there was one.
pub(in crate::daemon) fn arrive(
    console: &Console,
) -> Result<Option<(EventLoop<'static, Daemon>, Daemon)>, DaemonError> {
    let handed = handover::document().map_err(DaemonError::system("hand-over"))?;
    let Some(bytes) = handed else { return Ok(None) };
    let document = Document::read(&bytes).map_err(refused)?;
    drop(bytes);
    if document.head.pid != std::process::id() {
        return Err(DaemonError::Handover("it was meant for another process".to_owned()));
    }
    take_over(document, console).map(Some)
}

fn refused(cause: DocumentError) -> DaemonError {
    DaemonError::Handover(cause.to_string())
}

fn take_over(
    document: Document,
    console: &Console,
) -> Result<(EventLoop<'static, Daemon>, Daemon), DaemonError> {
    let lost = DaemonError::system;
    let lock_file = document.state.join("lock");
    let lock = DirLock::resume(&lock_file, inherit(document.lock).map_err(lost("lock"))?)
        .map_err(|cause| DaemonError::Locked { path: document.state.clone(), cause })?;
    let locks = RunLocks::resume(inherit(document.run_locks).map_err(lost("run locks"))?);
    let listener = document.listener.as_ref().map(Listener::resume).transpose();
    let listener = listener.map_err(lost("control socket"))?;
    let event_loop = new_loop()?;
    let (store, trouble) = open_as_can_be(&document.state)?;
    let registered = store.projects()?;
    let (selection, now) = (&document.options.selection, clock::now().wall);
    // Whether they are to be watched at all is known only when they are read.
    let (reading, watched) = read_first(selection, registered.clone(), &document.home, now, true);
    let (home, state) = (document.home.clone(), document.state.clone());
    let mut daemon = assemble(&event_loop, &document.options, home, state, &reading.settings, store, locks)?;
    daemon.config.registered = registered;
    daemon.console = Some(console.clone());
    daemon.errands.owner = errand_owner(&document.state).unwrap_or_default();
    daemon.lock = Some(lock);
    daemon.program = Some(document.program.clone());
    if let Some(listener) = listener {
        daemon.listen(listener)?;
    }
    register(&mut daemon)?;
    daemon.store_trouble = trouble;
    daemon.resume(document, reading);
    daemon.contain(containment::establish());
    daemon.take_up_transcripts();
    daemon.watch_since(watched);
    // The handlers stand: what came meanwhile is told by them now.
    signals::let_through().map_err(lost("signals"))?;
    Ok((event_loop, daemon))
}

/// The store, and why it can only be read at present: then records wait, as on a disk that is full. What runs
/// would lose its supervisor else.
fn open_as_can_be(state: &Utf8Path) -> Result<(Store, Option<String>), DaemonError> {
    let cause = match open_store(state) {
        Ok(store) => return Ok((store, None)),
        Err(cause) => cause,
    };
    match Store::open_read(state) {
        Ok(Some(looking)) => {
            error!(%cause, "the state store cannot be written; records wait");
            Ok((looking, Some(cause.to_string())))
        }
        _ => Err(cause.into()),
    }
}

/// What the store knows, or nothing of it.
fn recalled(store: &Store) -> Remembered {
    remembered(store).unwrap_or_else(|cause| {
        error!(%cause, "what the store remembers cannot be read");
        Remembered::default()
    })
}

impl Daemon {
    /// Takes what the predecessor knew, and puts the configuration in force by difference to its.
    fn resume(&mut self, document: Document, reading: Reading) {
        self.started_at = document.started_at;
        self.next_event = document.last_event;
        self.next_ticket = document.last_ticket;
        self.store_notices = document.store_notices;
        self.unsurveyed = document.unsurveyed.into_iter().collect();
        self.family = document.family;
        Arc::make_mut(&mut self.around).limits = document.limits;
        self.reap_due = true;
        for asker in document.askers {
            let client = Asker::Client { client: asker.client, request: asker.request };
            self.tickets.insert(asker.ticket.0, client);
        }
        self.take_clients(document.clients, document.last_client);
        let readable = reading.global_accepted;
        let configuration = Arc::new(self.take_in(reading));
        if document.booted {
            self.supervisor = Supervisor::restore(document.fleet, &configuration, entropy::seed());
        }
        let parked = self.supervisor.parked();
        self.parking.harnesses = document.logins;
        self.parking.harnesses.retain(|name, _| parked.iter().any(|harness| harness.name == *name));
        self.effects.extend(parked.into_iter().map(|harness| Effect::Park { harness }));
        self.removed = document.removed.iter().map(|remnant| remnant.revive(&configuration)).collect();
        for live in document.live {
            self.take_live(live, &configuration);
        }
        for start in document.starts {
            let harness = start.definition.revive(&configuration);
            let (run, trigger, session) = (start.run, start.trigger, start.session);
            self.carried.push_back(Start { run, harness, trigger, session });
        }
        self.config.lost = Lost { global: true, projects: document.projects };
        let configuration = Arc::new(self.with_lost(Arc::unwrap_or_clone(configuration)));
        if !document.booted {
            let remembered = recalled(&self.store);
            self.take_over(&configuration);
            self.feed(Event::Boot { configuration, remembered });
        } else if readable {
            self.supervisor.recall(|| recalled(&self.store).last_runs);
            self.put_in_force_anew(configuration);
        } else {
            // It was valid a moment ago, or this program would not have been executed.
            error!("the configuration has errors: what runs goes on; mend it and reload");
        }
        let answer = SuccessorView { version: version().to_owned(), before: document.head.version.clone() };
        for ticket in document.asked {
            self.reply(ticket, json(&answer));
        }
        if document.reload {
            self.reload(None);
        }
        info!(before = document.head.version, version = version(), runs = self.live.len(), "taken over");
    }

    /// A difference to what the predecessor had in force is a reload; without one nothing is to be told.
    fn put_in_force_anew(&mut self, configuration: Arc<Configuration>) {
        if !self.supervisor.agrees_with(&configuration) {
            self.put_in_force(configuration);
        } else {
            self.take_over(&configuration);
        }
    }

    fn take_live(&mut self, handed: HandedLive, configuration: &Configuration) {
        let harness = handed.definition.revive(configuration);
        // It stands still, but on old kernels, where an `exec` of a process with threads loses it.
        if let Err(cause) = self.locks.acquire(&harness.name) {
            warn!(harness = %harness.name, %cause, "the lock of its run is lost");
        }
        let main = handed.main.map_or(Main::Reaped, Main::Alive);
        let (conditions, repository) = (handed.conditions, handed.repository);
        let (ending, status) = (handed.ending, handed.status);
        let live = Live { harness, main, ending, output: None, status, conditions, repository };
        self.live.insert(handed.run, live);
        match handed.output.map(|output| output.resume(handed.run)).transpose() {
            Ok(Some(output)) => self.watch_output(handed.run, output),
            Ok(None) => {}
            Err(cause) => warn!(run = %handed.run, %cause, "the output is lost"),
        }
    }
}
