//! Gemini CLI's chats: a header, messages, and patches of what the program keeps in memory.
//!
//! Invariant: a message is written again under its id whenever something has come to it, so only what a
//! repetition adds is told; of its usage the last one counts. A patch that replaces the messages repeats
//! them without their usage and tells nothing of its own.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record;
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    // A sub-agent's chat lies in a directory named after the session that started it.
    streams: &["*/chats/session-*.jsonl", "*/chats/*/*.jsonl"],
    // No record says the working directory; the directory of the chats does.
    documents: &[ROOT, "../../.project_root"],
    directory: Some(directory),
    held: None,
    pid_file: None,
});

/// Beside `chats`: the working directory of all of them.
const ROOT: &str = "../.project_root";

/// The directory that Gemini CLI makes of a working directory: its last name in lower case, with a dash for
/// whatever is no letter or digit of ASCII. A second working directory of that name gets `-1` after it.
fn directory(cwd: &str) -> String {
    let name = cwd.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.is_empty() { "project".to_owned() } else { slug }
}

/// So many of the latest messages are remembered; only the last one is ever written again.
const MESSAGES: usize = 8;

/// So many of the latest answers of tools are remembered.
const ANSWERS: usize = 64;

/// So many calls of one message are remembered.
const CALLS: usize = 1024;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The latest messages of the model.
    messages: VecDeque<Message>,
    /// The ids of the latest tool calls that were answered.
    answered: VecDeque<String>,
    /// Whether any message was read.
    begun: bool,
}

/// How much of a message is told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Message {
    id: String,
    thoughts: usize,
    words: usize,
    calls: Vec<String>,
    tokens: Option<Tokens>,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        let steps: Vec<&str> = path.split('/').collect();
        if let [_, "chats", parent, file] = *steps.as_slice() {
            let id = file.strip_suffix(".jsonl").unwrap_or(file);
            id.clone_into(&mut told.session.id);
            told.session.parent = Some(Parent { id: parent.to_owned(), kinship: Kinship::SubAgent });
        }
    }

    fn document(&mut self, _name: &str, text: &[u8], told: &mut Told<'_>) {
        told.cwd(String::from_utf8_lossy(text).trim());
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(entry) = told.object(line) else { return };
        let at = record::instant(entry.get("timestamp"));
        if let Some(to) = record::text(&entry, &["$rewindTo"]) {
            told.event(None, Some(to), What::Other { name: "$rewindTo".to_owned() });
        } else if let Some(id) = record::text(&entry, &["id"]) {
            told.seen(at);
            self.begun = true;
            self.message(&entry, id, at, told);
        } else if let Some(patch) = entry.get("$set") {
            self.patch(patch, told);
        } else if let Some(id) = record::text(&entry, &["sessionId"]) {
            // A resumed session gets a header again.
            if told.session.id.is_empty() {
                id.clone_into(&mut told.session.id);
            }
            told.seen(record::instant(entry.get("startTime")));
        } else {
            told.oddities.unknown("?");
            told.event(at, None, What::Other { name: "?".to_owned() });
        }
    }
}

impl Reader {
    fn patch(&mut self, patch: &Value, told: &mut Told<'_>) {
        let at = record::instant(patch.get("lastUpdated"));
        told.seen(at);
        if let Some(summary) = record::text(patch, &["summary"]) {
            told.session.title = Some(summary.to_owned());
        }
        if patch.get("messages").is_none() {
            return;
        }
        if self.begun {
            return told.event(at, None, What::Other { name: "$set.messages".to_owned() });
        }
        // What the program says to the model before anybody else does.
        for message in record::items(patch, &["messages"]) {
            let id = record::text(message, &["id"]);
            let at = record::instant(message.get("timestamp"));
            told.event(at, id, What::User { text: record::words(message.get("content")) });
        }
    }

    fn message(&mut self, entry: &Value, id: &str, at: Option<Wall>, told: &mut Told<'_>) {
        match record::text(entry, &["type"]).unwrap_or_default() {
            "user" => self.user(entry, id, at, told),
            "gemini" => self.gemini(entry, id, at, told),
            "error" => told.event(at, Some(id), What::Error { message: record::words(entry.get("content")) }),
            kind => {
                if !matches!(kind, "info" | "warning") {
                    told.oddities.unknown(kind);
                }
                told.event(at, Some(id), What::Other { name: kind.to_owned() });
            }
        }
    }

    /// What the user said, or what tools answered: that was mostly told with the call already.
    fn user(&mut self, entry: &Value, id: &str, at: Option<Wall>, told: &mut Told<'_>) {
        let content = entry.get("content");
        let mut answers = false;
        for part in record::items(entry, &["content"]) {
            if let Some(response) = part.get("functionResponse") {
                answers = true;
                let call = record::text(response, &["id"]).unwrap_or_default();
                if self.answer(call) {
                    let of = Some(call.to_owned()).filter(|call| !call.is_empty());
                    told.event(at, Some(id), What::ToolResult { of, error: None, text: answer(response) });
                }
            }
        }
        let text = record::words(content);
        if !answers || !text.is_empty() {
            told.event(at, Some(id), What::User { text });
        }
    }

    fn gemini(&mut self, entry: &Value, id: &str, at: Option<Wall>, told: &mut Told<'_>) {
        let known = self.messages.iter().position(|message| message.id == id);
        let mut message = known.and_then(|at| self.messages.remove(at)).unwrap_or_default();
        id.clone_into(&mut message.id);
        if let Some(model) = record::text(entry, &["model"]) {
            told.model(at, model);
        }
        let thoughts = record::items(entry, &["thoughts"]);
        for thought in thoughts.iter().skip(message.thoughts) {
            let part = |key| record::text(thought, &[key]).unwrap_or_default();
            let text = [part("subject"), part("description")].join("\n").trim().to_owned();
            told.event(record::instant(thought.get("timestamp")).or(at), Some(id), What::Reasoning { text });
        }
        message.thoughts = message.thoughts.max(thoughts.len());
        let text = record::words(entry.get("content"));
        if text.len() > message.words {
            message.words = text.len();
            told.event(at, Some(id), What::Assistant { text });
        }
        for call in record::items(entry, &["toolCalls"]) {
            self.call(call, &mut message, at, told);
        }
        message.usage(entry, at, told);
        if record::short(id).is_some() {
            self.messages.push_back(message);
        }
        if self.messages.len() > MESSAGES {
            self.messages.pop_front();
        }
    }

    fn call(&mut self, call: &Value, message: &mut Message, at: Option<Wall>, told: &mut Told<'_>) {
        let at = record::instant(call.get("timestamp")).or(at);
        let id = record::text(call, &["id"]).unwrap_or_default();
        if !message.calls.iter().any(|known| known == id) {
            if message.calls.len() < CALLS && record::short(id).is_some() {
                message.calls.push(id.to_owned());
            }
            let name = record::text(call, &["name"]).unwrap_or_default();
            let input = call.get("args").cloned().unwrap_or_default();
            told.tool_call(at, Some(id), name, input);
        }
        let status = record::text(call, &["status"]).unwrap_or_default();
        let ended = matches!(status, "success" | "error" | "cancelled");
        if ended && self.answer(id) {
            let results = record::items(call, &["result"]);
            let texts = results.iter().filter_map(|part| part.get("functionResponse")).map(answer);
            let text = texts.collect::<Vec<_>>().join("\n");
            let error = Some(status != "success");
            told.event(at, Some(id), What::ToolResult { of: Some(id.to_owned()), error, text });
        }
    }

    /// Whether a call's answer is a new one.
    fn answer(&mut self, call: &str) -> bool {
        if call.is_empty() || record::short(call).is_none() {
            return true;
        }
        if self.answered.iter().any(|known| known == call) {
            return false;
        }
        self.answered.push_back(call.to_owned());
        if self.answered.len() > ANSWERS {
            self.answered.pop_front();
        }
        true
    }
}

impl Message {
    /// The input holds what came from the cache. Thoughts stand beside the output, and what tools put into
    /// the prompt beside the input, unless the total says otherwise.
    fn usage(&mut self, entry: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        let Some(stated) = entry.get("tokens").filter(|tokens| tokens.is_object()) else { return };
        let count = |key| record::number(stated, &[key]).unwrap_or_default();
        let (input, output, total) = (count("input"), count("output"), count("total"));
        let inside = total > 0 && total <= input.saturating_add(output);
        let beside = |key| if inside { 0 } else { count(key) };
        let tokens = Tokens {
            input: input.saturating_add(beside("tool")),
            cached: count("cached"),
            output: output.saturating_add(beside("thoughts")),
        };
        if self.tokens.replace(tokens) == Some(tokens) {
            return;
        }
        let call = Call {
            key: format!("{}:{}", told.session.id, self.id),
            model: record::text(entry, &["model"]).map(str::to_owned),
            tokens: Some(tokens),
            cost_usd: None,
        };
        told.call(at, Some(&self.id), call);
        if tokens.input > 0 {
            told.context(at, tokens.input, None);
        }
    }
}

/// What a tool answered, as text.
fn answer(response: &Value) -> String {
    let response = response.get("response");
    let text = response.and_then(|response| response.get("output").or_else(|| response.get("error")));
    match text.or(response) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
