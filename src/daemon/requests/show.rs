//! `show`: one run, with what a worker finds of its transcripts.

use super::{Answer, Asked};
use crate::daemon::inquiries::Asks;
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked, run: &str) -> Answer {
    let run = daemon.store.run(run).map_err(|cause| cause.body())?;
    let ticket = daemon.ticket_for(asked);
    daemon.inquire(ticket, Asks::Run(Box::new(run)));
    Ok(None)
}
