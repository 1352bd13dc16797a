//! `describe`: one harness in full. Its skills are surveyed by a worker.

use std::sync::Arc;

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, name: &str) -> Answer {
    let name = daemon.known(name)?;
    let ticket = daemon.ticket_for(asked);
    if let (Some(harness), Some(view)) = (daemon.supervisor.harness(&name), daemon.supervisor.view(&name)) {
        daemon.workers.describe(ticket, Arc::clone(harness), view, Arc::clone(&daemon.around));
    }
    Ok(None)
}
