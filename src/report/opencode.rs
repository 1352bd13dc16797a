//! OpenCode: `run --format json`.
//!
//! The terminal records are `error`, and a `step_finish` whose reason is not that tools are to be
//! called.

use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, text};

/// Tells what `record` says; false: it is of no known kind.
pub(super) fn read(record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
    let part = &record["part"];
    match text(record, &["type"]) {
        Some("text") => tell(Told::Text(text(part, &["text"]).unwrap_or_default().to_owned())),
        Some("tool_use") => {
            let name = text(part, &["tool"]).unwrap_or("tool");
            tell(Told::tool(name, part.get("state").and_then(|state| state.get("input"))));
        }
        Some("step_start") => {
            Told::session(text(record, &["sessionID"])).into_iter().for_each(&mut *tell);
            tell(Told::Resumed);
        }
        Some("step_finish") => match text(part, &["reason"]) {
            Some("tool-calls") => {}
            _ => tell(Told::End(Statement::ok())),
        },
        Some("error") => {
            let error = &record["error"];
            let name = text(error, &["name"]);
            tell(Told::End(Statement::error(&Trouble {
                status: error["data"]["statusCode"].as_u64(),
                kinds: [name, None],
                words: text(error, &["data", "message"]).or(name).unwrap_or("error"),
                retry_after: text(error, &["data", "responseHeaders", "retry-after"]),
                ..Trouble::default()
            })));
        }
        Some("reasoning") => {}
        _ => return false,
    }
    true
}
