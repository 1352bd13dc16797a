//! Re-execution: a newer program takes everything over, in place (CTL-11).
//!
//! First the new program is tried on a copy of the state, as an errand; only if it says that it can take
//! over is it executed. Until then, and if `execve` fails, this daemon goes on as if nothing had been
//! asked. Invariant: what crosses is at rest: no worker is busy, no errand goes on, no record waits.

mod arriving;
mod document;
mod probe;
mod sending;

use std::time::Duration;

use tracing::{info, warn};

use super::errands::{End, Purpose};
use super::state::Daemon;
use crate::base::Mono;
use crate::host::files::Stamp;
use crate::host::handover;
use crate::host::process::{ProgramError, SpawnSpec, StdinSource, find_program};
use crate::supervisor::Ticket;
use crate::wire::{ErrorBody, ErrorCode};

pub(super) use arriving::arrive;
pub use probe::{Ready, probe};

/// How long a program may take to say that it can take over.
const TRIAL: Duration = Duration::from_secs(10);
/// How long workers and errands may take to finish what they are at.
const REST: Duration = Duration::from_secs(60);

/// A re-execution that is under way.
#[derive(Debug)]
pub(super) struct Handover {
    /// Who asked for it.
    asked: Vec<Ticket>,
    /// The file that is tried.
    tried: Stamp,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The new program is being tried.
    Trying,
    /// It has said that it can take over, and what is going on is finished first, until then.
    Resting { version: String, until: Mono },
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
        let asked = ticket.into_iter().collect();
        match self.trial() {
            Ok((tried, spec)) => {
                info!(program = %spec.program, "the program is tried before it takes over");
                self.handover = Some(Handover { asked, tried, stage: Stage::Trying });
                self.send_errand(Purpose::Trial, spec, TRIAL);
            }
            Err(cause) => self.say_refused(asked, &cause),
        }
    }

    /// What tries the program, and which file that is.
    fn trial(&self) -> Result<(Stamp, SpawnSpec), String> {
        if self.stopping {
            return Err("the daemon is being stopped".to_owned());
        }
        let program = self.program.as_ref().ok_or("it is not known which file is executed")?;
        let words = |cause: ProgramError| cause.to_string();
        let program = find_program(program.as_str(), None, "/".into()).map_err(words)?;
        let tried = Stamp::of(&program).ok_or_else(|| format!("`{program}` does not exist"))?;
        let document = self.document(Vec::new(), false)?.write().map_err(|cause| cause.to_string())?;
        let spec = SpawnSpec {
            argv: vec![program.as_str().into(), probe::VERB.into()],
            program,
            env: handover::environment(),
            cwd: "/".into(),
            stdin: StdinSource::Bytes(document),
            tty: None,
            limits: self.around.limits,
        };
        Ok((tried, spec))
    }

    /// The program was tried.
    pub(super) fn tried(&mut self, end: &End) {
        let Some(handover) = &mut self.handover else { return };
        match probe::verdict(end) {
            Ok(version) => {
                handover.stage = Stage::Resting { version, until: Self::now().mono + REST };
            }
            Err(cause) => self.refuse(&cause),
        }
    }

    /// Whether starts are put off because everything is about to be handed over. They are not while
    /// errands go on, which may take longer than a schedule should have to wait.
    pub(super) fn holds_starts(&self) -> bool {
        self.handover_deadline().is_some() && self.errands.is_idle()
    }

    /// When a re-execution that is under way is given up.
    pub(super) fn handover_deadline(&self) -> Option<Mono> {
        match self.handover.as_ref()?.stage {
            Stage::Trying => None,
            Stage::Resting { until, .. } => Some(until),
        }
    }

    /// Goes on with a re-execution at the end of a turn.
    pub(super) fn go_on_with_handover(&mut self) {
        let Some(handover) = &self.handover else { return };
        if self.stopping {
            return self.refuse("the daemon is being stopped");
        }
        let Stage::Resting { version, until } = &handover.stage else { return };
        let (version, late) = (version.clone(), Self::now().mono >= *until);
        self.forget_gone();
        self.settle();
        if let Some(trouble) = &self.store_trouble {
            let cause = format!("records wait in memory: {trouble}");
            return self.refuse(&cause);
        }
        if self.is_at_rest() {
            self.hand_over(&version);
        } else if late {
            self.refuse(&format!("what is going on takes longer than {} seconds", REST.as_secs()));
        }
    }

    /// Whether nothing goes on that cannot be handed over as it is.
    fn is_at_rest(&self) -> bool {
        self.workers.at_rest() && self.errands.is_idle() && self.heads.is_empty() && self.effects.is_empty()
    }

    /// Goes on as if it had not been asked for, and says why.
    fn refuse(&mut self, cause: &str) {
        if let Some(handover) = self.handover.take() {
            self.say_refused(handover.asked, cause);
        }
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
