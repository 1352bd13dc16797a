//! Codex: `exec --json`.
//!
//! The terminal records are `turn.completed` and `turn.failed`. `error` alone may be followed by
//! another try.

use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, text};

/// Tells what `record` says; false: it is of no known kind.
pub(super) fn read(record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
    match text(record, &["type"]) {
        Some("turn.completed") => tell(Told::End(Statement::ok())),
        Some("turn.failed") => {
            let words = text(record, &["error", "message"]).unwrap_or("the turn failed");
            tell(Told::End(Statement::error(&Trouble { words, ..Trouble::default() })));
        }
        Some("turn.started") => tell(Told::Resumed),
        Some("error") => tell(Told::Trouble(text(record, &["message"]).unwrap_or("error").to_owned())),
        Some("item.started") => item(&record["item"], true, tell),
        Some("item.completed") => item(&record["item"], false, tell),
        Some("thread.started") => {
            Told::session(text(record, &["thread_id"])).into_iter().for_each(tell);
        }
        Some("item.updated") => {}
        _ => return false,
    }
    true
}

fn item(item: &Value, begins: bool, tell: &mut dyn FnMut(Told)) {
    let kind = text(item, &["type"]).unwrap_or_default();
    match (kind, begins) {
        ("agent_message", false) => tell(Told::Text(text(item, &["text"]).unwrap_or_default().to_owned())),
        // A warning about the set-up is told as an item.
        ("error", false) => tell(Told::Trouble(text(item, &["message"]).unwrap_or("error").to_owned())),
        ("command_execution", true) => tell(Told::tool("shell", item.get("command"))),
        ("mcp_tool_call" | "collab_tool_call", true) => {
            tell(Told::tool(
                text(item, &["tool"]).unwrap_or(kind),
                item.get("arguments").or(item.get("prompt")),
            ));
        }
        ("web_search", true) => tell(Told::tool(kind, item.get("query"))),
        ("file_change", false) => tell(Told::tool(kind, item.get("changes"))),
        _ => {}
    }
}
