//! `stop`: stops harnesses; those that are stopped already are said so.

use super::{Answer, Asked};
use crate::daemon::state::Daemon;
use crate::supervisor::Event;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, names: &[String], all: bool, wait: bool) -> Answer {
    let names = daemon.chosen(names, all, |_, _| true)?;
    let ticket = daemon.ticket_for(asked);
    daemon.feed(Event::Stop { ticket, names, wait });
    Ok(None)
}
