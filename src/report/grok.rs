//! Grok Build: `--output-format streaming-json`.
//!
//! The terminal record is `end` with the reason that the turn stopped for, or `error` in its place. What it
//! says of an error, it says once more on standard error, as plain text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::echo::Echo;
use super::statement::{Statement, Trouble};
use super::told::{Told, text};
use crate::base::Outcome;

/// What stands before an error of another part of the program.
const INTERNAL: &str = "Internal error: ";
/// What it says once more when the turns are used up.
const TURNS: &str = "Error: max turns reached";

/// What providers call a limit: xAI, and OpenAI by what it is a limit of.
const LIMITS: [&str; 4] = ["Some resource has been exhausted", "requests", "tokens", "insufficient_quota"];

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The turns are used up; the record that says so is not the last one.
    turns: bool,
    /// The plain text that is still to come of what was told as a record.
    echo: Echo,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        match text(record, &["type"]) {
            Some("text") => tell(Told::Piece(text(record, &["data"]).unwrap_or_default().to_owned())),
            Some("tool_call") => {
                let name = text(record, &["toolName"]).or_else(|| text(record, &["title"])).unwrap_or("tool");
                tell(Told::tool(name, record.get("rawInput")));
            }
            Some("max_turns_reached") => self.turns = true,
            Some("end") => {
                Told::session(text(record, &["sessionId"])).into_iter().for_each(&mut *tell);
                let turns = std::mem::take(&mut self.turns);
                if turns {
                    self.echo = Echo::of(TURNS.to_owned());
                }
                tell(Told::End(end(text(record, &["stopReason"]).unwrap_or_default(), turns)));
            }
            Some("error") => {
                let said = text(record, &["message"]).unwrap_or("error");
                self.echo = Echo::of(format!("Error: {said}"));
                tell(Told::End(error(said)));
            }
            Some("thought" | "tool_call_update" | "usage" | "plan" | "available_commands") => {}
            Some(kind) if kind.starts_with("auto_compact_") => {}
            _ => return false,
        }
        true
    }

    /// Whether a line that is no record repeats what one told.
    pub(super) fn repeats(&mut self, line: &str) -> bool {
        self.echo.repeats(line)
    }
}

fn end(reason: &str, turns: bool) -> Statement {
    match reason {
        "end_turn" => Statement::ok(),
        "max_turn_requests" => Statement::of(Outcome::MaxTurns, "it used up its turns"),
        "cancelled" if turns => Statement::of(Outcome::MaxTurns, "it used up its turns"),
        "cancelled" => {
            Statement::of(Outcome::Failed, "it cancelled its turn, as it does where it may not use a tool")
        }
        "max_tokens" => Statement::of(Outcome::Failed, "its answer was cut at the limit of tokens"),
        "refusal" => Statement::of(Outcome::Failed, "the model refused"),
        other => Statement::of(Outcome::Failed, &format!("it stopped for the reason `{other}`")),
    }
}

/// `Unauthorized (401) from …`, `Internal error: "…"`, `Internal error: {"message": …, "http_status": 500}`
fn error(said: &str) -> Statement {
    let inner = said.strip_prefix(INTERNAL).and_then(|inner| serde_json::from_str::<Value>(inner).ok());
    let words = inner.as_ref().and_then(|inner| inner.as_str().or_else(|| text(inner, &["message"])));
    let status = inner.as_ref().and_then(|inner| inner["http_status"].as_u64());
    let words = words.unwrap_or(said);
    // Of a limit it hands on the provider's kind and words, and not the status.
    let limited = words.split_once(": ").is_some_and(|(kind, _)| LIMITS.contains(&kind));
    let status = status.or(limited.then_some(429));
    Statement::error(&Trouble { status, words, ..Trouble::default() })
}
