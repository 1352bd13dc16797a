//! `trajectories`: what agents did, and in which run; a worker reads the account.

use super::{Answer, Asked, time};
use crate::daemon::inquiries::Asks;
use crate::daemon::state::Daemon;
use crate::transcripts::Wanted;

/// How many are listed unless said: an answer must fit into a line of the protocol.
const USUAL: usize = 1000;

pub(super) fn answer(
    daemon: &mut Daemon,
    asked: Asked,
    name: Option<&str>,
    run: Option<&str>,
    [from, to]: [Option<&str>; 2],
    limit: Option<usize>,
) -> Answer {
    let run = run.map(|run| daemon.store.run(run)).transpose().map_err(|cause| cause.body())?;
    let wanted = Wanted {
        harness: name.map(|name| daemon.known(name)).transpose()?,
        run: run.map(|run| run.id),
        from: time("from", from)?,
        to: time("to", to)?,
    };
    let ticket = daemon.ticket_for(asked);
    let limit = limit.unwrap_or(USUAL).min(USUAL);
    daemon.inquire(ticket, Asks::Trajectories { wanted, limit });
    Ok(None)
}
