//! pi: `--mode json`.
//!
//! The terminal record is `agent_settled`, and how it ended is the last message's `stopReason`. An
//! `agent_end` comes before it, after which it may compact its memory and go on; where the output
//! ends there, that was the end.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// How the last message of the model ended.
    last: Option<Statement>,
    /// Whether it said that this was the last one.
    over: bool,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        match text(record, &["type"]) {
            Some("message_end") => self.message(&record["message"], tell),
            Some("agent_start") => {
                *self = Self::default();
                tell(Told::Resumed);
            }
            Some("agent_end") => self.over = record["willRetry"] != true,
            Some("agent_settled") => {
                if let Some(last) = &self.last {
                    tell(Told::End(last.clone()));
                }
            }
            Some("tool_execution_start") => {
                tell(Told::tool(text(record, &["toolName"]).unwrap_or("tool"), record.get("args")));
            }
            Some("auto_retry_start") => {
                let words = text(record, &["errorMessage"]).unwrap_or("error");
                tell(Told::Trouble(format!("{words}, tries again")));
            }
            Some("session") => Told::session(text(record, &["id"])).into_iter().for_each(tell),
            Some(
                "turn_start"
                | "turn_end"
                | "message_start"
                | "message_update"
                | "entry_appended"
                | "tool_execution_update"
                | "tool_execution_end"
                | "auto_retry_end"
                | "queue_update"
                | "compaction_start"
                | "compaction_end",
            ) => {}
            _ => return false,
        }
        true
    }

    /// How it ended, if nothing follows its last `agent_end`.
    pub(super) fn held(&self) -> Option<&Statement> {
        self.last.as_ref().filter(|_| self.over)
    }

    fn message(&mut self, message: &Value, tell: &mut dyn FnMut(Told)) {
        if text(message, &["role"]) != Some("assistant") {
            return;
        }
        for item in items(message, &["content"]) {
            if let (Some("text"), Some(words)) = (text(item, &["type"]), text(item, &["text"])) {
                tell(Told::Text(words.to_owned()));
            }
        }
        let reason = text(message, &["stopReason"]).unwrap_or_default();
        let words = text(message, &["errorMessage"]).unwrap_or(reason);
        self.last = Some(match reason {
            "error" | "aborted" => Statement::error(&Trouble { words, ..Trouble::default() }),
            _ => Statement::ok(),
        });
    }
}
