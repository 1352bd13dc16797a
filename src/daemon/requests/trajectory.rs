//! `trajectory`: a page of the events of one; a worker reads the agent's files.

use serde_json::Value;

use super::Asked;
use crate::daemon::inquiries::Asks;
use crate::daemon::state::Daemon;

/// How many events are told unless said.
const USUAL: usize = 500;

pub(super) fn answer(
    daemon: &mut Daemon,
    asked: Asked,
    session: String,
    skip: Option<usize>,
    limit: Option<usize>,
) -> Option<Value> {
    let ticket = daemon.ticket_for(asked);
    let (skip, limit) = (skip.unwrap_or(0), limit.unwrap_or(USUAL));
    daemon.inquire(ticket, Asks::Trajectory { session, skip, limit });
    None
}
