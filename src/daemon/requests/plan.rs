//! `plan`: what the next start of a harness would do, drafted by a worker.

use std::sync::Arc;

use super::{Answer, Asked};
use crate::daemon::state::Daemon;
use crate::wire::PlanView;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, name: &str) -> Answer {
    let name = daemon.known(name)?;
    let ticket = daemon.ticket_for(asked);
    if let Some(harness) = daemon.supervisor.harness(&name) {
        let firings = daemon.supervisor.upcoming(&name, Daemon::now().wall, PlanView::FIRINGS);
        daemon.workers.plan(ticket, Arc::clone(harness), firings, Arc::clone(&daemon.around));
    }
    Ok(None)
}
