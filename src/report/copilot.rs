//! GitHub Copilot CLI: `--output-format json`.
//!
//! The terminal record is `result`, with the exit status alone; what went wrong stands in the
//! `session.error` before it. Records of a subagent name it in `agentId`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};
use crate::base::Outcome;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The last error that it did not go on after.
    error: Option<Statement>,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        let data = &record["data"];
        let own = record["agentId"].is_null();
        match text(record, &["type"]) {
            Some("assistant.turn_start") if own => {
                self.error = None;
                tell(Told::Resumed);
            }
            Some("assistant.message") => {
                if own {
                    self.error = None;
                }
                message(data, own, tell);
            }
            Some("assistant.turn_retry") => {
                let reason = text(data, &["reason"]).unwrap_or("error");
                tell(Told::Trouble(format!("{reason}, tries again")));
            }
            Some("session.error") if own => {
                let words = text(data, &["message"]).unwrap_or("error");
                self.error = Some(Statement::error(&Trouble {
                    status: data["statusCode"].as_u64(),
                    kinds: [text(data, &["errorType"]), None],
                    words,
                    ..Trouble::default()
                }));
                tell(Told::Trouble(words.to_owned()));
            }
            Some("abort") if own => {
                let reason = text(data, &["reason"]).unwrap_or("no reason");
                self.error = Some(Statement::of(Outcome::Failed, &format!("it broke off: {reason}")));
            }
            Some("result") => {
                Told::session(text(record, &["sessionId"])).into_iter().for_each(&mut *tell);
                tell(Told::End(self.result(&record["exitCode"])));
            }
            Some(kind) => return known(kind),
            None => return false,
        }
        true
    }

    fn result(&self, status: &Value) -> Statement {
        match (&self.error, status.as_i64()) {
            (None, Some(0)) => Statement::ok(),
            (Some(error), _) => error.clone(),
            (None, _) => {
                Statement::of(Outcome::Failed, &format!("its result states the exit status {status}"))
            }
        }
    }
}

fn message(data: &Value, own: bool, tell: &mut dyn FnMut(Told)) {
    // A subagent's words are not the answer; its tools are shown.
    if let Some(words) = text(data, &["content"]).filter(|words| own && !words.is_empty()) {
        tell(Told::Text(words.to_owned()));
    }
    for tool in items(data, &["toolRequests"]) {
        tell(Told::tool(text(tool, &["name"]).unwrap_or("tool"), tool.get("arguments")));
    }
}

/// The records that tell nothing here, by what their kinds begin with.
fn known(kind: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "abort",
        "agent.",
        "assistant.",
        "hook.",
        "model.",
        "session.",
        "skill.",
        "subagent.",
        "system.",
        "tool.",
    ];
    kind == "user.message" || KNOWN.iter().any(|known| kind.starts_with(known))
}
