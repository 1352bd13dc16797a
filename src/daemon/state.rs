//! What the daemon's thread owns.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use calloop::LoopHandle;
use camino::Utf8PathBuf;
use serde_json::Value;

use super::boot::Options;
use super::clients::Clients;
use super::containment::Groups;
use super::effects::Start;
use super::errands::Errands;
use super::following::Following;
use super::handover::Handover;
use super::inquiries::Waiting;
use super::output::Output;
use super::parking::Parking;
use super::projects::{Lost, Readers};
use super::surveys::Survey;
use super::versions::Versions;
use super::workers::Workers;
use crate::adapter::Registry;
use crate::base::{ExitStatus, Mono, Now, RunId, Wall};
use crate::config::Harness;
use crate::host::clock;
use crate::host::console::Console;
use crate::host::lock::DirLock;
use crate::host::run_lock::RunLocks;
use crate::host::signals::Signals;
use crate::host::socket::Listener;
use crate::host::timer::WallTimer;
use crate::host::tree::Family;
use crate::host::watch::Watcher;
use crate::launch::{Conditions, Surroundings};
use crate::loader::{InForce, Selection, UnitState};
use crate::store::Store;
use crate::supervisor::{Effect, Event, Supervisor, Ticket};
use crate::wire::{ConfigState, ErrorBody, Record, RegisteredProject};

/// How soon children that could not be listed are asked for again.
const REAP_RETRY: Duration = Duration::from_millis(100);
/// How often output that the loop cannot watch is looked at.
const OUTPUT_RETRY: Duration = Duration::from_millis(200);
/// How often a state store that could not be written is tried again.
const STORE_RETRY: Duration = Duration::from_secs(2);

/// A run that the shell still has to do with.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) harness: Arc<Harness>,
    pub(super) main: Main,
    /// The signal that processes of the run get as they are found: set once it is being ended.
    pub(super) ending: Option<i32>,
    pub(super) output: Option<Output>,
    /// How the main process ended, once it is reaped.
    pub(super) status: Option<ExitStatus>,
    /// For its check, until that is started.
    pub(super) conditions: Option<Conditions>,
    /// The directory of the repository that it works in.
    pub(super) repository: Option<Utf8PathBuf>,
}

impl Live {
    /// A run of which nothing is alive yet.
    pub(super) const fn preparing(harness: Arc<Harness>) -> Self {
        let main = Main::Preparing;
        Self { harness, main, ending: None, output: None, status: None, conditions: None, repository: None }
    }
}

/// The main process of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Main {
    /// A worker prepares its start.
    Preparing,
    /// It was started and is not reaped.
    Alive(i32),
    /// It was reaped; what is left of its tree is being ended.
    Reaped,
}

/// The configuration as the daemon last saw it.
#[derive(Debug)]
pub(super) struct ConfigStatus {
    pub(super) selection: Selection,
    pub(super) files: Vec<Utf8PathBuf>,
    /// The adapters in force.
    pub(super) registry: Arc<Registry>,
    pub(super) state: ConfigState,
    pub(super) watch: bool,
    pub(super) diagnostics: Vec<Value>,
    /// The last good definition of each unit.
    pub(super) in_force: InForce,
    /// The projects that `up` has registered, oldest first.
    pub(super) registered: Vec<RegisteredProject>,
    /// All projects as they were last read.
    pub(super) projects: Vec<UnitState>,
    /// What a predecessor had in force and this daemon could not read yet.
    pub(super) lost: Lost,
    /// The files whose change is noticed.
    pub(super) watched: Vec<Utf8PathBuf>,
}

/// Where the reply to a ticket goes.
#[derive(Debug)]
pub(super) enum Asker {
    /// A request of a client.
    Client { client: u64, request: u64 },
    /// The foreground run of this process.
    Foreground,
}

/// All state of the daemon.
pub(super) struct Daemon {
    pub(super) handle: LoopHandle<'static, Self>,
    pub(super) supervisor: Supervisor,
    pub(super) effects: Vec<Effect>,
    pub(super) store: Store,
    /// Records that the store could not take yet, oldest first.
    pub(super) backlog: Vec<Record>,
    pub(super) store_trouble: Option<String>,
    /// What became of a store that was damaged or went away, for as long as this daemon runs.
    pub(super) store_notices: Vec<String>,
    pub(super) live: HashMap<RunId, Live>,
    /// Which process belongs to which run.
    pub(super) family: Family,
    /// The control groups of the runs.
    pub(super) groups: Groups,
    pub(super) errands: Errands,
    /// The transcripts of the runs.
    pub(super) following: Following,
    /// Questions about them that cannot be answered yet.
    pub(super) waiting: Vec<Waiting>,
    pub(super) versions: Versions,
    /// Questions about the agents that wait for versions.
    pub(super) surveys: Vec<Survey>,
    pub(super) parking: Parking,
    /// Runs that end as soon as it is known at which commit they left their repository, or then.
    pub(super) heads: BTreeMap<RunId, Mono>,
    pub(super) reap_due: bool,
    /// Runs whose output the loop could not take.
    pub(super) unwatched: BTreeSet<RunId>,
    /// Runs of which something was reaped while the children could not be listed.
    pub(super) unsurveyed: BTreeSet<RunId>,
    /// Descriptors for listing the children when no other is left.
    pub(super) reserve: Vec<File>,
    /// Starts that wait for the next turn, because this one had enough.
    pub(super) carried: VecDeque<Start>,
    /// One buffer for all reading.
    pub(super) buffer: Box<[u8]>,
    pub(super) locks: RunLocks,
    /// The lock of the state directory; a run in the foreground has none.
    pub(super) lock: Option<DirLock>,
    /// The file that a re-execution executes.
    pub(super) program: Option<Utf8PathBuf>,
    /// A re-execution that is under way.
    pub(super) handover: Option<Handover>,
    /// Why the last one was refused.
    pub(super) handover_trouble: Option<String>,
    /// Where the daemon's own log goes.
    pub(super) console: Option<Console>,
    pub(super) clients: Clients,
    pub(super) tickets: BTreeMap<u64, Asker>,
    pub(super) next_ticket: u64,
    pub(super) next_event: u64,
    pub(super) workers: Workers,
    pub(super) around: Arc<Surroundings>,
    pub(super) config: ConfigStatus,
    /// Who waits for the reading in progress.
    pub(super) reload_running: Option<Readers>,
    /// Who asked after it had begun: the files are read once more for them, and again for whoever could not
    /// be told of what the others asked for, in the order in which they came.
    pub(super) reload_next: VecDeque<Readers>,
    pub(super) watcher: Option<Watcher>,
    pub(super) signals: Signals,
    pub(super) listener: Option<Listener>,
    pub(super) options: Options,
    /// Settings that changed and wait for a restart of the daemon.
    pub(super) restart_needed: Vec<&'static str>,
    /// Harnesses that a reload removed; their shared skills are given up once they have stopped.
    pub(super) removed: Vec<Arc<Harness>>,
    pub(super) wall_timer: WallTimer,
    pub(super) wall_timer_set: Option<Wall>,
    pub(super) started_at: Wall,
    /// One run in the foreground: its reply ends the loop.
    pub(super) foreground: bool,
    /// Whether output is shown on standard output too.
    pub(super) echo: Option<Console>,
    pub(super) foreground_reply: Option<Result<Value, ErrorBody>>,
    pub(super) stopping: bool,
    /// How much was done since memory was last given back.
    pub(super) unrest: usize,
}

impl Daemon {
    /// Gives an event to the core and keeps what it decides for this turn.
    pub(super) fn feed(&mut self, event: Event) {
        let effects = self.supervisor.handle(event, Self::now());
        self.effects.extend(effects);
    }

    /// Both clocks.
    pub(super) fn now() -> Now {
        clock::now()
    }

    /// A new ticket for `asker`.
    pub(super) fn ticket(&mut self, asker: Asker) -> Ticket {
        self.next_ticket += 1;
        self.tickets.insert(self.next_ticket, asker);
        Ticket(self.next_ticket)
    }

    /// One turn after events were taken in: reap, tick, and perform until nothing is left to do.
    pub(super) fn turn(&mut self) {
        self.forget_gone();
        self.read_unwatched();
        if std::mem::take(&mut self.reap_due) {
            self.reap();
        }
        let now = Self::now();
        self.give_up_heads(Some(now.mono));
        self.press_errands();
        let due = self.supervisor.deadline().is_some_and(|at| at <= now.mono)
            || self.supervisor.wall_deadline().is_some_and(|at| at <= now.wall);
        if due {
            // A loop that stood still until now, or begins now, has not heard what was said meanwhile.
            self.hear_watched();
            self.feed(Event::Tick);
        }
        self.settle();
        if self.nothing_left() {
            self.wind_errands_up();
        }
        if self.store_trouble.is_some() {
            self.mend_store();
            self.commit(Vec::new());
        }
        self.withdraw_removed();
        self.follow();
        self.answer_waiting();
        self.go_on_with_handover();
        self.set_wall_timer();
    }

    fn withdraw_removed(&mut self) {
        let gone = |harness: &Arc<Harness>| self.supervisor.harness(&harness.name).is_none();
        let (due, waiting) = std::mem::take(&mut self.removed).into_iter().partition(gone);
        self.removed = waiting;
        let due: Vec<Arc<Harness>> = due;
        for harness in due {
            self.workers.withdraw(harness, Arc::clone(&self.around));
        }
    }

    /// How long the loop may sleep; none: until something happens.
    pub(super) fn patience(&self) -> Option<Duration> {
        let now = Self::now().mono;
        if !self.carried.is_empty() && !self.holds_starts() {
            return Some(Duration::ZERO);
        }
        let retry = self.store_trouble.is_some().then_some(STORE_RETRY);
        let unwatched = (!self.unwatched.is_empty()).then_some(OUTPUT_RETRY);
        let retry = retry.into_iter().chain(self.reap_due.then_some(REAP_RETRY)).chain(unwatched).min();
        let aside = self.errands.deadline().into_iter().chain(self.heads.values().copied());
        let aside = aside.chain(self.handover_deadline());
        // With its trouble the store is tried again; until then there is nothing to look for.
        let looks =
            self.following.deadline().filter(|_| self.store_trouble.is_none() && self.handover.is_none());
        let aside = aside.chain(looks).chain(self.inquiry_deadline());
        let deadlines = self.supervisor.deadline().into_iter().chain(aside);
        deadlines.map(|at| at.since(now)).chain(retry).min()
    }

    /// Whether nothing is left to do after a shutdown or a foreground run.
    pub(super) fn finished(&self) -> bool {
        // A daemon's successor reads what its last runs wrote; nobody comes after a foreground run.
        let read = !self.foreground || self.following.is_idle() || self.store_trouble.is_some();
        self.nothing_left() && self.errands.is_idle() && read
    }

    /// Whether after a shutdown or a foreground run at most errands are left.
    fn nothing_left(&self) -> bool {
        let over = self.stopping && self.supervisor.idle() || self.foreground_reply.is_some();
        over && self.effects.is_empty() && self.carried.is_empty() && self.live.is_empty()
    }
}

impl Asker {
    /// Whether it is that client.
    pub(super) const fn is_client(&self, id: u64) -> bool {
        matches!(self, Self::Client { client, .. } if *client == id)
    }
}
