//! `use-profile`: starts the members of a profile; it is in use from then on.

use serde_json::Value;

use super::Asked;
use crate::daemon::state::Daemon;
use crate::supervisor::Event;

/// The answer comes later, through the ticket.
pub(super) fn answer(
    daemon: &mut Daemon,
    asked: Asked,
    profile: String,
    exclusive: bool,
    wait: bool,
) -> Option<Value> {
    let ticket = daemon.ticket_for(asked);
    daemon.feed(Event::UseProfile { ticket, profile, exclusive, wait });
    None
}
