//! `down`: stops all of a registered project and forgets it (CFG-5).

use super::{Answer, Asked};
use crate::daemon::state::Daemon;
use crate::wire::{ErrorBody, ErrorCode};

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, name: Option<&str>, file: Option<&str>) -> Answer {
    if name.is_some() == file.is_some() {
        return Err(ErrorBody::new(ErrorCode::BadRequest, "the request needs `name` or `file`, one of them"));
    }
    let key = daemon.registered(name, file)?;
    let ticket = daemon.ticket_for(asked);
    daemon.lower(ticket, key);
    Ok(None)
}
