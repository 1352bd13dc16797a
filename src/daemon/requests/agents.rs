//! `agents`: which agents are there. A worker looks for them, and their programs are asked for their versions.

use serde_json::Value;

use super::Asked;
use crate::daemon::state::Daemon;
use crate::daemon::surveys::Wants;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Option<Value> {
    let ticket = daemon.ticket_for(asked);
    daemon.survey(ticket, Wants::Agents);
    None
}
