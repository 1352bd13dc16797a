//! mistral-vibe: `--output streaming`.
//!
//! It prints an entry of its session when that is complete, and no record of its end. Of the end it
//! tells on the other output only: `Stopped: LIMIT` with the exit status 3, or `Error: WORDS` with 1
//! or 2. Nothing of the model's and none of a tool's stands in a line that is no record, but servers of tools may
//! write there: only with the exit status is an `Error: ` its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::Statement;
use super::told::{Told, items, text};
use crate::base::Outcome;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// Its session: a subagent's entries name another one.
    session: Option<String>,
    /// What the last entry comes to, as far as nothing follows it.
    held: Option<Statement>,
    /// An `Error: ` followed it.
    troubled: bool,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        let session = text(record, &["sessionId"]);
        if self.session.is_none() && session.is_some() {
            self.session = session.map(str::to_owned);
            Told::session(session).into_iter().for_each(&mut *tell);
        }
        let own = session == self.session.as_deref();
        match (text(record, &["type"]), text(record, &["role"])) {
            (Some("message"), Some("assistant")) if own => self.answer(record, tell),
            (Some("message"), Some("user")) if own => {
                self.held = None;
                tell(Told::Resumed);
            }
            (Some("effect"), _) => {
                self.held = None;
                let name = text(record, &["detail", "toolName"]).unwrap_or("tool");
                let input = record.get("detail").and_then(|detail| detail.get("input"));
                tell(Told::tool(name.rsplit('.').next().unwrap_or(name), input));
            }
            (Some("message" | "callback" | "reasoning"), _) => {}
            _ => return false,
        }
        true
    }

    /// Tells what a line says that is no record; false: nothing known.
    pub(super) fn plain(&mut self, line: &str, tell: &mut dyn FnMut(Told)) -> bool {
        if line.is_empty() {
            // It ends its records with one.
            return true;
        }
        if let Some(words) = line.strip_prefix("Error: ") {
            self.troubled = true;
            tell(Told::Trouble(words.to_owned()));
            return true;
        }
        let Some(limit) = line.strip_prefix("Stopped: ") else { return false };
        self.held = None;
        tell(match limit.trim() {
            "turn_limit" => Told::End(Statement::of(Outcome::MaxTurns, line)),
            "token_limit" | "price_limit" => Told::End(Statement::of(Outcome::Budget, line)),
            _ => Told::Trouble(line.to_owned()),
        });
        true
    }

    /// How it ended, if nothing follows its last entry and it ended by itself with this exit status.
    pub(super) fn held(&self, code: i32) -> Option<&Statement> {
        self.held.as_ref().filter(|_| code == 0 || !self.troubled)
    }

    /// Tools may follow any message of the model's, minutes later, so that none is the end by itself.
    fn answer(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) {
        for item in items(record, &["content"]) {
            if let (Some("text"), Some(words)) = (text(item, &["type"]), text(item, &["text"])) {
                tell(Told::Text(words.to_owned()));
            }
        }
        let committed = text(record, &["outcome", "type"]) == Some("committed");
        self.held = committed.then(Statement::ok);
        self.troubled = false;
    }
}
