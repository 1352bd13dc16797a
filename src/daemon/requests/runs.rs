//! `runs`: the records of runs, newest first, with what a worker finds of their transcripts.

use super::{Answer, Asked, time};
use crate::daemon::inquiries::Asks;
use crate::daemon::state::Daemon;
use crate::store::RunQuery;

/// How many runs are shown unless said.
const USUAL: usize = 50;

pub(super) fn answer(
    daemon: &mut Daemon,
    asked: Asked,
    name: Option<&str>,
    limit: Option<usize>,
    failed: bool,
    since: Option<&str>,
) -> Answer {
    let harness = name.map(|name| daemon.known(name)).transpose()?;
    let since = time("since", since)?;
    let query = RunQuery { harness, limit: limit.unwrap_or(USUAL), failed, since };
    let runs = daemon.store.runs(&query).map_err(|cause| cause.body())?;
    let ticket = daemon.ticket_for(asked);
    daemon.inquire(ticket, Asks::Runs(runs));
    Ok(None)
}
