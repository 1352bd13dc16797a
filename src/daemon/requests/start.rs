//! `start`: starts harnesses; those that run already are said so.

use super::{Answer, Asked};
use crate::daemon::state::Daemon;
use crate::supervisor::Event;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, names: &[String], all: bool, wait: bool) -> Answer {
    // `--all` means what is kept running. A one-shot costs something each time, so it is named.
    let names = daemon.chosen(names, all, |daemon, name| {
        daemon.supervisor.harness(name).is_some_and(|harness| !harness.oneshot())
    })?;
    let ticket = daemon.ticket_for(asked);
    daemon.feed(Event::Start { ticket, names, wait });
    Ok(None)
}
