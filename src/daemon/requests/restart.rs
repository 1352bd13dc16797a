//! `restart`: stops and starts harnesses.

use super::{Answer, Asked};
use crate::base::State;
use crate::daemon::state::Daemon;
use crate::supervisor::Event;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, names: &[String], all: bool, wait: bool) -> Answer {
    let names = daemon.chosen(names, all, |daemon, name| {
        daemon.supervisor.view(name).is_some_and(|view| view.state != State::Stopped)
    })?;
    let ticket = daemon.ticket_for(asked);
    daemon.feed(Event::Restart { ticket, names, wait });
    Ok(None)
}
