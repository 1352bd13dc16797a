//! `show`: one run.

use super::{Answer, json};
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &Daemon, run: &str) -> Answer {
    json(&daemon.store.run(run).map_err(|cause| cause.body())?)
}
