//! Antigravity CLI's transcripts, by what is published of them: this reader was never tried on the program.
//!
//! A step is one line with an index; a line of an index that was told before is the same step again. The
//! transcript names no working directory and states no usage (that is in a database of an unpublished
//! form), so neither is told.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::What;
use super::record::{at, instant, items, number, text};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["brain/*/.system_generated/logs/transcript.jsonl"],
    documents: &[],
    directory: None,
    held: Some(held),
    pid_file: None,
});

/// `brain/SESSION/…` is of `SESSION`.
fn held(path: &str) -> Option<String> {
    let (session, _) = path.strip_prefix("brain/")?.split_once('/')?;
    Some(session.to_owned())
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The index after the latest step that was told.
    next: u64,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        told.session.id = held(path).unwrap_or_default();
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(step) = told.object(line) else { return };
        let at = instant(step.get("created_at"));
        told.seen(at);
        // A step under way is written again when it is done.
        if matches!(text(&step, &["status"]), Some("RUNNING" | "PENDING" | "GENERATING" | "WAITING")) {
            return;
        }
        let index = number(&step, &["step_index"]);
        if index.is_some_and(|index| index < self.next) {
            return;
        }
        self.next = index.map_or(self.next, |index| index.saturating_add(1));
        let id = index.map(|index| index.to_string());
        tell(&step, at, id.as_deref(), told);
    }
}

fn tell(step: &Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
    let kind = text(step, &["type"]).unwrap_or_default();
    let content = content(step);
    match (text(step, &["source"]).unwrap_or_default(), kind) {
        (_, "USER_INPUT") => {
            if let Some(model) = selected(&content) {
                told.model(at, model);
            }
            told.event(at, id, What::User { text: asked(&content).to_owned() });
        }
        (_, "PLANNER_RESPONSE" | "NOTIFY_USER") => {
            if let Some(thought) = text(step, &["thinking"]).filter(|thought| !thought.is_empty()) {
                told.event(at, id, What::Reasoning { text: thought.to_owned() });
            }
            if !content.is_empty() {
                told.event(at, id, What::Assistant { text: content });
            }
            for call in items(step, &["tool_calls"]) {
                let name = text(call, &["name"]).unwrap_or_default();
                let input = call.get("args").or_else(|| call.get("arguments")).map(plain).unwrap_or_default();
                told.tool_call(at, text(call, &["id"]).or(id), name, input);
            }
        }
        (_, "CHECKPOINT") => told.event(at, id, What::Compaction),
        (_, "INVOKE_SUBAGENT") => {
            let session = text(step, &["conversationId"]).or_else(|| text(step, &["conversation_id"]));
            told.event(at, id, What::SubAgent { session: session.map(str::to_owned), name: None });
        }
        (_, "ERROR_MESSAGE") => told.event(at, id, What::Error { message: content }),
        // The answer of a tool has the tool's name as its kind.
        ("MODEL", _) => {
            let error = match text(step, &["status"]) {
                Some("DONE") => Some(false),
                Some("ERROR" | "FAILED") => Some(true),
                _ => None,
            };
            told.event(at, id, What::ToolResult { of: None, error, text: content });
        }
        _ => told.event(at, id, What::Other { name: kind.to_owned() }),
    }
}

/// A step's content: a text, or an object with one.
fn content(step: &Value) -> String {
    let Some(content) = step.get("content") else { return String::new() };
    let text = content.as_str().or_else(|| at(content, &["text"])?.as_str());
    text.unwrap_or_default().to_owned()
}

/// Arguments of calls are each the text of a JSON value.
fn plain(arguments: &Value) -> Value {
    let Value::Object(arguments) = arguments else { return arguments.clone() };
    let plain = |value: &Value| {
        let read = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        read.unwrap_or_else(|| value.clone())
    };
    Value::Object(arguments.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
}

/// What the user asked, without what the program put around it.
fn asked(content: &str) -> &str {
    let inner = content.split_once("<USER_REQUEST>").and_then(|(_, rest)| rest.split_once("</USER_REQUEST>"));
    inner.map_or(content, |(asked, _)| asked).trim()
}

/// The model that the program says was selected.
fn selected(content: &str) -> Option<&str> {
    let (_, after) = content.split_once("`Model Selection` from ")?;
    let (_, model) = after.lines().next()?.split_once(" to ")?;
    let model = model.split_once(". ").map_or(model, |(model, _)| model);
    let model = model.trim().trim_end_matches('.');
    (!model.is_empty() && model.len() <= 128).then_some(model)
}
