//! Claude Code: `--output-format stream-json --verbose`.
//!
//! The terminal record is `result`. Errors of the provider come with `subtype: success` and
//! `is_error`; what they say stands in `result`, their status in `api_error_status`. There is
//! one `result` a turn: an agent in the background that finishes begins another turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};
use crate::base::Outcome;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// When the limit ends that a request was refused for.
    resets_at: Option<i64>,
    /// The last text that the program itself put in the place of an answer of the model.
    synthetic: Option<String>,
    /// Agents that work in the background, after which another turn follows.
    background: bool,
    /// The result that was stated while they worked.
    held: Option<Statement>,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        match text(record, &["type"]) {
            Some("assistant") => self.assistant(record, tell),
            Some("result") => self.result(record, tell),
            Some("system") => self.system(record, tell),
            Some("rate_limit_event") => {
                let info = &record["rate_limit_info"];
                let refused = text(info, &["status"]) == Some("rejected");
                self.resets_at = info["resetsAt"].as_i64().filter(|_| refused);
            }
            Some("user" | "stream_event" | "conversation_reset" | "control_request" | "control_response") => {
            }
            _ => return false,
        }
        true
    }

    /// What it stated last, if it only waits for agents in the background.
    pub(super) const fn held(&self) -> Option<&Statement> {
        self.held.as_ref()
    }

    fn assistant(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) {
        let synthetic = text(record, &["message", "model"]) == Some("<synthetic>")
            || record["is_api_error_message"] == true
            || record["isApiErrorMessage"] == true;
        self.synthetic = None;
        // A subagent's words are not the answer; its tools are shown.
        let own = record["parent_tool_use_id"].is_null();
        for item in items(record, &["message", "content"]) {
            match (text(item, &["type"]), text(item, &["text"])) {
                (Some("text"), Some(words)) if own => {
                    tell(Told::Text(words.to_owned()));
                    self.synthetic = synthetic.then(|| words.to_owned());
                }
                (Some("tool_use"), _) => {
                    tell(Told::tool(text(item, &["name"]).unwrap_or("tool"), item.get("input")));
                }
                _ => {}
            }
        }
    }

    fn system(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) {
        match text(record, &["subtype"]) {
            Some("init") => {
                self.held = None;
                Told::session(text(record, &["session_id"])).into_iter().for_each(&mut *tell);
                tell(Told::Resumed);
            }
            Some("api_retry") => {
                let status = record["error_status"].as_u64().map(|status| format!("{status} "));
                let error = text(record, &["error"]).unwrap_or("error");
                tell(Told::Trouble(format!("{}{error}, tries again", status.unwrap_or_default())));
            }
            Some("background_tasks_changed") => {
                let agent = |task: &Value| text(task, &["task_type"]) == Some("local_agent");
                self.background = items(record, &["tasks"]).iter().any(agent);
            }
            _ => {}
        }
    }

    fn result(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) {
        let said = text(record, &["result"]).unwrap_or_default();
        let errors = items(record, &["errors"]).iter().find_map(Value::as_str);
        let subtype = text(record, &["subtype"]).unwrap_or_default();
        let status = record["api_error_status"].as_u64();
        let marked = record["is_error"] == true
            || subtype.starts_with("error")
            || status.is_some()
            || text(record, &["terminal_reason"]) == Some("api_error")
            || self.synthetic.as_deref().is_some_and(|words| words == said);
        let words = Some(said).filter(|said| !said.is_empty()).or(errors).unwrap_or(subtype);
        let statement = match subtype {
            "error_max_turns" => Statement::of(Outcome::MaxTurns, words),
            "error_max_budget_usd" => Statement::of(Outcome::Budget, words),
            _ if !marked => {
                tell(Told::Answer(said.to_owned()));
                Statement::ok()
            }
            _ => Statement::error(&Trouble {
                status,
                kinds: [text(record, &["api_error_type"]), text(record, &["api_error"])],
                words,
                resets_at: self.resets_at,
                ..Trouble::default()
            }),
        };
        if self.background {
            self.held = Some(statement);
        } else {
            self.held = None;
            tell(Told::End(statement));
        }
    }
}
