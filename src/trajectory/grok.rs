//! Grok Build's session directories: the updates of a session, and its summary beside them.
//!
//! Usage is stated once a turn, for all model calls of it, those of the turn's sub-agents included: a
//! sub-agent's own file therefore tells none, and one that outlives its turn is counted by its parent, by
//! the unsplit total that is stated at its end. A fork copies its parent's updates under its own session id;
//! the ids of events and of prompts stay, and by them a copy is known.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{at, instant, items, milliseconds, number, seconds, text, words};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/*/updates.jsonl"],
    documents: &["summary.json", "signals.json"],
    directory: Some(directory),
    held: Some(held),
    pid_file: None,
});

/// The path, percent-encoded. One that is too long for a file name is hashed, and said in a file `.cwd`:
/// of that nothing is foretold, so that the whole store is looked through.
fn directory(cwd: &str) -> String {
    const LONGEST: usize = 255;
    let mut name = String::new();
    for byte in cwd.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > LONGEST { String::new() } else { name }
}

/// `CWD/SESSION/…` is of `SESSION`.
fn held(path: &str) -> Option<String> {
    let mut steps = path.split('/').skip(1);
    let session = steps.next()?;
    steps.next()?;
    Some(session.to_owned())
}

/// So many sub-agents are remembered.
const SUB_AGENTS: usize = 256;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The session is a sub-agent's, whose usage its parent states.
    sub_agent: bool,
    /// The latest fill of the context that an update stated.
    used: u64,
    /// The size of the context, where stated.
    window: Option<u64>,
    /// Sub-agents that work, which the present turn started.
    working: Vec<String>,
    /// Sub-agents that work, whose turn has ended without them.
    late: Vec<String>,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        told.session.id = held(path).unwrap_or_default();
    }

    fn document(&mut self, name: &str, document: &[u8], told: &mut Told<'_>) {
        let Some(document) = told.object(document) else { return };
        if name == "signals.json" {
            self.window = number(&document, &["contextWindowTokens"]).filter(|window| *window > 0);
            return;
        }
        told.cwd(text(&document, &["info", "cwd"]).unwrap_or_default());
        told.session.title = text(&document, &["generated_title"]).map(str::to_owned);
        self.sub_agent = text(&document, &["session_kind"]) == Some("subagent");
        if let Some(parent) = text(&document, &["parent_session_id"]) {
            let kinship = match (self.sub_agent, document.get("forked_at")) {
                (true, _) => Kinship::SubAgent,
                (_, Some(at)) if !at.is_null() => Kinship::Forked,
                _ => Kinship::Resumed,
            };
            told.session.parent = Some(Parent { id: parent.to_owned(), kinship });
        }
        if told.session.started_at.is_none() {
            told.seen(instant(document.get("created_at")));
        }
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(record) = told.object(line) else { return };
        let Some(update) = at(&record, &["params", "update"]) else {
            return told.oddities.unknown(text(&record, &["method"]).unwrap_or_default());
        };
        // The time before is of the file's writing, which a fork does anew.
        let meta = at(&record, &["params", "_meta"]).unwrap_or(&Value::Null);
        let at = milliseconds(meta.get("agentTimestampMs")).or_else(|| seconds(record.get("timestamp")));
        let id = text(meta, &["eventId"]);
        // `SESSION-NUMBER` of the session that the event first stood in.
        let origin = id.and_then(|id| id.rsplit_once('-')).map(|(session, _)| session);
        let own = origin.is_none_or(|origin| origin == told.session.id);
        if own {
            told.seen(at);
            self.used = number(meta, &["totalTokens"]).unwrap_or(self.used);
        }
        self.update(update, at, id, own, told);
    }
}

impl Reader {
    fn update(&mut self, update: &Value, at: Option<Wall>, id: Option<&str>, own: bool, told: &mut Told<'_>) {
        let kind = text(update, &["sessionUpdate"]).unwrap_or_default();
        match kind {
            "user_message_chunk" => {
                told.model(at, text(update, &["_meta", "modelId"]).unwrap_or_default());
                told.event(at, id, What::User { text: words(update.get("content")) });
            }
            "agent_message_chunk" => {
                told.event(at, id, What::Assistant { text: words(update.get("content")) })
            }
            "agent_thought_chunk" => {
                told.event(at, id, What::Reasoning { text: words(update.get("content")) })
            }
            "tool_call" => {
                let name = text(update, &["_meta", "x.ai/tool", "name"]).or_else(|| text(update, &["title"]));
                let name = name.unwrap_or_default();
                let input = update.get("rawInput").cloned().unwrap_or_default();
                told.tool_call(at, text(update, &["toolCallId"]), name, input);
            }
            "tool_call_update" => tool_result(update, at, id, told),
            "turn_completed" => {
                if own && !self.sub_agent {
                    turn(update, at, id, told);
                }
                self.late.append(&mut self.working);
                self.late.truncate(SUB_AGENTS);
                if own && self.used > 0 {
                    told.context(at, self.used, self.window);
                }
                let reason = text(update, &["stop_reason"]).unwrap_or_default();
                if !matches!(reason, "" | "end_turn") {
                    let message = text(update, &["agent_result"]).unwrap_or(reason).to_owned();
                    told.event(at, id, What::Error { message });
                }
            }
            "subagent_spawned" => {
                let session = text(update, &["child_session_id"]).map(str::to_owned);
                if let Some(child) = session.clone().filter(|session| own && session.len() <= 128) {
                    self.spawned(child, told);
                }
                let name = text(update, &["subagent_type"]).map(str::to_owned);
                told.event(at, id, What::SubAgent { session, name });
            }
            "compaction"
            | "compact"
            | "compact_boundary"
            | "compaction_completed"
            | "auto_compact_completed" => {
                told.event(at, id, What::Compaction);
            }
            "background_tasks" | "available_commands_update" => {}
            "subagent_finished" => {
                self.ended(update, at, id, told);
                told.event(at, id, What::Other { name: kind.to_owned() });
            }
            "plan" | "current_mode_update" | "session_info_update" | "usage_update" => {
                told.event(at, id, What::Other { name: kind.to_owned() });
            }
            _ => {
                told.oddities.unknown(kind);
                told.event(at, id, What::Other { name: kind.to_owned() });
            }
        }
    }
}

impl Reader {
    /// A sub-agent works. Its own files do not say whose it is.
    fn spawned(&mut self, child: String, told: &mut Told<'_>) {
        let children = &mut told.session.children;
        if children.len() < SUB_AGENTS && !children.contains(&child) {
            children.push(child.clone());
        }
        if self.working.len() < SUB_AGENTS {
            self.working.push(child);
        }
    }

    /// A sub-agent has ended: the turn that goes on counts it, or else this.
    fn ended(&mut self, update: &Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
        let Some(child) = text(update, &["child_session_id"]) else { return };
        self.working.retain(|working| working != child);
        let before = self.late.len();
        self.late.retain(|late| late != child);
        if self.late.len() < before && !self.sub_agent {
            let input = number(update, &["tokens_used"]).unwrap_or_default();
            let tokens = Some(Tokens { input, ..Tokens::default() });
            told.call(at, id, Call { key: child.to_owned(), model: None, tokens, cost_usd: None });
        }
    }
}

/// Only an update with an end is a result; those before show what is under way.
fn tool_result(update: &Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
    let error = match text(update, &["status"]) {
        Some("completed") => false,
        Some("failed") => true,
        _ => return,
    };
    let of = text(update, &["toolCallId"]).map(str::to_owned);
    let text = items(update, &["content"]).iter().map(|part| words(part.get("content")));
    let text = text.collect::<Vec<_>>().join("\n");
    told.event(at, id, What::ToolResult { of, error: Some(error), text });
}

/// What a turn used, a model at a time.
fn turn(update: &Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
    let Some(usage) = update.get("usage") else { return };
    let prompt = match text(update, &["prompt_id"]).or(id) {
        Some(prompt) => prompt.to_owned(),
        None => format!("{}@{}", told.session.id, told.place),
    };
    let models = usage.get("modelUsage").and_then(Value::as_object).filter(|models| !models.is_empty());
    let Some(models) = models else {
        let call = Call { key: prompt, model: None, tokens: Some(tokens(usage)), cost_usd: cost(usage) };
        return told.call(at, id, call);
    };
    let alone = models.len() == 1;
    // A model's own cost, or the turn's where there is but one model.
    let of_model = |model| cost(model).or_else(|| cost(usage).filter(|_| alone));
    for (model, usage) in models {
        let key = if alone { prompt.clone() } else { format!("{prompt}/{model}") };
        let cost_usd = of_model(usage);
        told.call(at, id, Call { key, model: Some(model.clone()), tokens: Some(tokens(usage)), cost_usd });
    }
    if let Some(cost_usd) = cost(usage).filter(|_| models.values().all(|model| of_model(model).is_none())) {
        // The whole turn's: a cost of its own, beside the models' tokens.
        let key = format!("{prompt}/cost");
        told.call(at, id, Call { key, model: None, tokens: None, cost_usd: Some(cost_usd) });
    }
}

/// The prompt side includes what was read from and written to the cache, the output its reasoning.
fn tokens(usage: &Value) -> Tokens {
    let count = |name| number(usage, &[name]).unwrap_or_default();
    let input = count("inputTokens");
    Tokens { input, cached: count("cachedReadTokens").min(input), output: count("outputTokens") }
}

/// A tick is the ten thousand millionth part of a dollar.
fn cost(usage: &Value) -> Option<f64> {
    usage.get("costUsdTicks")?.as_f64().filter(|ticks| *ticks > 0.0).map(|ticks| ticks / 1e10)
}
