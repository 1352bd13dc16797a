//! `doctor`: what may be wrong, as this daemon sees it.

use serde_json::Value;

use super::Asked;
use crate::daemon::state::Daemon;
use crate::daemon::surveys::Wants;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Option<Value> {
    let ticket = daemon.ticket_for(asked);
    daemon.survey(ticket, Wants::Doctor);
    None
}
