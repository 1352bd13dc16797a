//! Qwen Code: `--output-format stream-json`.
//!
//! Its records have the form of Claude Code's; the terminal one, `result`, holds an `error` with
//! a message. Its exit statuses are Gemini CLI's, from which it descends.

use serde_json::Value;

pub(super) use super::gemini::exit;
use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};
use crate::base::Outcome;

/// Tells what `record` says; false: it is of no known kind.
pub(super) fn read(record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
    match text(record, &["type"]) {
        Some("assistant") => assistant(record, tell),
        Some("result") => result(record, tell),
        Some("system") if text(record, &["subtype"]) == Some("init") => {
            Told::session(text(record, &["session_id"])).into_iter().for_each(&mut *tell);
            tell(Told::Resumed);
        }
        Some("system" | "user" | "stream_event") => {}
        _ => return false,
    }
    true
}

fn assistant(record: &Value, tell: &mut dyn FnMut(Told)) {
    let own = record["parent_tool_use_id"].is_null();
    for item in items(record, &["message", "content"]) {
        match (text(item, &["type"]), text(item, &["text"])) {
            (Some("text"), Some(words)) if own => tell(Told::Text(words.to_owned())),
            (Some("tool_use"), _) => {
                tell(Told::tool(text(item, &["name"]).unwrap_or("tool"), item.get("input")));
            }
            _ => {}
        }
    }
}

fn result(record: &Value, tell: &mut dyn FnMut(Told)) {
    let subtype = text(record, &["subtype"]).unwrap_or_default();
    if record["is_error"] != true && !subtype.starts_with("error") {
        tell(Told::Answer(text(record, &["result"]).unwrap_or_default().to_owned()));
        return tell(Told::End(Statement::ok()));
    }
    let words = text(record, &["error", "message"]).or_else(|| text(record, &["result"])).unwrap_or(subtype);
    tell(Told::End(match subtype {
        "error_max_turns" => Statement::of(Outcome::MaxTurns, words),
        _ => Statement::error(&Trouble {
            kinds: [text(record, &["error", "type"]), None],
            words,
            ..Trouble::default()
        }),
    }));
}
