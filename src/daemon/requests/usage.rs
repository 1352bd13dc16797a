//! `usage`: what runs used; a worker reads the account.

use super::{Answer, Asked, time};
use crate::daemon::inquiries::Asks;
use crate::daemon::state::Daemon;
use crate::wire::{By, ErrorBody, ErrorCode};

pub(super) fn answer(
    daemon: &mut Daemon,
    asked: Asked,
    name: Option<&str>,
    by: Option<&str>,
    since: Option<&str>,
) -> Answer {
    let harness = name.map(|name| daemon.known(name)).transpose()?;
    let by: Option<By> = by.map(str::parse).transpose().map_err(|_| {
        ErrorBody::new(ErrorCode::BadRequest, "`by` must be `run`, `day`, `model` or `project`")
    })?;
    let since = time("since", since)?;
    let ticket = daemon.ticket_for(asked);
    daemon.inquire(ticket, Asks::Usage { harness, by, since });
    Ok(None)
}
