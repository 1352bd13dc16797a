//! Errands: short commands beside the runs, that tell somebody of a run or ask for a version.
//!
//! Like a run each is a process tree of its own, but it has no record, and no run waits for it.
//! Invariants: a few at once, the rest in order; each ends within its time with everything that it
//! started, and comes to exactly one [`End`].

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Duration;

use calloop::{PostAction, RegistrationToken};
use camino::Utf8Path;
use nix::libc::{SIGCONT, SIGTERM};
use tracing::warn;

use super::source::{not_taken, readable};
use super::state::Daemon;
use super::versions::Program;
use crate::base::{ExitStatus, HarnessName, Mono, RunId, RunIds};
use crate::host::files::Stamp;
use crate::host::process::{Output, SpawnSpec, read_output, signal_group, spawn};
use crate::host::tree::ERRAND;

/// So many errands of one kind go on at once.
const MOST: usize = 4;
/// So many wait for that; further ones are refused.
const LONGEST_QUEUE: usize = 2000;
/// So much of what an errand prints is kept: its beginning and its end.
const KEPT: usize = 4096;
/// Between TERM and KILL, and then between one KILL and the next.
const GRACE: Duration = Duration::from_secs(2);
const KILL_AGAIN: Duration = Duration::from_secs(1);
/// What the daemon gives the errands of the last runs when it ends.
const LAST: Duration = Duration::from_secs(5);

/// What an errand is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// To tell somebody that a run has ended.
    Notice { run: RunId, harness: HarnessName },
    /// To learn the version of a program.
    Version(Program),
    /// To learn whether a program can take everything over (CTL-11).
    Trial,
}

impl Purpose {
    const fn is_notice(&self) -> bool {
        matches!(self, Self::Notice { .. })
    }
}

/// What an errand came to.
#[derive(Debug)]
pub(super) struct End {
    /// Why it did not do what it should; none: it exited with 0.
    pub(super) trouble: Option<String>,
    /// The beginning of what it printed.
    pub(super) first: Vec<u8>,
    /// The end of what it printed.
    pub(super) last: Vec<u8>,
}

/// All errands.
#[derive(Debug)]
pub(super) struct Errands {
    ids: RunIds,
    /// Whose they are, for a later daemon that ends what this one leaves: see [`errand_owner`].
    pub(super) owner: String,
    waiting: VecDeque<(Purpose, SpawnSpec, Duration)>,
    running: HashMap<RunId, Errand>,
    ending: Ending,
}

/// How far the process's own end has come.
#[derive(Debug, Clone, Copy)]
enum Ending {
    NotYet,
    /// Notices may go on until then.
    Until(Mono),
    /// Everything was killed; what is alive then is left behind.
    GivenUp(Mono),
}

/// One that goes on.
#[derive(Debug)]
struct Errand {
    purpose: Purpose,
    pid: i32,
    status: Option<ExitStatus>,
    output: OwnedFd,
    token: Option<RegistrationToken>,
    first: Vec<u8>,
    last: Vec<u8>,
    step: Step,
    due: Mono,
    /// Why it was not allowed to go on.
    ended_for: Option<String>,
    timeout: Duration,
}

/// What was done about an errand that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    Stopped,
    Killed,
}

impl Errands {
    pub(super) fn new(seed: u64) -> Self {
        let (waiting, running) = (VecDeque::new(), HashMap::new());
        Self { ids: RunIds::new(seed), owner: String::new(), waiting, running, ending: Ending::NotYet }
    }

    /// Whether it is an errand's tree.
    pub(super) fn has(&self, id: RunId) -> bool {
        self.running.contains_key(&id)
    }

    /// Whether none goes on or waits.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// When the next step against one is due.
    pub(super) fn deadline(&self) -> Option<Mono> {
        let end = match self.ending {
            Ending::Until(at) | Ending::GivenUp(at) if !self.is_idle() => Some(at),
            _ => None,
        };
        self.running.values().map(|errand| errand.due).chain(end).min()
    }

    /// The main process of an errand was reaped. False: it is none's.
    pub(super) fn exited(&mut self, id: RunId, status: ExitStatus) -> bool {
        let Some(errand) = self.running.get_mut(&id) else { return false };
        errand.status = Some(status);
        true
    }

    /// Gives the rest up now, without grace.
    pub(super) fn hurry(&mut self, now: Mono) {
        self.ending = Ending::Until(now);
    }

    /// The next that may begin.
    fn next(&mut self) -> Option<(Purpose, SpawnSpec, Duration)> {
        let of_kind = |notice| self.running.values().filter(|one| one.purpose.is_notice() == notice).count();
        let room = [of_kind(false) < MOST, of_kind(true) < MOST];
        let at = self.waiting.iter().position(|(purpose, ..)| room[usize::from(purpose.is_notice())])?;
        self.waiting.remove(at)
    }
}

/// Whose errands those of the daemon of a state directory are. A daemon that has that directory for itself
/// knows that whoever else was called so lives no more. Those of a run in the foreground have its process too.
pub(super) fn errand_owner(state: &Utf8Path) -> Option<String> {
    Stamp::of(state).map(|stamp| stamp.identity())
}

impl Errand {
    fn keep(&mut self, bytes: &[u8]) {
        let room = KEPT - self.first.len();
        self.first.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.last.drain(..self.last.len().saturating_sub(KEPT));
    }

    fn trouble(&self) -> Option<String> {
        let status = || match self.status? {
            ExitStatus::Code(0) => None,
            ExitStatus::Code(code) => Some(format!("exit status {code}")),
            ExitStatus::Signal(number) => {
                Some(format!("killed by {}", crate::lifecycle::signal_name(number)))
            }
        };
        self.ended_for.clone().or_else(status)
    }
}

impl Daemon {
    /// Sends somebody on an errand, now or when there is room.
    pub(super) fn send_errand(&mut self, purpose: Purpose, spec: SpawnSpec, timeout: Duration) {
        if self.errands.waiting.len() >= LONGEST_QUEUE {
            let trouble = format!("{LONGEST_QUEUE} others wait already");
            return self
                .errand_over(purpose, End { trouble: Some(trouble), first: Vec::new(), last: Vec::new() });
        }
        self.errands.waiting.push_back((purpose, spec, timeout));
        self.start_errands();
    }

    fn start_errands(&mut self) {
        while let Some((purpose, mut spec, timeout)) = self.errands.next() {
            let id = self.errands.ids.next(Self::now().wall);
            spec.env.push((ERRAND.into(), format!("{id}@{}", self.errands.owner).into()));
            let spawned = match spawn(&spec) {
                Ok(spawned) => spawned,
                Err(cause) => {
                    let end = End { trouble: Some(cause.to_string()), first: Vec::new(), last: Vec::new() };
                    self.errand_over(purpose, end);
                    continue;
                }
            };
            self.family.started(id, spawned.pid, spawned.start_time);
            let token = readable(&spawned.output).and_then(|source| {
                let inserted =
                    self.handle.insert_source(source, move |_, _, daemon| Ok(daemon.read_errand(id)));
                inserted.map_err(not_taken)
            });
            if let Err(cause) = &token {
                warn!(%cause, "what a command prints cannot be watched; it is read when it ends");
            }
            let errand = Errand {
                purpose,
                pid: spawned.pid,
                status: None,
                output: spawned.output,
                token: token.ok(),
                first: Vec::new(),
                last: Vec::new(),
                step: Step::Nothing,
                due: Self::now().mono + timeout,
                ended_for: None,
                timeout,
            };
            self.errands.running.insert(id, errand);
        }
    }

    /// Reads a part of what an errand prints.
    fn read_errand(&mut self, id: RunId) -> PostAction {
        let Some(errand) = self.errands.running.get_mut(&id) else { return PostAction::Remove };
        match read_output(&errand.output, &mut self.buffer) {
            Ok(Output::Bytes(count)) => {
                errand.keep(&self.buffer[..count]);
                PostAction::Continue
            }
            Ok(Output::Nothing) => PostAction::Continue,
            Ok(Output::Ended) | Err(_) => {
                errand.token = None;
                PostAction::Remove
            }
        }
    }

    /// Something of an errand was reaped: what its main process has left behind ends with it.
    pub(super) fn close_errand(&mut self, id: RunId) {
        let Some(errand) = self.errands.running.get_mut(&id) else { return };
        if errand.status.is_none() {
            return;
        }
        if !self.family.is_gone(id) {
            (errand.step, errand.due) = (Step::Killed, Self::now().mono + KILL_AGAIN);
            self.kill_errand(id);
            return;
        }
        self.family.forget(id);
        let Some(mut errand) = self.errands.running.remove(&id) else { return };
        // What is still in the pipe; somebody outside may hold its other end and go on writing.
        for _ in 0..64 {
            let Ok(Output::Bytes(count)) = read_output(&errand.output, &mut self.buffer) else { break };
            errand.keep(&self.buffer[..count]);
        }
        if let Some(token) = errand.token.take() {
            self.handle.remove(token);
        }
        let end = End { trouble: errand.trouble(), first: errand.first, last: errand.last };
        self.errand_over(errand.purpose, end);
        self.start_errands();
    }

    fn errand_over(&mut self, purpose: Purpose, end: End) {
        match purpose {
            Purpose::Notice { run, harness } => self.notice_over(run, &harness, &end),
            Purpose::Version(program) => self.version_told(program, &end),
            Purpose::Trial => self.tried(&end),
        }
    }

    fn kill_errand(&mut self, id: RunId) {
        for refused in self.family.kill(id) {
            warn!(pid = refused.pid, cause = %refused.error, "a process of a command cannot be killed");
        }
        self.reap_due = true;
    }

    /// Takes the steps that are due against errands; one turn of the loop calls it.
    pub(super) fn press_errands(&mut self) {
        let now = Self::now().mono;
        let due = |(id, errand): (&RunId, &Errand)| (errand.due <= now).then_some(*id);
        let due: Vec<RunId> = self.errands.running.iter().filter_map(due).collect();
        for id in due {
            let Some(errand) = self.errands.running.get_mut(&id) else { continue };
            if errand.step == Step::Nothing {
                (errand.step, errand.due) = (Step::Stopped, now + GRACE);
                let timeout = crate::base::duration_text(errand.timeout);
                errand.ended_for.get_or_insert_with(|| format!("stopped after {timeout}"));
                let group = errand.status.is_none().then_some(errand.pid);
                for refused in self.family.stop(id, SIGTERM) {
                    warn!(pid = refused.pid, cause = %refused.error, "a command cannot be stopped");
                }
                // One that is suspended would sleep through it; what cannot be woken is killed next.
                let _woken = group.map(|pid| signal_group(pid, SIGCONT));
            } else {
                (errand.step, errand.due) = (Step::Killed, now + KILL_AGAIN);
                self.kill_errand(id);
            }
        }
    }

    /// The last run is over and the process is to end: only notices are waited for, and not for long.
    /// A foreground run waits for as long as the notice itself may take, unless it was interrupted.
    pub(super) fn wind_errands_up(&mut self) {
        let now = Self::now().mono;
        match self.errands.ending {
            Ending::NotYet if !self.foreground || self.stopping => {
                self.errands.ending = Ending::Until(now + LAST);
            }
            Ending::Until(at) if at <= now => self.errands.ending = Ending::GivenUp(now + LAST),
            Ending::GivenUp(at) if at <= now => {
                warn!(left = self.errands.running.len(), "commands that do not die are left behind");
                return self.errands.running.clear();
            }
            _ => {}
        }
        let given_up = matches!(self.errands.ending, Ending::GivenUp(_));
        let unwanted = |purpose: &Purpose| given_up || !purpose.is_notice();
        let before = self.errands.waiting.len();
        self.errands.waiting.retain(|(purpose, ..)| !unwanted(purpose));
        if given_up && before > 0 {
            warn!(runs = before, "nobody is told of the end of these runs any more");
        }
        let mut killed = Vec::new();
        for (id, errand) in &mut self.errands.running {
            if unwanted(&errand.purpose) && errand.step != Step::Killed {
                errand.ended_for.get_or_insert_with(|| "killed, since harnessd ends".to_owned());
                (errand.step, errand.due) = (Step::Killed, now + KILL_AGAIN);
                killed.push(*id);
            }
        }
        killed.into_iter().for_each(|id| self.kill_errand(id));
    }
}
