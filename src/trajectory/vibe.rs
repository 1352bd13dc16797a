//! mistral-vibe's unified sessions (3.x): a journal of what the program took in, and `meta.json` beside it.
//!
//! What came in stands twice: as the result of an action, without a time, and as the input of the core,
//! with one. The second is told. Usage that stands only as a result (the program was killed in between) is
//! told at the end of a reading, under the same key. A journal of which a session has several is read alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{instant, items, milliseconds, number, short, text, words};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/journal/*.jsonl"],
    documents: &["../meta.json"],
    directory: None,
    held: Some(held),
    pid_file: None,
});

/// `SESSION/…` is of `SESSION`.
fn held(path: &str) -> Option<String> {
    let (session, _) = path.split_once('/')?;
    (!session.starts_with('.')).then(|| session.to_owned())
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// A model call whose result was noted, and not taken in yet.
    pending: Option<Pending>,
    /// The model that `meta.json` names.
    model: Option<String>,
}

/// A model call without a time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Pending {
    action: String,
    tokens: Tokens,
    told: bool,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        told.session.id = held(path).unwrap_or_default();
    }

    fn document(&mut self, _name: &str, document: &[u8], told: &mut Told<'_>) {
        let Some(meta) = told.object(document) else { return };
        told.cwd(text(&meta, &["environment", "working_directory"]).unwrap_or_default());
        told.session.title = text(&meta, &["title"]).map(str::to_owned);
        if let Some(parent) = text(&meta, &["parent_session_id"]) {
            // Forks and sub-agents are both children of their parent, and nothing tells them apart.
            told.session.parent = Some(Parent { id: parent.to_owned(), kinship: Kinship::Forked });
        }
        if told.session.started_at.is_none() {
            told.seen(instant(meta.get("start_time")));
        }
        self.model = text(&meta, &["config", "model_name"]).and_then(short).map(str::to_owned);
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(record) = told.object(line) else { return };
        let payload = record.get("payload").unwrap_or(&Value::Null);
        match text(&record, &["type"]).unwrap_or_default() {
            "core_input" => {
                let at = milliseconds(payload.pointer("/input/determinism/time_unix_ms"));
                told.seen(at);
                if let Some(command) = payload.pointer("/input/command") {
                    self.command(command, at, told);
                }
            }
            "action_result" => {
                let result = payload.get("result").unwrap_or(&Value::Null);
                if let (Some(action), Some(usage)) =
                    (text(payload, &["action_id"]).and_then(short), result.pointer("/result/usage"))
                {
                    self.finish(told);
                    self.pending =
                        Some(Pending { action: action.to_owned(), tokens: tokens(usage), told: false });
                }
            }
            // The state that follows from the inputs, and what is about to be done.
            "action_intent" | "command_reserved" | "projection_delta" | "receipt_succeeded" => {}
            kind => {
                told.oddities.unknown(kind);
                told.event(None, None, What::Other { name: kind.to_owned() });
            }
        }
    }

    fn finish(&mut self, told: &mut Told<'_>) {
        let last = told.session.last_at;
        if let Some(pending) = self.pending.as_mut().filter(|pending| !pending.told) {
            pending.told = true;
            let (action, tokens) = (pending.action.clone(), pending.tokens);
            self.call(&action, tokens, last, told);
        }
    }
}

impl Reader {
    fn command(&mut self, command: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        let id = text(command, &["action_id"]);
        let kind = text(command, &["type"]).unwrap_or_default();
        match kind {
            "user_message" => {
                let what = What::User { text: words(command.get("content")) };
                told.event(at, text(command, &["turn_id"]), what);
            }
            "completion_succeeded" => {
                if let Some(model) = self.model.clone() {
                    told.model(at, &model);
                }
                for part in items(command, &["result", "parts"]) {
                    answered(part, at, id, told);
                }
                if let (Some(action), Some(usage)) = (id, command.pointer("/result/usage")) {
                    self.call(action, tokens(usage), at, told);
                    if self.pending.as_ref().is_some_and(|pending| pending.action == action) {
                        self.pending = None;
                    }
                }
            }
            "completion_failed" => {
                let message = said(command).unwrap_or_else(|| kind.to_owned());
                told.event(at, id, What::Error { message });
            }
            "tool_succeeded" | "tool_failed" | "tool_denied" => {
                let of = text(command, &["call_id"]).map(str::to_owned);
                let text = output(command);
                told.event(at, id, What::ToolResult { of, error: Some(kind != "tool_succeeded"), text });
            }
            "hook_completed" => {}
            _ => told.event(at, id, What::Other { name: kind.to_owned() }),
        }
    }

    fn call(&self, action: &str, tokens: Tokens, at: Option<Wall>, told: &mut Told<'_>) {
        let key = format!("{}/{action}", told.session.id);
        let call = Call { key, model: self.model.clone(), tokens: Some(tokens), cost_usd: None };
        told.call(at, Some(action), call);
        if tokens.input > 0 {
            told.context(at, tokens.input, None);
        }
    }
}

fn answered(part: &Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
    let words = text(part, &["text"]).unwrap_or_default().to_owned();
    match text(part, &["type"]).unwrap_or_default() {
        "text" => told.event(at, id, What::Assistant { text: words }),
        "reasoning" | "thinking" => told.event(at, id, What::Reasoning { text: words }),
        "tool_call" => {
            let name = text(part, &["name"]).unwrap_or_default();
            let json = text(part, &["arguments_json"]).unwrap_or_default();
            let input = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
            told.tool_call(at, text(part, &["id"]), name, input);
        }
        kind => told.event(at, id, What::Other { name: kind.to_owned() }),
    }
}

/// The input includes what came from the cache.
fn tokens(usage: &Value) -> Tokens {
    let count = |name| number(usage, &[name]).unwrap_or_default();
    let input = count("input_tokens");
    Tokens { input, cached: count("cached_input_tokens").min(input), output: count("output_tokens") }
}

/// What a tool answered: its text, or else what it gave as data.
fn output(command: &Value) -> String {
    let text = words(command.pointer("/result/content"));
    if !text.is_empty() {
        return text;
    }
    match command.pointer("/result/structured_content").filter(|value| !value.is_null()) {
        Some(data) => {
            data.get("stdout").and_then(Value::as_str).map_or_else(|| data.to_string(), str::to_owned)
        }
        None => said(command).unwrap_or_default(),
    }
}

/// The message of something that failed.
fn said(command: &Value) -> Option<String> {
    ["/error/message", "/result/error/message", "/result/message", "/error", "/reason", "/message"]
        .iter()
        .find_map(|path| command.pointer(path)?.as_str())
        .map(str::to_owned)
}
