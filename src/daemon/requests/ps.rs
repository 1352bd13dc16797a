//! `ps`: the harnesses of projects; a worker looks whether files have changed since they were accepted.

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, file: Option<&str>) -> Answer {
    let ticket = daemon.ticket_for(asked);
    let shown = daemon.shown_projects(file);
    daemon.workers.compare(ticket, shown, daemon.config.registered.clone());
    Ok(None)
}
