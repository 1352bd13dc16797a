//! `subscribe`: events from now on.

use serde_json::Value;

use super::Asked;
use crate::daemon::state::Daemon;

pub(super) fn answer(daemon: &mut Daemon, asked: Asked) -> Option<Value> {
    daemon.clients.subscribe(asked.client);
    Some(serde_json::json!({"subscribed": true}))
}
