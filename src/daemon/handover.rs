//! Re-execution: a newer program takes everything over, in place (CTL-11).
//!
//! First the new program is tried on a copy of the state, as a child; only if it says that it can take
//! over is it executed. Until then, and if `execve` fails, this daemon goes on as if nothing had been
//! asked. Invariant: what crosses is at rest: no worker is busy, no record waits, nothing is half done.

mod arriving;
mod document;
mod probe;
mod sending;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::libc::SIGKILL;
use tracing::{info, warn};

use super::state::Daemon;
use crate::base::{ExitStatus, Mono};
use crate::host::handover::{self, Identity};
use crate::host::process::{Output, SpawnSpec, StdinSource, read_output, signal_group, spawn};
use crate::supervisor::Ticket;
use crate::wire::{ErrorBody, ErrorCode};

pub(super) use arriving::arrive;
pub use probe::{Ready, probe};

/// How long a program may take to say that it can take over.
const TRIAL: Duration = Duration::from_secs(10);
/// How long workers may take to finish what they are at.
const REST: Duration = Duration::from_secs(10);

/// A re-execution that is under way.
#[derive(Debug)]
pub(super) struct Handover {
    /// Who asked for it.
    asked: Vec<Ticket>,
    /// The file that was tried.
    identity: Identity,
    stage: Stage,
    deadline: Mono,
}

#[derive(Debug)]
enum Stage {
    /// The new program is being tried.
    Trying { pid: i32, output: OwnedFd },
    /// It has said that it can take over; starts are put off until it has.
    Resting { version: String },
}

impl Daemon {
    /// Executes the program anew; `ticket` is told what came of it.
    pub(super) fn reexecute(&mut self, ticket: Option<Ticket>) {
        if self.foreground {
            return warn!("a run in the foreground is not handed over");
        }
        if let Some(under_way) = &mut self.handover {
            return under_way.asked.extend(ticket);
        }
        self.handover_trouble = None;
        match self.try_program(ticket.into_iter().collect()) {
            Ok(handover) => self.handover = Some(handover),
            Err(cause) => self.say_refused(ticket.into_iter().collect(), &cause),
        }
    }

    fn try_program(&mut self, asked: Vec<Ticket>) -> Result<Handover, String> {
        if self.stopping {
            return Err("the daemon is being stopped".to_owned());
        }
        let program = self.program.clone().ok_or("it is not known which file is executed")?;
        let document = self.document(Vec::new(), false)?.write().map_err(|cause| cause.to_string())?;
        let tried = spawn(&SpawnSpec {
            program: program.clone(),
            argv: vec![program.as_str().into(), probe::VERB.into()],
            env: handover::environment(),
            cwd: "/".into(),
            stdin: StdinSource::Bytes(document),
            tty: None,
            limits: self.around.limits,
        });
        let tried = tried.map_err(|cause| cause.to_string())?;
        self.family.errand(tried.pid);
        let identity = handover::identity(&program).map_err(|cause| format!("`{program}`: {cause}"));
        info!(%program, pid = tried.pid, "the program is tried before it takes over");
        let stage = Stage::Trying { pid: tried.pid, output: tried.output };
        Ok(Handover { asked, identity: identity?, stage, deadline: Self::now().mono + TRIAL })
    }

    /// A program that was tried has ended.
    pub(super) fn probe_ended(&mut self, pid: i32, status: ExitStatus) {
        let Some(handover) = &mut self.handover else { return };
        let said = match &handover.stage {
            Stage::Trying { pid: tried, output } if *tried == pid => read_all(output, &mut self.buffer),
            _ => return,
        };
        match said.map_err(|cause| cause.to_string()).and_then(|said| probe::verdict(&said, status)) {
            Ok(version) => {
                handover.stage = Stage::Resting { version };
                handover.deadline = Self::now().mono + REST;
            }
            Err(cause) => self.refuse(&cause),
        }
    }

    /// Whether starts are put off because everything is about to be handed over.
    pub(super) const fn holds_starts(&self) -> bool {
        matches!(self.handover, Some(Handover { stage: Stage::Resting { .. }, .. }))
    }

    /// When a re-execution that is under way is given up.
    pub(super) fn handover_deadline(&self) -> Option<Mono> {
        self.handover.as_ref().map(|handover| handover.deadline)
    }

    /// Goes on with a re-execution at the end of a turn.
    pub(super) fn go_on_with_handover(&mut self) {
        let Some(handover) = &self.handover else { return };
        let late = Self::now().mono >= handover.deadline;
        if self.stopping {
            return self.refuse("the daemon is being stopped");
        }
        match &handover.stage {
            Stage::Trying { .. } if late => {
                self.refuse(&format!("it does not answer within {} seconds", TRIAL.as_secs()));
            }
            Stage::Trying { .. } => {}
            Stage::Resting { version } => {
                let version = version.clone();
                self.forget_gone();
                self.settle();
                match self.still_busy() {
                    None => self.hand_over(&version),
                    Some(Busy::Soon(cause)) if late => self.refuse(cause),
                    Some(Busy::Soon(_)) => {}
                    Some(Busy::Long(cause)) => self.refuse(&cause),
                }
            }
        }
    }

    /// What cannot be handed over as it is.
    fn still_busy(&self) -> Option<Busy> {
        if let Some(trouble) = &self.store_trouble {
            return Some(Busy::Long(format!("records wait in memory: {trouble}")));
        }
        let busy = !self.workers.at_rest() || !self.effects.is_empty();
        busy.then_some(Busy::Soon("what is being prepared takes too long"))
    }

    /// Goes on as if it had not been asked for, and says why.
    fn refuse(&mut self, cause: &str) {
        let Some(handover) = self.handover.take() else { return };
        if let Stage::Trying { pid, .. } = handover.stage
            // Not reaped yet, or its end would have been told. One that has ended already is as good.
            && let Err(cause) = signal_group(pid, SIGKILL)
        {
            warn!(pid, %cause, "the program that is tried cannot be killed");
        }
        self.say_refused(handover.asked, cause);
    }

    fn say_refused(&mut self, asked: Vec<Ticket>, cause: &str) {
        let program = self.program.as_ref().map_or_else(String::new, |program| format!(" `{program}`"));
        let message = format!("the program{program} does not take over: {cause}");
        warn!("{message}");
        let error = ErrorBody::new(ErrorCode::NotReexecuted, message.clone())
            .help("this daemon goes on as it was; mend the program and try again");
        self.handover_trouble = Some(message);
        for ticket in asked {
            self.reply(ticket, Err(error.clone()));
        }
    }
}

/// Why it is not handed over now.
enum Busy {
    /// It passes.
    Soon(&'static str),
    /// It may not.
    Long(String),
}

/// Everything that a program that has ended has left in its pipe.
fn read_all(output: &OwnedFd, buffer: &mut [u8]) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Output::Bytes(count) = read_output(output, buffer)? {
        all.extend_from_slice(&buffer[..count]);
    }
    Ok(all)
}
