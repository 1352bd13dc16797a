//! `skills`: the merged set of a harness, surveyed by a worker.

use std::sync::Arc;

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, name: &str) -> Answer {
    let name = daemon.known(name)?;
    let ticket = daemon.ticket_for(asked);
    if let Some(harness) = daemon.supervisor.harness(&name) {
        daemon.workers.skills(ticket, Arc::clone(harness), Arc::clone(&daemon.around));
    }
    Ok(None)
}
