//! Goose: `-q --output-format stream-json`.
//!
//! The terminal record is `complete`, which says nothing of how it ended, or `error`. A server that failed and turns
//! that are used up stand before a `complete` as the text of a message that the program made up itself.
//!
//! Invariant: what a model says decides nothing. A message of a model names its `inference`, one of the program's own
//! does not; only of the latter the words are looked at, and only for what the program is known to say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::echo::Echo;
use super::statement::{Statement, Trouble};
use super::told::{Told, items, text};
use crate::base::Outcome;

/// What stands before an error that the turn came to.
const FAILED: [&str; 2] = ["Ran into this error: ", "Ran into this error trying to compact: "];
/// How an own message begins that says why there is no answer.
const UNANSWERED: [&str; 4] = [
    "Network error: ",
    "The model returned an empty response.",
    "The provider refused this request",
    "Unable to continue: ",
];
/// How it says that the turns are used up.
const TURNS: &str = "I've reached the maximum number of actions I can do without user input.";

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The message that the last piece belongs to.
    message: String,
    /// What the last message comes to, where it is an answer or says why there is none.
    last: Option<Statement>,
    /// Its last message is that the provider did not know it.
    login: bool,
    /// What `error` says once more.
    echo: Echo,
}

impl Reader {
    /// Tells what `record` says; false: it is of no known kind.
    pub(super) fn read(&mut self, record: &Value, tell: &mut dyn FnMut(Told)) -> bool {
        match text(record, &["type"]) {
            Some("message") => self.message(&record["message"], tell),
            Some("complete") => {
                if let Some(last) = self.last.take() {
                    tell(Told::End(last));
                }
            }
            Some("error") => {
                let said = text(record, &["error"]).unwrap_or("error");
                self.echo = Echo::of(format!("Error: {said}"));
                tell(Told::End(if self.login {
                    Statement::of(Outcome::AuthRequired, stripped(said))
                } else {
                    error(said)
                }));
            }
            Some("notification") => {}
            _ => return false,
        }
        true
    }

    /// Whether a line that is no record repeats what one told.
    pub(super) fn repeats(&mut self, line: &str) -> bool {
        self.echo.repeats(line)
    }

    fn message(&mut self, message: &Value, tell: &mut dyn FnMut(Told)) {
        let id = text(message, &["id"]).unwrap_or_default();
        if id != self.message {
            id.clone_into(&mut self.message);
            self.last = None;
            self.login = false;
            tell(Told::Resumed);
        }
        if text(message, &["role"]) != Some("assistant") {
            return;
        }
        let own = message["metadata"]["inference"].is_null();
        for item in items(message, &["content"]) {
            match text(item, &["type"]) {
                Some("text") => self.text(text(item, &["text"]).unwrap_or_default(), own, tell),
                Some("toolRequest") => {
                    self.last = None;
                    let call = &item["toolCall"]["value"];
                    tell(Told::tool(text(call, &["name"]).unwrap_or("tool"), call.get("arguments")));
                }
                Some("systemNotification") => self.notified(item, tell),
                Some("error") => self.login = text(item, &["kind"]) == Some("authentication"),
                _ => {}
            }
        }
        if message["metadata"]["outputTokenLimitReached"] == true {
            self.last = Some(Statement::of(Outcome::Failed, "its answer was cut at the limit of tokens"));
        }
    }

    fn text(&mut self, words: &str, own: bool, tell: &mut dyn FnMut(Told)) {
        let trouble = Some(words).filter(|_| own).and_then(trouble);
        match &trouble {
            Some(trouble) => tell(Told::Trouble(trouble.words().unwrap_or_default().to_owned())),
            None => tell(Told::Piece(words.to_owned())),
        }
        self.last = Some(trouble.unwrap_or_else(Statement::ok));
    }

    /// What the program tells its user. Most of that is about its work, which goes on.
    fn notified(&mut self, item: &Value, tell: &mut dyn FnMut(Told)) {
        let words = text(item, &["msg"]).unwrap_or_default();
        if text(item, &["notificationType"]) == Some("creditsExhausted") || trouble(words).is_some() {
            self.last = Some(error(words));
            tell(Told::Trouble(words.to_owned()));
        }
    }
}

/// What a message of its own comes to, where it says why there is no answer.
fn trouble(words: &str) -> Option<Statement> {
    if words.starts_with(TURNS) {
        return Some(Statement::of(Outcome::MaxTurns, "it used up its turns"));
    }
    let known = FAILED.iter().chain(&UNANSWERED).any(|begin| words.starts_with(begin));
    known.then(|| error(words))
}

/// `Ran into this error: Rate limit exceeded: slow down.` and advice for people after it.
fn error(said: &str) -> Statement {
    Statement::error(&Trouble { words: stripped(said), ..Trouble::default() })
}

fn stripped(said: &str) -> &str {
    let (told, _advice) = said.split_once("\n\nPlease ").unwrap_or((said, ""));
    let failed = FAILED.iter().find_map(|begin| told.strip_prefix(begin));
    // The full stop is not the provider's.
    failed.map_or(told, |failed| failed.strip_suffix('.').unwrap_or(failed))
}
