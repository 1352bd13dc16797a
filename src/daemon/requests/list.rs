//! `list`: all harnesses.

use super::{Answer, json};
use crate::daemon::state::Daemon;
use crate::wire::HarnessesView;

pub(super) fn answer(daemon: &Daemon) -> Answer {
    json(&HarnessesView { harnesses: daemon.views() }).map(Some)
}
