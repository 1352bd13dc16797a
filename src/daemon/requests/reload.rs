//! `reload`: reads the configuration again and answers when it is in force or refused.

use super::{Answer, Asked};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Answer {
    let ticket = daemon.ticket_for(asked);
    daemon.reload(Some(ticket));
    Ok(None)
}
