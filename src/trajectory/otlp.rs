//! Events as spans of OpenTelemetry, in the names of its GenAI semantic conventions.
//!
//! Invariants: the ids of a trace and its spans depend on the format, the session's native id and the event's
//! own id or place alone, so that a second export is the same; durations are those that the agent recorded;
//! nothing that was said, and no argument or result of a tool, is exported; memory is bounded.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::model::{Call, Event, Tokens, What};
use crate::base::Wall;

/// So many calls of tools wait for their results, and of models for their last numbers.
const TOOLS: usize = 1024;
const CHATS: usize = 64;

const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// What the spans of one session belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The agent: the name of the format.
    pub agent: String,
    /// The native id of the session.
    pub session: String,
    /// That of the topmost session above it, whose trace it is part of.
    pub top: String,
    /// The session whose sub-agent wrote it.
    pub parent: Option<String>,
}

/// Turns the events of a session into spans as they come.
#[derive(Debug)]
pub struct Spans {
    trace: Trace,
    begun: Option<Wall>,
    last: Option<Wall>,
    /// When the model was last given something to answer.
    asked: Option<Wall>,
    /// Its answer: from when it was asked, and the latest part.
    answer: Option<(Option<Wall>, Wall)>,
    model: Option<String>,
    tools: VecDeque<Span>,
    chats: VecDeque<Chat>,
    total: Tokens,
    cost_usd: Option<f64>,
    /// The last error, while nothing went well after it.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Span {
    /// What it is told by: the agent's id of it.
    key: String,
    id: String,
    name: String,
    kind: u8,
    from: Option<Wall>,
    to: Option<Wall>,
    attributes: Map<String, Value>,
    /// What went wrong.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Chat {
    call: Call,
    from: Option<Wall>,
    to: Option<Wall>,
}

impl Spans {
    /// Begins with a session that began then.
    #[must_use]
    pub fn new(trace: Trace, begun: Option<Wall>) -> Self {
        Self {
            trace,
            begun,
            last: begun,
            asked: begun,
            answer: None,
            model: None,
            tools: VecDeque::new(),
            chats: VecDeque::new(),
            total: Tokens::default(),
            cost_usd: None,
            trouble: None,
        }
    }

    /// Takes an event, and emits the spans that are complete by it.
    pub fn event(&mut self, event: &Event, emit: &mut dyn FnMut(&Value)) {
        let at = event.at.or(self.last);
        self.begun = self.begun.or(at);
        self.last = at.max(self.last);
        match &event.what {
            What::User { .. } => self.ask(at),
            What::Assistant { .. } | What::Reasoning { .. } => self.answered(at),
            What::ToolCall { name, action, targets, .. } => {
                self.answered(at);
                let mut attributes = self.attributes("execute_tool");
                attributes.insert("gen_ai.tool.name".to_owned(), json!(name));
                if let Some(id) = &event.id {
                    attributes.insert("gen_ai.tool.call.id".to_owned(), json!(id));
                }
                attributes.insert("harnessd.tool.action".to_owned(), json!(action));
                if !targets.is_empty() {
                    attributes.insert("harnessd.tool.targets".to_owned(), json!(targets));
                }
                let key = identity(event);
                let id = self.span_id("tool", &key);
                let name = format!("execute_tool {name}");
                let (kind, trouble) = (INTERNAL, None);
                self.tools.push_back(Span { key, id, name, kind, from: at, to: at, attributes, trouble });
                if self.tools.len() > TOOLS
                    && let Some(oldest) = self.tools.pop_front()
                {
                    emit(&self.span(oldest));
                }
            }
            What::ToolResult { of, error, .. } => {
                self.ask(at);
                let called = of.as_ref().and_then(|of| self.tools.iter().position(|one| one.key == *of));
                if let Some(mut span) = called.and_then(|at| self.tools.remove(at)) {
                    span.to = at.max(span.from);
                    span.trouble = (*error == Some(true)).then(String::new);
                    emit(&self.span(span));
                }
            }
            What::Model { model } => self.model = Some(model.clone()),
            What::Usage(call) => self.call(call, at, emit),
            What::Error { message } => {
                let id = self.span_id("error", &identity(event));
                let chat = Chat {
                    call: Call {
                        key: String::new(),
                        model: self.model.clone(),
                        tokens: None,
                        cost_usd: None,
                    },
                    from: self.asked,
                    to: at,
                };
                let failed = self.chat(chat, id, Some(message.clone()));
                emit(&self.span(failed));
                self.trouble = Some(message.clone());
                self.ask(at);
            }
            What::Effort { .. }
            | What::Context { .. }
            | What::Compaction
            | What::SubAgent { .. }
            | What::Output { .. }
            | What::Other { .. } => {}
        }
    }

    /// Nothing follows: emits what waits, and the span of the session last.
    pub fn finish(mut self, emit: &mut dyn FnMut(&Value)) {
        while let Some(chat) = self.chats.pop_front() {
            let span = self.counted(chat);
            emit(&self.span(span));
        }
        while let Some(tool) = self.tools.pop_front() {
            emit(&self.span(tool));
        }
        let mut attributes = self.attributes("invoke_agent");
        attributes.insert("gen_ai.usage.input_tokens".to_owned(), json!(self.total.input));
        attributes.insert("gen_ai.usage.output_tokens".to_owned(), json!(self.total.output));
        attributes.insert("gen_ai.usage.cache_read.input_tokens".to_owned(), json!(self.total.cached));
        if let Some(model) = &self.model {
            attributes.insert("gen_ai.request.model".to_owned(), json!(model));
        }
        if let Some(cost) = self.cost_usd {
            attributes.insert("harnessd.cost_usd".to_owned(), json!(cost));
        }
        let root = Span {
            key: String::new(),
            id: self.root_id(&self.trace.session),
            name: format!("invoke_agent {}", self.trace.agent),
            kind: INTERNAL,
            from: self.begun,
            to: self.last,
            attributes,
            trouble: self.trouble.clone(),
        };
        emit(&self.span(root));
    }

    fn ask(&mut self, at: Option<Wall>) {
        self.asked = at.or(self.asked);
        self.answer = None;
    }

    fn answered(&mut self, at: Option<Wall>) {
        if let Some(at) = at {
            let asked = self.answer.map_or(self.asked, |(asked, _)| asked);
            self.answer = Some((asked, at));
        }
    }

    fn call(&mut self, call: &Call, at: Option<Wall>, emit: &mut dyn FnMut(&Value)) {
        self.trouble = None;
        if call.tokens.is_none() {
            self.cost_usd = add(self.cost_usd, call.cost_usd);
            return;
        }
        let (from, to) = self.answer.take().map_or((self.asked, at), |(asked, last)| (asked, Some(last)));
        match self.chats.iter_mut().find(|chat| chat.call.key == call.key) {
            Some(chat) => {
                chat.call = call.clone();
                chat.to = to.max(chat.to);
            }
            None => self.chats.push_back(Chat { call: call.clone(), from: from.min(to), to }),
        }
        self.asked = to.or(self.asked);
        if self.chats.len() > CHATS
            && let Some(oldest) = self.chats.pop_front()
        {
            let span = self.counted(oldest);
            emit(&self.span(span));
        }
    }

    /// A call whose numbers are the last ones.
    fn counted(&mut self, chat: Chat) -> Span {
        let tokens = chat.call.tokens.unwrap_or_default();
        self.total.input = self.total.input.saturating_add(tokens.input);
        self.total.cached = self.total.cached.saturating_add(tokens.cached);
        self.total.output = self.total.output.saturating_add(tokens.output);
        self.cost_usd = add(self.cost_usd, chat.call.cost_usd);
        let id = self.span_id("chat", &chat.call.key);
        self.chat(chat, id, None)
    }

    fn chat(&self, Chat { call, from, to }: Chat, id: String, trouble: Option<String>) -> Span {
        let mut attributes = self.attributes("chat");
        let model = call.model.as_deref().or(self.model.as_deref());
        if let Some(model) = model {
            attributes.insert("gen_ai.request.model".to_owned(), json!(model));
        }
        if let Some(tokens) = call.tokens {
            attributes.insert("gen_ai.usage.input_tokens".to_owned(), json!(tokens.input));
            attributes.insert("gen_ai.usage.output_tokens".to_owned(), json!(tokens.output));
            attributes.insert("gen_ai.usage.cache_read.input_tokens".to_owned(), json!(tokens.cached));
        }
        if let Some(cost) = call.cost_usd {
            attributes.insert("harnessd.cost_usd".to_owned(), json!(cost));
        }
        let name = model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
        Span { key: call.key, id, name, kind: CLIENT, from, to, attributes, trouble }
    }

    /// What every span says.
    fn attributes(&self, operation: &str) -> Map<String, Value> {
        [
            ("gen_ai.operation.name", operation),
            ("gen_ai.agent.name", &self.trace.agent),
            ("gen_ai.conversation.id", &self.trace.session),
        ]
        .into_iter()
        .chain(provider(&self.trace.agent).map(|name| ("gen_ai.provider.name", name)))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
    }

    fn span(&self, span: Span) -> Value {
        let mut attributes = span.attributes;
        if span.trouble.is_some() {
            attributes.insert("error.type".to_owned(), json!("_OTHER"));
        }
        let root = self.root_id(&self.trace.session);
        let parent = match &self.trace.parent {
            _ if span.id != root => Some(root),
            above => above.as_ref().map(|above| self.root_id(above)),
        };
        let from = span.from.or(span.to);
        let mut value = json!({
            "traceId": digest(&[&self.trace.agent, &self.trace.top], 16),
            "spanId": span.id,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": nanos(from),
            "endTimeUnixNano": nanos(span.to.max(from)),
            "attributes": attributes_of(&attributes),
        });
        if let Some(parent) = parent {
            value["parentSpanId"] = json!(parent);
        }
        if let Some(trouble) = span.trouble {
            value["status"] = match trouble.is_empty() {
                true => json!({ "code": FAILED }),
                false => json!({ "code": FAILED, "message": trouble }),
            };
        }
        value
    }

    fn span_id(&self, kind: &str, key: &str) -> String {
        digest(&[&self.trace.agent, &self.trace.session, kind, key], 8)
    }

    fn root_id(&self, session: &str) -> String {
        digest(&[&self.trace.agent, session, "session", ""], 8)
    }
}

/// What stands before and after the spans of a request to a collector (`ExportTraceServiceRequest`); they are
/// separated by commas.
#[must_use]
pub fn envelope(resource: &[(&str, &str)], version: &str) -> (String, &'static str) {
    let attributes: Map<String, Value> =
        resource.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let resource = json!({ "attributes": attributes_of(&attributes) });
    let scope = json!({ "name": "harnessd", "version": version });
    let head = format!(
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":["
    );
    (head, "]}]}]}")
}

/// The provider as far as the agent tells it by being that provider's own. The conventions ask for the best
/// that is known, though another model may stand behind an address; of an agent for any provider nothing is.
fn provider(agent: &str) -> Option<&'static str> {
    Some(match agent {
        "claude-code" => "anthropic",
        "codex" => "openai",
        "gemini" | "antigravity" => "gcp.gemini",
        "grok" => "x_ai",
        "vibe" => "mistral_ai",
        _ => return None,
    })
}

/// The agent's own id of an event, else its place.
fn identity(event: &Event) -> String {
    event.id.clone().unwrap_or_else(|| format!("{}.{}", event.place.0, event.place.1))
}

fn add(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(((one + other) * 1e9).round() / 1e9),
        (one, other) => one.or(other),
    }
}

/// The first bytes of a hash, as hex.
fn digest(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    format!("{:.*x}", bytes * 2, hash.finalize())
}

/// Nanoseconds since 1970; OTLP writes 64-bit numbers as strings.
fn nanos(at: Option<Wall>) -> String {
    let micros = at.map_or(0, |at| at.0.max(0));
    (i128::from(micros) * 1000).to_string()
}

fn attributes_of(attributes: &Map<String, Value>) -> Vec<Value> {
    attributes.iter().map(|(key, value)| json!({ "key": key, "value": any_value(value) })).collect()
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Array(items) => {
            json!({ "arrayValue": { "values": items.iter().map(any_value).collect::<Vec<_>>() } })
        }
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Null | Value::Object(_) => json!({ "stringValue": value.to_string() }),
    }
}

#[cfg(test)]
mod tests;
