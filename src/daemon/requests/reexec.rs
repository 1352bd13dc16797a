//! `reexec`: executes the program anew; the successor answers, on the same connection (CTL-11).

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Answer {
    let ticket = daemon.ticket_for(asked);
    daemon.reexecute(Some(ticket));
    Ok(None)
}
