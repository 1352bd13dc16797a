//! `subscribe`: events from now on.

use super::{Answer, Asked};
use crate::daemon::state::Daemon;
use crate::wire::{SubscribedView, json};

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Answer {
    daemon.clients.subscribe(asked.client);
    json(&SubscribedView { subscribed: true }).map(Some)
}
