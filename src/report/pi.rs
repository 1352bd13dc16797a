//! pi: `--mode json`.
//!
//! The terminal record is an `agent_end` after which it does not try again, and how it ended is
//! the last message's `stopReason`. `agent_settled` comes after it, and says so even if the
//! `agent_end`, which holds all messages, was too long to be read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};

/// What is remembered between records.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// How the last message of the model ended.
    last: Option<Statement>,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        match text(record, &["type"]) {
            Some("message_end") => self.message(&record["message"], tell),
            Some("agent_start") => {
                self.last = None;
                tell(Told::Resumed);
            }
            Some("agent_end") if record["willRetry"] == true => {}
            Some("agent_end" | "agent_settled") => {
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
            Some(
                "session"
                | "turn_start"
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
