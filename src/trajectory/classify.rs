//! What a tool call does and what it is about (TRJ-4), by one table an agent.

use serde_json::Value;

use super::model::Action;

/// The class of a call and its targets.
pub(super) fn classify(_tool: &str, _input: &Value) -> (Action, Vec<String>) {
    (Action::Other, Vec::new())
}
