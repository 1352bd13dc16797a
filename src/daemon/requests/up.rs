//! `up`: registers a project, or accepts its file as it is now, and starts what is enabled in it (CFG-5).

use camino::Utf8Path;

use super::{Answer, Asked};
use crate::config::FILE_NAME;
use crate::daemon::state::Daemon;
use crate::wire::{ErrorBody, ErrorCode};

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, file: &str) -> Answer {
    let file = Utf8Path::new(file);
    if !file.is_absolute() || file.file_name() != Some(FILE_NAME) {
        let message = format!("`file` must be the absolute path of a `{FILE_NAME}`");
        return Err(ErrorBody::new(ErrorCode::BadRequest, message));
    }
    let ticket = daemon.ticket_for(asked);
    daemon.raise(ticket, file.to_owned());
    Ok(None)
}
