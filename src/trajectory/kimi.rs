//! Kimi Code's `wire.jsonl`, one an agent of a session; and that of the older kimi-cli.
//!
//! `usage.record` is one model call. The file says a message up to three times (`turn.prompt`,
//! `context.append_*`, `agent.message.appended`): only what the context is made of is told. A fork begins
//! with the parent's lines up to a record `forked`: what stands before it is no usage of the fork.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{at, milliseconds, number, seconds, short, text, words};
use super::told::{Read, Told};
use crate::base::{Wall, micros};

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/*/agents/*/wire.jsonl", "*/*/wire.jsonl"],
    documents: &["../../state.json"],
    directory: Some(directory),
    held: Some(held),
    pid_file: None,
});

/// `wd_SLUG_HASH`: the last name made plain, and the beginning of the hash of the whole path.
fn directory(cwd: &str) -> String {
    const LONGEST: usize = 40;
    let cwd = cwd.replace('\\', "/");
    let cwd = cwd.trim_end_matches('/');
    let mut slug = String::new();
    for char in cwd.rsplit('/').next().unwrap_or(cwd).to_lowercase().chars() {
        if char.is_ascii_alphanumeric() || "._-".contains(char) {
            slug.push(char);
        } else if !slug.ends_with('\0') {
            // A run of other characters is one dash, also beside a dash of the name.
            slug.push('\0');
        }
    }
    let slug = slug.replace('\0', "-");
    let slug = slug.trim_matches('-');
    // All of it is ASCII by now.
    let slug = slug.get(..LONGEST).unwrap_or(slug).trim_matches('-');
    let slug = if matches!(slug, "" | "." | "..") { "workspace" } else { slug };
    format!("wd_{slug}_{:.12x}", Sha256::digest(cwd))
}

/// `BUCKET/SESSION/agents/AGENT/wire.jsonl` is of `SESSION`, and a sub-agent's of `SESSION/AGENT`.
fn held(path: &str) -> Option<String> {
    let mut steps = path.split('/').skip(1);
    let session = steps.next()?;
    match (steps.next()?, steps.next(), steps.next(), steps.next()) {
        ("agents", Some("main"), Some("wire.jsonl"), None) | ("wire.jsonl", None, None, None) => {
            Some(session.to_owned())
        }
        ("agents", Some(agent), Some("wire.jsonl"), None) => Some(format!("{session}/{agent}")),
        _ => None,
    }
}

/// A fork notes itself down about when it is made.
const NEAR: Duration = Duration::from_secs(5);

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// When the session was made as a fork: what is older is the parent's.
    #[serde(with = "micros::option")]
    forked: Option<Wall>,
    /// The step that goes on.
    step: String,
    /// Model calls of that step.
    calls: u64,
    /// Model calls outside any step.
    others: u64,
    effort: String,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        told.session.id = held(path).unwrap_or_default();
        // A sub-agent's id is made of its session's.
        if let Some((session, _)) = told.session.id.split_once('/') {
            told.session.parent = Some(Parent { id: session.to_owned(), kinship: Kinship::SubAgent });
        }
    }

    fn document(&mut self, _name: &str, document: &[u8], told: &mut Told<'_>) {
        let Some(state) = told.object(document) else { return };
        told.session.title = text(&state, &["title"]).map(str::to_owned);
        told.cwd(text(&state, &["cwd"]).unwrap_or_default());
        if let Some(parent) = text(&state, &["forkedFrom"]) {
            // A sub-agent's file that was copied with its session stays that session's sub-agent.
            let parent = Parent { id: parent.to_owned(), kinship: Kinship::Forked };
            told.session.parent.get_or_insert(parent);
            if told.session.started_at.is_none() {
                self.forked = milliseconds(state.get("createdAt"));
            }
        }
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let Some(record) = told.object(line) else { return };
        let Some(kind) = text(&record, &["type"]) else {
            return self.older(&record, told);
        };
        let at = milliseconds(record.get("time")).or_else(|| milliseconds(record.get("created_at")));
        if kind == "forked" {
            // The lines before it are a copy, whatever the state beside them says.
            told.session.started_at = None;
            told.session.last_at = None;
            if self.forked.is_none_or(|made| at.is_none_or(|at| at >= made - NEAR)) {
                self.forked = None;
            }
        }
        if self.forked.is_some_and(|made| at.is_some_and(|at| at >= made)) {
            self.forked = None;
        }
        if self.forked.is_none() {
            told.seen(at);
        }
        self.record(kind, &record, at, told);
    }
}

impl Reader {
    fn record(&mut self, kind: &str, record: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        match kind {
            "profile.bind" => {
                told.cwd(text(record, &["environmentDisclosure", "cwd"]).unwrap_or_default());
                self.effort(record, at, told);
            }
            "config.update" => self.effort(record, at, told),
            "llm.request" => {
                told.model(at, text(record, &["model"]).unwrap_or_default());
                self.effort(record, at, told);
            }
            "usage.record" => self.usage(record, at, told),
            "context.append_loop_event" => self.step_event(record, at, told),
            "context.append_message" => {
                let id = text(record, &["message", "id"]);
                let words = words(record.pointer("/message/content"));
                match text(record, &["message", "role"]) {
                    Some("user") => told.event(at, id, What::User { text: words }),
                    Some("assistant") => told.event(at, id, What::Assistant { text: words }),
                    _ => told.event(at, id, What::Other { name: kind.to_owned() }),
                }
            }
            "context.apply_compaction" => told.event(at, None, What::Compaction),
            "subagent.spawned" => {
                let session = text(record, &["subagentId"]).map(|agent| {
                    format!("{}/{agent}", told.session.id.split('/').next().unwrap_or_default())
                });
                let name = text(record, &["subagentName"]).map(str::to_owned);
                told.event(at, text(record, &["parentToolCallId"]), What::SubAgent { session, name });
            }
            "turn.ended" => {
                let reason = text(record, &["reason"]).unwrap_or_default();
                if reason != "completed" {
                    let message = text(record, &["error", "message"]).unwrap_or(reason).to_owned();
                    told.event(at, None, What::Error { message });
                }
            }
            // Of these nothing is of interest, or another record says the same.
            "metadata"
            | "runtime.set_binding"
            | "permission.set_mode"
            | "turn.prompt"
            | "agent.message.appended"
            | "agent.turn.started"
            | "agent.turn.ended"
            | "plugin.session_start"
            | "llm.tools_snapshot"
            | "token_counting.measured"
            | "token_counting.turn_recorded"
            | "prompt.completed" => {}
            "forked"
            | "context.clear"
            | "context.undo"
            | "turn.steer"
            | "turn.cancel"
            | "prompt.aborted"
            | "prompt.steered"
            | "full_compaction.begin"
            | "full_compaction.complete"
            | "full_compaction.cancel"
            | "subagent.started"
            | "subagent.completed"
            | "subagent.failed"
            | "subagent.cancelled"
            | "task.started"
            | "task.terminated"
            | "task.notified"
            | "file_history.tracked"
            | "file_history.checkpoint"
            | "plan_mode.enter"
            | "plan_mode.exit"
            | "skill.activated" => {
                told.event(at, None, What::Other { name: kind.to_owned() });
            }
            _ => {
                told.oddities.unknown(kind);
                told.event(at, None, What::Other { name: kind.to_owned() });
            }
        }
    }

    fn step_event(&mut self, record: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        let Some(event) = record.get("event") else { return };
        let id = text(event, &["uuid"]);
        match text(event, &["type"]).unwrap_or_default() {
            "step.begin" => {
                id.and_then(short).unwrap_or_default().clone_into(&mut self.step);
                self.calls = 0;
            }
            "step.end" => {
                // Before there were `usage.record`s, a step's end said what it used.
                if self.calls == 0 {
                    id.and_then(short).unwrap_or_default().clone_into(&mut self.step);
                    self.usage(event, at, told);
                }
                self.step.clear();
                self.calls = 0;
            }
            "content.part" => {
                let text = text(event, &["part", "text"]).or_else(|| text(event, &["part", "think"]));
                let text = text.unwrap_or_default().to_owned();
                let thinks = event.pointer("/part/type").and_then(Value::as_str) == Some("think");
                told.event(at, id, if thinks { What::Reasoning { text } } else { What::Assistant { text } });
            }
            "tool.call" => {
                let name = text(event, &["name"]).unwrap_or_default();
                let input = event.get("args").cloned().unwrap_or_default();
                told.tool_call(at, text(event, &["toolCallId"]), name, input);
            }
            "tool.result" => {
                let what = What::ToolResult {
                    of: text(event, &["toolCallId"]).map(str::to_owned),
                    error: at_flag(event),
                    text: words(event.pointer("/result/output")),
                };
                told.event(at, None, what);
            }
            kind => {
                told.oddities.unknown(kind);
                told.event(at, id, What::Other { name: kind.to_owned() });
            }
        }
    }

    fn usage(&mut self, record: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        let Some(usage) = record.get("usage") else { return };
        // A fork copies the ids of steps, so they are the calls' identity wherever they stand.
        let key = if self.step.is_empty() {
            self.others += 1;
            format!("{}#{}", told.session.id, self.others)
        } else {
            self.calls += 1;
            match self.calls {
                1 => self.step.clone(),
                nth => format!("{}#{nth}", self.step),
            }
        };
        let count = |name| number(usage, &[name]).unwrap_or_default();
        let cached = count("inputCacheRead");
        let input = count("inputOther").saturating_add(cached).saturating_add(count("inputCacheCreation"));
        let tokens = Tokens { input, cached, output: count("output") };
        if self.forked.is_some() {
            return;
        }
        // The record names the user's alias of the model, the request before it the model itself.
        let model = told.session.model.as_deref().or_else(|| text(record, &["model"]));
        let model = model.map(str::to_owned);
        told.call(at, None, Call { key, model, tokens: Some(tokens), cost_usd: None });
        if input > 0 {
            told.context(at, input, None);
        }
    }

    fn effort(&mut self, record: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        told.effort(at, text(record, &["thinkingEffort"]).unwrap_or_default(), &mut self.effort);
    }

    /// kimi-cli's records: a time in seconds and a message.
    fn older(&mut self, record: &Value, told: &mut Told<'_>) {
        let at = seconds(record.get("timestamp"));
        told.seen(at);
        let Some(kind) = text(record, &["message", "type"]) else {
            return told.oddities.unknown("");
        };
        let payload = record.pointer("/message/payload").unwrap_or(&Value::Null);
        match kind {
            "TurnBegin" => told.event(at, None, What::User { text: words(payload.get("user_input")) }),
            "StepBegin" | "TurnEnd" => {}
            "ContentPart" => {
                let thinks = text(payload, &["type"]) == Some("think");
                let text = text(payload, &["text"]).or_else(|| text(payload, &["think"]));
                let text = text.unwrap_or_default().to_owned();
                told.event(
                    at,
                    None,
                    if thinks { What::Reasoning { text } } else { What::Assistant { text } },
                );
            }
            "ToolCall" => {
                let name = text(payload, &["function", "name"]).unwrap_or_default();
                let input = payload.pointer("/function/arguments").cloned().unwrap_or_default();
                told.tool_call(at, text(payload, &["id"]), name, input);
            }
            "ToolResult" => {
                let of = text(payload, &["tool_call_id"]).map(str::to_owned);
                let error = payload.pointer("/return_value/is_error").and_then(Value::as_bool);
                let text = words(payload.pointer("/return_value/output"));
                told.event(at, None, What::ToolResult { of, error, text });
            }
            "StatusUpdate" => {
                if let Some(usage) = payload.get("token_usage").filter(|usage| usage.is_object()) {
                    let count = |name| number(usage, &[name]).unwrap_or_default();
                    let cached = count("input_cache_read");
                    let input = count("input_other").saturating_add(cached);
                    let input = input.saturating_add(count("input_cache_creation"));
                    let tokens = Some(Tokens { input, cached, output: count("output") });
                    self.others += 1;
                    let nth = self.others.to_string();
                    let id = text(payload, &["message_id"]).unwrap_or(&nth);
                    let key = format!("{}#{id}", told.session.id);
                    told.call(at, None, Call { key, model: None, tokens, cost_usd: None });
                }
                if let Some(used) = number(payload, &["context_tokens"]) {
                    told.context(at, used, number(payload, &["max_context_tokens"]));
                }
            }
            _ => {
                told.oddities.unknown(kind);
                told.event(at, None, What::Other { name: kind.to_owned() });
            }
        }
    }
}

/// Whether a tool's result says that it failed.
fn at_flag(event: &Value) -> Option<bool> {
    at(event, &["result", "isError"]).and_then(Value::as_bool)
}
