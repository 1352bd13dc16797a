//! Kimi Code: `--output-format stream-json`.
//!
//! Only a success has a record: `session.resume_hint` after the answer, with the id of the session. An error is
//! a line of plain text before it exits.
//!
//! Invariant: a success counts only right after an answer that calls no tool, and what a tool prints, which goes by
//! as it is while the tool runs, decides nothing once the record of its call has come after it. Meanwhile it could
//! be taken for the end if it were records of this format, an answer and the end: nothing tells these from real ones.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};
use crate::base::Outcome;

/// How its last line begins when the turn came to nothing.
const FAILED: &str = "error: failed to run prompt: ";

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The last record is an answer.
    answered: bool,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        let answered = std::mem::take(&mut self.answered);
        match (text(record, &["role"]), text(record, &["type"])) {
            (Some("assistant"), _) => self.assistant(record, tell),
            (Some("tool"), _) => tell(Told::Resumed),
            (Some("meta"), Some("turn.step.retrying")) => {
                let words = text(record, &["error_message"]).unwrap_or("error");
                tell(Told::Trouble(format!("{words}, tries again")));
            }
            (Some("meta"), Some("session.resume_hint")) => {
                if answered {
                    Told::session(text(record, &["session_id"])).into_iter().for_each(&mut *tell);
                    tell(Told::End(Statement::ok()));
                }
            }
            // Whether the goal was reached is in the exit status.
            (None, Some("goal.summary")) => self.answered = answered,
            (Some("meta"), Some("system.version")) => {}
            _ => return false,
        }
        true
    }

    fn assistant(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) {
        let calls = items(record, &["tool_calls"]);
        if let Some(words) = text(record, &["content"]) {
            tell(Told::Text(words.to_owned()));
            self.answered = calls.is_empty();
        }
        for call in calls {
            let arguments = text(call, &["function", "arguments"]).unwrap_or_default();
            let arguments = serde_json::from_str::<Value>(arguments).unwrap_or_else(|_| arguments.into());
            tell(Told::tool(text(call, &["function", "name"]).unwrap_or("tool"), Some(&arguments)));
        }
    }
}

/// Tells what a line that is no record says; false: it is not the program's own.
pub(super) fn plain(line: &str, tell: &mut dyn FnMut(Told)) -> bool {
    let words = line.strip_prefix(FAILED);
    words.inspect(|words| tell(Told::Trouble((*words).to_owned()))).is_some()
}

/// What the error comes to that it told last: `provider.rate_limit: 429 …`.
pub(super) fn error(words: &str) -> Statement {
    match words.split_once(": ").map(|(code, _)| code) {
        Some("loop.max_steps_exceeded") => Statement::of(Outcome::MaxTurns, words),
        Some(
            "provider.auth_error" | "auth.login_required" | "auth.token_missing" | "auth.token_unauthorized",
        ) => Statement::of(Outcome::AuthRequired, words),
        _ if words.contains("use /login to sign in") => Statement::of(Outcome::AuthRequired, words),
        Some("provider.rate_limit") => Statement::of(Outcome::RateLimited, words),
        Some("provider.overloaded") => Statement::of(Outcome::Overloaded, words),
        _ => Statement::error(&Trouble { words, ..Trouble::default() }),
    }
}
