//! From this daemon into a document, and `execve`.
//!
//! Invariants: no signal is taken after the last look at them; a refused `execve` leaves everything as it
//! was, the store open again.

use std::os::fd::AsRawFd;
use std::time::Duration;

use camino::Utf8Path;
use tracing::{error, info};

use super::document::{Document, HandedAsker, HandedLive, HandedStart, Head};
use crate::daemon::boot::open_store;
use crate::daemon::output::HandedOutput;
use crate::daemon::signals::tell_manager;
use crate::daemon::state::{Asker, Daemon, Main};
use crate::host::files::Stamp;
use crate::host::signals::{self, Signal};
use crate::host::{self, handover, notify};
use crate::store::Store;
use crate::supervisor::{Remnant, Ticket};

/// How long the reader of the daemon's log may take to read what was said until now.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Daemon {
    /// Everything as it is now. A start that a worker prepares does not cross: the document of a trial
    /// leaves it out, and the last one is written when there is none.
    pub(super) fn document(&self, asked: Vec<Ticket>, reload: bool) -> Result<Document, String> {
        let program = self.program.clone().ok_or("it is not known which file is executed")?;
        let lock = self.lock.as_ref().ok_or("the state directory is not locked")?.as_raw_fd();
        let (clients, last_client) = self.clients.handed();
        let askers = self.tickets.iter().filter_map(|(ticket, asker)| match asker {
            Asker::Client { client, request } => {
                Some(HandedAsker { ticket: Ticket(*ticket), client: *client, request: *request })
            }
            Asker::Foreground => None,
        });
        let live = self.live.iter().filter_map(|(run, live)| {
            let main = match live.main {
                Main::Preparing => return None,
                Main::Alive(pid) => Some(pid),
                Main::Reaped => None,
            };
            Some(HandedLive {
                run: *run,
                definition: Remnant::of(&live.harness),
                main,
                ending: live.ending,
                output: live.output.as_ref().map(HandedOutput::of),
                status: live.status,
                conditions: live.conditions.clone(),
                repository: live.repository.clone(),
            })
        });
        let starts = self.carried.iter().map(|start| HandedStart {
            run: start.run,
            definition: Remnant::of(&start.harness),
            trigger: start.trigger,
            session: start.session.clone(),
        });
        let mut projects = self.config.in_force.projects();
        projects.extend(self.config.lost.projects.clone());
        Ok(Document {
            head: Head::ours(),
            program,
            options: self.options.clone(),
            home: self.around.home.clone(),
            state: self.around.state.clone(),
            limits: self.around.limits,
            started_at: self.started_at,
            booted: true,
            projects,
            fleet: self.supervisor.snapshot(),
            family: self.family.clone(),
            lock,
            run_locks: self.locks.as_raw_fd(),
            listener: self.listener.as_ref().map(host::socket::Listener::handed),
            live: live.collect(),
            starts: starts.collect(),
            unsurveyed: self.unsurveyed.iter().copied().collect(),
            clients,
            last_client,
            askers: askers.collect(),
            last_ticket: self.next_ticket,
            last_event: self.next_event,
            removed: self.removed.iter().map(|harness| Remnant::of(harness)).collect(),
            logins: self.parking.harnesses.clone(),
            store_notices: self.store_notices.clone(),
            asked,
            reload,
        })
    }

    /// Executes the program that was tried. Comes back only if that failed, or is not to be after all.
    pub(super) fn hand_over(&mut self, version: &str) {
        let held = match signals::hold() {
            Ok(held) => held,
            Err(cause) => return self.refuse(&host::cause(&cause)),
        };
        // From here on a signal waits for the successor; what came before is ours to see.
        let came = match self.signals.read() {
            Ok(came) => came,
            Err(cause) => return self.refuse(&host::cause(&cause)),
        };
        if came.iter().any(|signal| matches!(signal, Signal::Terminate | Signal::Interrupt)) {
            drop(held);
            came.into_iter().for_each(|signal| self.signalled(signal));
            self.refuse("the daemon is being stopped");
            return self.settle();
        }
        let reload = came.contains(&Signal::HangUp);
        let failed = self.try_to_hand_over(version, reload);
        drop(held);
        if reload {
            self.reload(None);
        }
        // What was read away above may have told of a child.
        self.reap_due = true;
        self.refuse(&failed);
    }

    fn try_to_hand_over(&mut self, version: &str, reload: bool) -> String {
        let Some(under_way) = &self.handover else { return String::new() };
        let (tried, asked) = (under_way.tried, under_way.asked.clone());
        let document = match self.document(asked, reload) {
            Ok(document) => document,
            Err(cause) => return cause,
        };
        let bytes = match document.write() {
            Ok(bytes) => bytes,
            Err(cause) => return cause.to_string(),
        };
        if Stamp::of(&document.program) != Some(tried) {
            return "the file was replaced while it was tried".to_owned();
        }
        match Store::open_read(&document.state) {
            // The connection that writes is closed by this.
            Ok(Some(looking)) => self.store = looking,
            Ok(None) => return "the state store is gone".to_owned(),
            Err(cause) => return cause.to_string(),
        }
        tell_manager(notify::reloading());
        info!(program = %document.program, version, "handing over");
        if let Some(console) = &self.console {
            console.drain(LAST_WORDS);
        }
        let failed = match handover::execute(&document.program, &bytes, &document.descriptors()) {
            Ok(never) => match never {},
            Err(cause) => host::cause(&cause),
        };
        self.open_store_again(&document.state);
        tell_manager(notify::ready("running"));
        failed
    }

    /// Opens the store again after it was closed for a successor that did not come.
    fn open_store_again(&mut self, state: &Utf8Path) {
        match open_store(state) {
            Ok(store) => self.store = store,
            Err(cause) => {
                error!(%cause, "the state store cannot be opened again");
                self.store_trouble = Some(cause.to_string());
            }
        }
    }

    /// Tries to open a store again that could not be.
    pub(in crate::daemon) fn mend_store(&mut self) {
        if self.store.is_read_only()
            && let Ok(store) = open_store(&self.around.state)
        {
            self.store = store;
            if self.backlog.is_empty() {
                self.store_trouble = None;
            }
        }
    }
}
