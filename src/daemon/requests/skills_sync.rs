//! `skills-sync`: projects the skills of a harness now, or tells what that would do (SKL-13).

use std::sync::Arc;

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, name: &str, dry_run: bool) -> Answer {
    let name = daemon.known(name)?;
    let ticket = daemon.ticket_for(asked);
    if let Some(harness) = daemon.supervisor.harness(&name) {
        daemon.workers.sync_skills(ticket, Arc::clone(harness), dry_run, Arc::clone(&daemon.around));
    }
    Ok(None)
}
