//! `start`: starts harnesses; those that run already are said so. One may be told to go on with a session
//! of its own, or to work in a copy of one.

use super::{Answer, Asked};
use crate::base::HarnessName;
use crate::daemon::sessions::Sought;
use crate::daemon::state::Daemon;
use crate::supervisor::Event;
use crate::wire::{ErrorBody, ErrorCode, Which};

/// What a client asks for.
#[derive(Debug)]
pub(super) struct Start<'a> {
    pub(super) names: &'a [String],
    pub(super) all: bool,
    pub(super) wait: bool,
    pub(super) resume: Option<Which>,
    pub(super) fork: Option<Which>,
}

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, start: Start<'_>) -> Answer {
    let Start { names, all, wait, resume, fork } = start;
    // `--all` means what is kept running. A one-shot costs something each time, so it is named.
    let names = daemon.chosen(names, all, |daemon, name| {
        daemon.supervisor.harness(name).is_some_and(|harness| !harness.oneshot())
    })?;
    let (which, fork) = match (resume, fork) {
        (Some(_), Some(_)) => return Err(bad("`resume` and `fork` exclude each other")),
        (Some(which), None) => (which, false),
        (None, Some(which)) => (which, true),
        (None, None) => {
            let ticket = daemon.ticket_for(asked);
            daemon.feed(Event::Start { ticket, names, wait, session: None });
            return Ok(None);
        }
    };
    let one = <[HarnessName; 1]>::try_from(names).ok().filter(|_| !all);
    let [harness] = one.ok_or_else(|| bad("a session is one harness's own").help("name one harness"))?;
    able(daemon, &harness, fork)?;
    let ticket = daemon.ticket_for(asked);
    let sought = Sought { ticket, harness, wait, which, fork };
    daemon.workers.find(sought, daemon.around.state.clone(), daemon.around.home.clone());
    Ok(None)
}

/// Whether its agent can do that at all.
fn able(daemon: &Daemon, name: &HarnessName, fork: bool) -> Result<(), ErrorBody> {
    let Some(harness) = daemon.supervisor.harness(name) else { return Ok(()) };
    let (adapter, resident) = (&harness.adapter, !harness.oneshot());
    let can = if fork { adapter.forks(resident) } else { adapter.resumes(resident) };
    if can {
        return Ok(());
    }
    let verb = if fork { "fork a session" } else { "go on with a session" };
    let how = if resident { "in its terminal mode" } else { "as a one-shot" };
    Err(bad(format!("agent `{}` cannot {verb} {how}", adapter.id()))
        .help("`harnessd agents` shows what each agent supports"))
}

fn bad(message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(ErrorCode::BadRequest, message)
}
