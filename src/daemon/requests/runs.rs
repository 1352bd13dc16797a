//! `runs`: the records of runs, newest first.

use super::Answer;
use crate::base::Wall;
use crate::daemon::state::Daemon;
use crate::store::RunQuery;
use crate::wire::{ErrorBody, ErrorCode};

/// How many runs are shown unless said.
const USUAL: usize = 50;

pub(super) fn answer(
    daemon: &Daemon,
    name: Option<&str>,
    limit: Option<usize>,
    failed: bool,
    since: Option<&str>,
) -> Answer {
    let harness = name.map(|name| daemon.known(name)).transpose()?;
    let since = since.map(Wall::parse_rfc3339).transpose().map_err(|cause| {
        ErrorBody::new(ErrorCode::BadRequest, format!("`since`: {cause}"))
            .help("write a time like `2026-11-30T08:00:00Z`")
    })?;
    let query = RunQuery { harness, limit: limit.unwrap_or(USUAL), failed, since };
    let runs = daemon.store.runs(&query).map_err(|cause| cause.body())?;
    Ok(Some(serde_json::json!({ "runs": runs })))
}
