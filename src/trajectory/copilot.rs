//! Copilot CLI's session state.
//!
//! Invariant: every call of the model has a usage record of its own, those of sub-agents too, which work
//! in the file of the session that started them. The totals at a shutdown are the session's since its
//! beginning; they count only where an older version wrote no such records, as what they grew by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record;
use super::told::{LONGEST_PATH, Read, Told};
use crate::base::{Wall, micros};

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/events.jsonl"],
    documents: &["workspace.yaml"],
    // A session's directory is named after its id alone.
    directory: None,
    held: Some(held),
    pid_file: None,
});

/// While it works on a session, a process holds `SESSION/inuse.PID.hold` open.
fn held(path: &str) -> Option<String> {
    let (session, file) = path.split_once('/')?;
    let pid = file.strip_prefix("inuse.")?.strip_suffix(".hold")?;
    let number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    (number && !session.is_empty()).then(|| session.to_owned())
}

/// So many models' totals are kept apart.
const MODELS: usize = 64;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// When the session began: what is older was copied.
    #[serde(with = "micros::option")]
    born: Option<Wall>,
    /// The working directory that stands beside the stream, in case that no record says it.
    workspace: Option<String>,
    /// There is a record for each call.
    records: bool,
    /// By model: the totals of the last shutdown.
    totals: BTreeMap<String, Tokens>,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        if let Some((session, _)) = path.split_once('/') {
            session.clone_into(&mut told.session.id);
        }
    }

    fn document(&mut self, _name: &str, text: &[u8], told: &mut Told<'_>) {
        let text = String::from_utf8_lossy(text);
        if let Some(name) = plain(&text, "name") {
            told.session.title = Some(name);
        }
        if self.workspace.is_none() {
            self.workspace = plain(&text, "cwd").filter(|cwd| cwd.len() <= LONGEST_PATH);
        }
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(entry) = told.object(line) else { return };
        let at = record::instant(entry.get("timestamp"));
        let kind = record::text(&entry, &["type"]).unwrap_or_default();
        if kind == "session.start" && self.born.is_none() {
            self.born = record::instant(record::at(&entry, &["data", "startTime"])).or(at);
            told.seen(self.born);
        }
        let own = at.is_none() || self.born.is_none_or(|born| at >= Some(born));
        if own {
            told.seen(at);
        }
        let data = entry.get("data").unwrap_or(&Value::Null);
        let id = record::text(&entry, &["id"]);
        let sub_agent = entry.get("agentId").is_some_and(Value::is_string);
        Record { at, id, own, sub_agent, data }.tell(kind, self, told);
    }
}

/// One record.
struct Record<'a> {
    at: Option<Wall>,
    id: Option<&'a str>,
    /// Whether this session wrote it first.
    own: bool,
    /// A sub-agent of the session wrote it.
    sub_agent: bool,
    data: &'a Value,
}

impl Record<'_> {
    fn tell(&self, kind: &str, reader: &mut Reader, told: &mut Told<'_>) {
        let Self { at, id, data, .. } = *self;
        let text = |key| record::text(data, &[key]).unwrap_or_default().to_owned();
        match kind {
            "session.start" | "session.resume" => self.start(kind, reader, told),
            "session.model_change" => self.setting("newModel", told),
            "session.usage_record" => self.usage(reader, told),
            "session.shutdown" => {
                self.other(kind, told);
                self.totals(reader, told);
            }
            "session.compaction_complete" if data.get("success").and_then(Value::as_bool) != Some(false) => {
                told.event(at, id, What::Compaction);
            }
            "session.error" => told.event(at, id, What::Error { message: text("message") }),
            "model.call_failure" => told.event(at, id, What::Error { message: text("errorMessage") }),
            "session.title_changed" => {
                told.session.title = record::text(data, &["title"]).map(str::to_owned);
                self.other(kind, told);
            }
            "user.message" => told.event(at, id, What::User { text: text("content") }),
            "assistant.message" => self.answer(told),
            "assistant.reasoning" => told.event(at, id, What::Reasoning { text: text("content") }),
            "tool.execution_complete" => self.tool_result(told),
            "subagent.started" => {
                let name = record::text(data, &["agentName"]).map(str::to_owned);
                told.event(at, id, What::SubAgent { session: None, name });
            }
            _ => {
                const KNOWN: [&str; 12] = [
                    "session.",
                    "assistant.",
                    "tool.",
                    "user.",
                    "system.",
                    "hook.",
                    "skill.",
                    "subagent.",
                    "permission.",
                    "model.",
                    "command.",
                    "workflow.",
                ];
                if kind != "abort" && !KNOWN.iter().any(|known| kind.starts_with(known)) {
                    told.oddities.unknown(kind);
                }
                self.other(kind, told);
            }
        }
    }

    fn start(&self, kind: &str, reader: &Reader, told: &mut Told<'_>) {
        let cwd = record::text(self.data, &["context", "cwd"]).or(reader.workspace.as_deref());
        if let Some(cwd) = cwd {
            told.cwd(cwd);
        }
        let parent = record::text(self.data, &["detachedFromSpawningParentSessionId"]);
        if let Some(id) = parent.filter(|id| *id != told.session.id) {
            let parent = Parent { id: id.to_owned(), kinship: Kinship::SubAgent };
            told.session.parent.get_or_insert(parent);
        }
        self.other(kind, told);
        self.setting("selectedModel", told);
    }

    /// The model and the effort of the session; a sub-agent's are its own.
    fn setting(&self, model: &str, told: &mut Told<'_>) {
        if self.sub_agent {
            return self.other("session.model_change", told);
        }
        if let Some(model) = record::text(self.data, &[model]) {
            told.model(self.at, model);
        }
        if let Some(effort) = record::text(self.data, &["reasoningEffort"]) {
            told.event(self.at, self.id, What::Effort { effort: effort.to_owned() });
        }
    }

    fn answer(&self, told: &mut Told<'_>) {
        let Self { at, id, data, .. } = *self;
        let text = |key| record::text(data, &[key]).filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(text) = text("reasoningText") {
            told.event(at, id, What::Reasoning { text });
        }
        if let Some(text) = text("content") {
            told.event(at, id, What::Assistant { text });
        }
        if told.only_usage() {
            return;
        }
        for call in record::items(data, &["toolRequests"]) {
            let name = record::text(call, &["name"]).unwrap_or_default();
            let input = call.get("arguments").cloned().unwrap_or_default();
            let of = record::text(call, &["toolCallId"]).or(id);
            told.tool_call(at, of, name, input);
        }
    }

    fn tool_result(&self, told: &mut Told<'_>) {
        let Self { at, id, data, .. } = *self;
        let of = record::text(data, &["toolCallId"]).map(str::to_owned);
        let error = data.get("success").and_then(Value::as_bool).map(|success| !success);
        let text = record::text(data, &["result", "content"]);
        let text = text.or_else(|| record::text(data, &["error", "message"])).unwrap_or_default();
        told.event(at, id, What::ToolResult { of, error, text: text.to_owned() });
    }

    /// The input holds what the cache gave and took, and the output the reasoning. `cost` counts premium
    /// requests and no dollars.
    fn usage(&self, reader: &mut Reader, told: &mut Told<'_>) {
        let Some(usage) = self.data.get("usage") else { return self.other("session.usage_record", told) };
        reader.records = true;
        let source = record::text(usage, &["accounting", "sourceSessionId"]).unwrap_or_default();
        let elsewhere = !self.sub_agent && !source.is_empty() && source != told.session.id;
        if !self.own || elsewhere {
            return;
        }
        let source = if source.is_empty() { told.session.id.as_str() } else { source };
        let key = match record::number(usage, &["accounting", "sequence"]) {
            Some(sequence) => format!("{source}:{sequence}"),
            None => match self.id {
                Some(id) => format!("{source}:{id}"),
                None => format!("{source}#{}", told.place),
            },
        };
        let tokens = tokens(usage);
        let model = record::text(usage, &["model"]).map(str::to_owned);
        told.call(self.at, self.id, Call { key, model, tokens: Some(tokens), cost_usd: None });
        if !self.sub_agent && tokens.input > 0 {
            told.context(self.at, tokens.input, record::number(usage, &["maxPromptTokens"]));
        }
    }

    fn totals(&self, reader: &mut Reader, told: &mut Told<'_>) {
        let Some(metrics) = self.data.get("modelMetrics").and_then(Value::as_object) else { return };
        for (model, metric) in metrics {
            let total = metric.get("usage").map(tokens).unwrap_or_default();
            let more = reader.totals.len() < MODELS && record::short(model).is_some();
            if !more && !reader.totals.contains_key(model) {
                continue;
            }
            let before = reader.totals.insert(model.clone(), total).unwrap_or_default();
            if reader.records || !self.own {
                continue;
            }
            let shrunk =
                total.input < before.input || total.output < before.output || total.cached < before.cached;
            let before = if shrunk { Tokens::default() } else { before };
            let tokens = Tokens {
                input: total.input - before.input,
                cached: total.cached - before.cached,
                output: total.output - before.output,
            };
            let key = match self.id {
                Some(id) => format!("{}:{id}:{model}", told.session.id),
                None => format!("{}#{}:{model}", told.session.id, told.place),
            };
            let model = Some(model.clone());
            told.call(self.at, self.id, Call { key, model, tokens: Some(tokens), cost_usd: None });
        }
    }

    fn other(&self, name: &str, told: &mut Told<'_>) {
        told.event(self.at, self.id, What::Other { name: name.to_owned() });
    }
}

fn tokens(usage: &Value) -> Tokens {
    let count = |key| record::number(usage, &[key]).unwrap_or_default();
    Tokens { input: count("inputTokens"), cached: count("cacheReadTokens"), output: count("outputTokens") }
}

/// The value of a plain key of a YAML document, which is all that its writer makes.
fn plain(yaml: &str, key: &str) -> Option<String> {
    let value = yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let value = if let Some(text) = quoted('\'') {
        text.replace("''", "'")
    } else if let Some(text) = quoted('"') {
        serde_json::from_str(value).unwrap_or_else(|_| text.to_owned())
    } else {
        value.to_owned()
    };
    Some(value).filter(|value| !value.is_empty())
}
