//! Gemini CLI: `-o stream-json`.
//!
//! The terminal record is `result`, with `status` and, for an error, its `type` and `message`.

use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, text};
use crate::base::Outcome;

/// Tells what `record` says; false: it is of no known kind.
pub(super) fn read(record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
    match text(record, &["type"]) {
        Some("message") if text(record, &["role"]) == Some("assistant") => {
            let words = text(record, &["content"]).unwrap_or_default().to_owned();
            tell(if record["delta"] == true { Told::Piece(words) } else { Told::Text(words) });
        }
        Some("tool_use") => {
            tell(Told::tool(text(record, &["tool_name"]).unwrap_or("tool"), record.get("parameters")));
        }
        Some("error") => tell(Told::Trouble(text(record, &["message"]).unwrap_or("error").to_owned())),
        Some("init") => {
            Told::session(text(record, &["session_id"])).into_iter().for_each(&mut *tell);
            tell(Told::Resumed);
        }
        Some("result") => tell(Told::End(result(record))),
        Some("message" | "tool_result") => {}
        _ => return false,
    }
    true
}

/// What an exit status means by itself.
pub(super) const fn exit(code: i32) -> Option<(Outcome, &'static str)> {
    match code {
        41 => Some((Outcome::AuthRequired, "it is not logged in")),
        53 => Some((Outcome::MaxTurns, "it used up its turns")),
        _ => None,
    }
}

fn result(record: &Value) -> Statement {
    if text(record, &["status"]) == Some("success") {
        return Statement::ok();
    }
    let kind = text(record, &["error", "type"]);
    let words = text(record, &["error", "message"]).or(kind).unwrap_or("it ended with an error");
    match kind {
        Some("FatalTurnLimitedError") => Statement::of(Outcome::MaxTurns, words),
        Some("FatalAuthenticationError") => Statement::of(Outcome::AuthRequired, words),
        _ => Statement::error(&Trouble { kinds: [kind, None], words, ..Trouble::default() }),
    }
}
