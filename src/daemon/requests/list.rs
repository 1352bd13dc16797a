//! `list`: all harnesses.

use super::Answer;
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &Daemon) -> Answer {
    let views = daemon.views();
    Ok(Some(serde_json::json!({ "harnesses": views })))
}
