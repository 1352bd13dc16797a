//! Qwen Code's chats.
//!
//! Invariant: every call of the model is noted by a telemetry record, those of sub-agents and of the
//! program's own errands too, and only those are counted; an answer is counted by what it states itself
//! where no such record went before it. A sub-agent's own file repeats what its parent's notes, and so
//! does the history at the beginning of a fork.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record;
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/chats/*.jsonl", "*/subagents/*/agent-*.jsonl"],
    documents: &[],
    directory: Some(directory),
    held: None,
    pid_file: None,
});

/// The directory that Qwen Code makes of a working directory: a dash for every UTF-16 unit that is no
/// letter or digit of ASCII. Nothing is cut, however long it is.
fn directory(cwd: &str) -> String {
    let unit = |unit: u16| char::from_u32(unit.into()).filter(char::is_ascii_alphanumeric).unwrap_or('-');
    cwd.encode_utf16().map(unit).collect()
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// It is a sub-agent's file: its parent's counts its calls.
    sub_agent: bool,
    /// A call was noted whose answer has not come yet.
    noted: bool,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        let steps: Vec<&str> = path.split('/').collect();
        let stem = |file: &str| file.strip_suffix(".jsonl").unwrap_or(file).to_owned();
        match *steps.as_slice() {
            [_, "subagents", parent, file] => {
                self.sub_agent = true;
                told.session.id = format!("{parent}/{}", stem(file));
                told.session.parent = Some(Parent { id: parent.to_owned(), kinship: Kinship::SubAgent });
            }
            [_, "chats", file] => told.session.id = stem(file),
            _ => {}
        }
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(entry) = told.object(line) else { return };
        let at = record::instant(entry.get("timestamp"));
        let id = record::text(&entry, &["uuid"]);
        let from = record::text(&entry, &["forkedFrom", "sessionId"]);
        if let Some(id) = record::text(&entry, &["sessionId"]).filter(|_| told.session.id.is_empty()) {
            id.clone_into(&mut told.session.id);
        }
        if let Some(cwd) = record::text(&entry, &["cwd"]) {
            told.cwd(cwd);
        }
        match from {
            Some(from) => {
                let parent = Parent { id: from.to_owned(), kinship: Kinship::Forked };
                told.session.parent.get_or_insert(parent);
            }
            None => told.seen(at),
        }
        let own = from.is_none();
        Record { at, id, own, entry: &entry }.tell(self, told);
    }
}

/// One record.
struct Record<'a> {
    at: Option<Wall>,
    id: Option<&'a str>,
    /// Whether this session wrote it first.
    own: bool,
    entry: &'a Value,
}

impl Record<'_> {
    fn tell(&self, reader: &mut Reader, told: &mut Told<'_>) {
        match record::text(self.entry, &["type"]).unwrap_or_default() {
            "user" => self.user(told),
            "assistant" => self.assistant(reader, told),
            "tool_result" => self.tool_result(told),
            "system" => self.system(reader, told),
            kind => {
                told.oddities.unknown(kind);
                self.other(kind, told);
            }
        }
    }

    fn user(&self, told: &mut Told<'_>) {
        let text = record::words(record::at(self.entry, &["message", "parts"]));
        match record::text(self.entry, &["subtype"]) {
            Some(kind) if text.is_empty() => self.other(kind, told),
            _ => told.event(self.at, self.id, What::User { text }),
        }
    }

    fn assistant(&self, reader: &mut Reader, told: &mut Told<'_>) {
        let Self { at, entry, .. } = *self;
        let model = record::text(entry, &["model"]);
        if let Some(model) = model {
            told.model(at, model);
        }
        if !told.only_usage() {
            for part in record::items(entry, &["message", "parts"]) {
                self.part(part, told);
            }
        }
        let noted = std::mem::take(&mut reader.noted);
        let Some(usage) = entry.get("usageMetadata").filter(|_| self.own) else { return };
        let count = |key| record::number(usage, &[key]).unwrap_or_default();
        let tokens = tokens(
            count("promptTokenCount"),
            count("cachedContentTokenCount"),
            count("candidatesTokenCount"),
            count("thoughtsTokenCount"),
            count("totalTokenCount"),
        );
        if !noted && !reader.sub_agent {
            self.call(model, tokens, told);
        }
        if tokens.input > 0 {
            told.context(at, tokens.input, record::number(entry, &["contextWindowSize"]));
        }
    }

    fn part(&self, part: &Value, told: &mut Told<'_>) {
        let Self { at, id, .. } = *self;
        if let Some(call) = part.get("functionCall") {
            let name = record::text(call, &["name"]).unwrap_or_default();
            let input = call.get("args").cloned().unwrap_or_default();
            let of = record::text(call, &["id"]).or(id);
            told.tool_call(at, of, name, input);
        } else if let Some(text) = record::text(part, &["text"]) {
            let text = text.to_owned();
            let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
            told.event(at, id, if thought { What::Reasoning { text } } else { What::Assistant { text } });
        } else {
            self.other("part", told);
        }
    }

    fn tool_result(&self, told: &mut Told<'_>) {
        let Self { at, id, entry, .. } = *self;
        let call = record::text(entry, &["toolCallResult", "callId"]);
        let status = record::text(entry, &["toolCallResult", "status"]);
        let error = status.map(|status| status != "success");
        let parts = record::items(entry, &["message", "parts"]);
        let mut answers = parts.iter().filter_map(|part| part.get("functionResponse")).peekable();
        if answers.peek().is_none() {
            let of = call.map(str::to_owned);
            let text = record::words(record::at(entry, &["message", "parts"]));
            told.event(at, id, What::ToolResult { of, error, text });
        }
        for answer in answers {
            let of = record::text(answer, &["id"]).or(call).map(str::to_owned);
            let failed = record::at(answer, &["response", "error"]);
            let output = record::at(answer, &["response", "output"]).or(failed);
            let text = match output {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let error = error.or_else(|| failed.map(|_| true));
            told.event(at, id, What::ToolResult { of, error, text });
        }
    }

    fn system(&self, reader: &mut Reader, told: &mut Told<'_>) {
        let kind = record::text(self.entry, &["subtype"]).unwrap_or("system");
        let Some(payload) = self.entry.get("systemPayload") else { return self.other(kind, told) };
        match kind {
            "ui_telemetry" => return self.telemetry(payload, reader, told),
            "chat_compression" => return told.event(self.at, self.id, What::Compaction),
            "session_model" => {
                let model = record::text(payload, &["model"]).or_else(|| record::text(payload, &["modelId"]));
                if let Some(model) = model {
                    told.model(self.at, model);
                }
            }
            "parent_session" => {
                if let Some(id) = record::text(payload, &["parentSessionId"]) {
                    let parent = Parent { id: id.to_owned(), kinship: Kinship::SubAgent };
                    told.session.parent.get_or_insert(parent);
                }
            }
            "custom_title" => {
                if let Some(title) = record::text(payload, &["customTitle"]) {
                    told.session.title = Some(title.to_owned());
                }
            }
            _ => {}
        }
        self.other(kind, told);
    }

    fn telemetry(&self, payload: &Value, reader: &mut Reader, told: &mut Told<'_>) {
        let event = payload.get("uiEvent").unwrap_or(&Value::Null);
        let name = record::text(event, &["event.name"]).unwrap_or("ui_telemetry");
        match name {
            "qwen-code.api_response" => {
                if !self.own || reader.sub_agent {
                    return;
                }
                let count = |key| record::number(event, &[key]).unwrap_or_default();
                let tokens = tokens(
                    count("input_token_count"),
                    count("cached_content_token_count"),
                    count("output_token_count"),
                    count("thoughts_token_count"),
                    count("total_token_count"),
                );
                if event.get("subagent_name").is_none() {
                    reader.noted = true;
                }
                self.call(record::text(event, &["model"]), tokens, told);
            }
            "qwen-code.api_error" => {
                let message = record::text(event, &["error_message"]);
                let message = message.or_else(|| record::text(event, &["error"])).unwrap_or_default();
                told.event(self.at, self.id, What::Error { message: message.to_owned() });
            }
            _ => self.other(name, told),
        }
    }

    /// A copy of a record keeps its id.
    fn call(&self, model: Option<&str>, tokens: Tokens, told: &mut Told<'_>) {
        let key = match self.id {
            Some(id) => id.to_owned(),
            None => format!("{}#{}", told.session.id, told.place),
        };
        let call = Call { key, model: model.map(str::to_owned), tokens: Some(tokens), cost_usd: None };
        told.call(self.at, self.id, call);
    }

    fn other(&self, name: &str, told: &mut Told<'_>) {
        told.event(self.at, self.id, What::Other { name: name.to_owned() });
    }
}

/// The prompt holds what came from the cache. Whether the output holds the thoughts depends on the kind of
/// model server, and the total tells.
fn tokens(input: u64, cached: u64, output: u64, thoughts: u64, total: u64) -> Tokens {
    let apart = total > input.saturating_add(output);
    let output = if apart { output.saturating_add(thoughts) } else { output };
    // A total that is not split.
    let input = if input == 0 && output == 0 { total } else { input };
    Tokens { input, cached, output }
}
