//! `list`: all harnesses.

use super::Answer;
use crate::daemon::state::Daemon;
use crate::wire::{HarnessesView, json};

pub(super) fn answer(daemon: &Daemon) -> Answer {
    json(&HarnessesView { harnesses: daemon.views() }).map(Some)
}
