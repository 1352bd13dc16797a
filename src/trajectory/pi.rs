//! pi's session files: a header, then entries that form a tree; what a reader tells is their order in the
//! file, for a branch that was left has been spent all the same.
//!
//! Invariant: a fork copies its parent's entries with their ids and times, so an entry that is older than
//! the header is history: told, but neither a call of this session nor a part of its time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record;
use super::told::{Read, Told};
use crate::base::{Wall, micros};

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    // A directory that was named for sessions alone has no directories in it.
    streams: &["*/*.jsonl", "*.jsonl"],
    documents: &[],
    directory: Some(directory),
    held: None,
    pid_file: None,
});

/// The directory that pi makes of a working directory; nothing is cut, however long it is.
fn directory(cwd: &str) -> String {
    let path = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// When the header was written: what is older was copied.
    #[serde(with = "micros::option")]
    born: Option<Wall>,
}

impl Read for Reader {
    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(entry) = told.object(line) else { return };
        let at = record::instant(entry.get("timestamp"));
        let kind = record::text(&entry, &["type"]).unwrap_or_default();
        if kind == "session" {
            return self.header(&entry, at, told);
        }
        let own = at.is_none() || self.born.is_none_or(|born| at >= Some(born));
        if own {
            told.seen(at);
        }
        Entry { at, id: record::text(&entry, &["id"]), own, entry: &entry }.tell(kind, told);
    }
}

impl Reader {
    fn header(&mut self, header: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        if self.born.is_none() {
            self.born = at;
        }
        if let Some(id) = record::text(header, &["id"]).filter(|_| told.session.id.is_empty()) {
            id.clone_into(&mut told.session.id);
        }
        if let Some(cwd) = record::text(header, &["cwd"]) {
            told.cwd(cwd);
        }
        if let Some(id) = record::text(header, &["parentSession"]).and_then(named) {
            told.session.parent.get_or_insert(Parent { id: id.to_owned(), kinship: Kinship::Forked });
        }
        told.seen(at);
    }
}

/// The id in a session file's name: it follows the time, in which no `_` is.
fn named(path: &str) -> Option<&str> {
    let name = path.rsplit(['/', '\\']).next()?.strip_suffix(".jsonl")?;
    Some(name.split_once('_').map_or(name, |(_, id)| id)).filter(|id| !id.is_empty())
}

/// One entry of the tree.
struct Entry<'a> {
    at: Option<Wall>,
    id: Option<&'a str>,
    /// Whether this session wrote it first.
    own: bool,
    entry: &'a Value,
}

impl Entry<'_> {
    fn tell(&self, kind: &str, told: &mut Told<'_>) {
        let Self { at, id, entry, .. } = *self;
        match kind {
            "message" => self.message(told),
            "model_change" => {
                if let Some(model) = record::text(entry, &["modelId"]) {
                    told.model(at, model);
                }
            }
            "thinking_level_change" => {
                if let Some(effort) = record::text(entry, &["thinkingLevel"]) {
                    told.event(at, id, What::Effort { effort: effort.to_owned() });
                }
            }
            "compaction" => {
                told.event(at, id, What::Compaction);
                self.usage(entry, told);
            }
            "custom_message" => {
                told.event(at, id, What::User { text: record::words(entry.get("content")) });
            }
            "session_info" => {
                if let Some(name) = record::text(entry, &["name"]) {
                    told.session.title = Some(name.to_owned());
                }
                self.other(kind, told);
            }
            "usage" | "branch_summary" => {
                self.other(kind, told);
                self.usage(entry, told);
            }
            "label" | "custom" | "context_edit" => self.other(kind, told),
            _ => {
                told.oddities.unknown(kind);
                self.other(kind, told);
            }
        }
    }

    fn message(&self, told: &mut Told<'_>) {
        let Self { at, id, entry, .. } = *self;
        let Some(message) = entry.get("message") else { return self.other("message", told) };
        let role = record::text(message, &["role"]).unwrap_or_default();
        if told.only_usage() && role != "assistant" {
            return;
        }
        match role {
            "user" => told.event(at, id, What::User { text: record::words(message.get("content")) }),
            "assistant" => self.assistant(message, told),
            "toolResult" => {
                let of = record::text(message, &["toolCallId"]).map(str::to_owned);
                let error = message.get("isError").and_then(Value::as_bool);
                let text = record::words(message.get("content"));
                told.event(at, id, What::ToolResult { of, error, text });
            }
            role @ ("system" | "custom" | "bashExecution" | "branchSummary" | "compactionSummary") => {
                self.other(role, told);
            }
            role => {
                told.oddities.unknown(role);
                self.other("message", told);
            }
        }
    }

    fn assistant(&self, message: &Value, told: &mut Told<'_>) {
        let Self { at, id, .. } = *self;
        if let Some(model) = record::text(message, &["model"]) {
            told.model(at, model);
        }
        if !told.only_usage() {
            for block in record::items(message, &["content"]) {
                self.block(block, told);
            }
        }
        if matches!(record::text(message, &["stopReason"]), Some("error" | "aborted")) {
            let words = record::text(message, &["errorMessage"]).unwrap_or_default();
            told.event(at, id, What::Error { message: words.to_owned() });
        }
        self.usage(message, told);
    }

    fn block(&self, block: &Value, told: &mut Told<'_>) {
        let Self { at, id, .. } = *self;
        let text = |key| record::text(block, &[key]).unwrap_or_default().to_owned();
        match record::text(block, &["type"]).unwrap_or_default() {
            "text" => told.event(at, id, What::Assistant { text: text("text") }),
            "thinking" => told.event(at, id, What::Reasoning { text: text("thinking") }),
            "toolCall" => {
                let name = text("name");
                let input = block.get("arguments").cloned().unwrap_or_default();
                let call = record::text(block, &["id"]).or(id);
                told.tool_call(at, call, &name, input);
            }
            kind => {
                told.oddities.unknown(kind);
                self.other(kind, told);
            }
        }
    }

    /// The usage that a message or another entry states. Its input leaves out what came from the cache;
    /// its output holds the reasoning.
    fn usage(&self, holder: &Value, told: &mut Told<'_>) {
        let Some(usage) = holder.get("usage").filter(|_| self.own) else { return };
        let count = |key| record::number(usage, &[key]).unwrap_or_default();
        let cached = count("cacheRead");
        let input = count("input").saturating_add(cached).saturating_add(count("cacheWrite"));
        let tokens = Tokens { input, cached, output: count("output") };
        let cost = record::at(usage, &["cost", "total"]).and_then(Value::as_f64);
        let call = Call {
            key: self.key(told),
            model: record::text(holder, &["model"]).map(str::to_owned),
            tokens: Some(tokens),
            cost_usd: cost.filter(|cost| *cost > 0.0),
        };
        told.call(self.at, self.id, call);
        let spoke = record::text(holder, &["role"]) == Some("assistant");
        if spoke && input > 0 {
            told.context(self.at, input, None);
        }
    }

    /// An entry keeps its id and its time in every copy. The id alone is too short to be the only one.
    fn key(&self, told: &Told<'_>) -> String {
        let time = self.at.map_or(0, |at| at.0);
        match self.id {
            Some(id) => format!("{id}@{time}"),
            None => format!("{}@{time}#{}", told.session.id, told.place),
        }
    }

    fn other(&self, name: &str, told: &mut Told<'_>) {
        told.event(self.at, self.id, What::Other { name: name.to_owned() });
    }
}
