//! The facts and numbers of a line, without its texts.
//!
//! Invariant: what `fast` makes of a line is what `loose` makes of the same line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::trajectory::model::Tokens;
use crate::trajectory::record;

/// A text that is borrowed from the line where nothing in it is escaped.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Word<'a>>,
    timestamp: Option<Word<'a>>,
    pub(super) ordinal: Option<u64>,
    pub(super) payload: Option<Payload<'a>>,
}

/// What the payloads of all kinds of lines state.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Word<'a>>,
    id: Option<Word<'a>>,
    session_id: Option<Word<'a>>,
    forked_from_id: Option<Word<'a>>,
    parent_thread_id: Option<Word<'a>>,
    timestamp: Option<Word<'a>>,
    cwd: Option<Word<'a>>,
    source: Option<Value>,
    model: Option<Word<'a>>,
    effort: Option<Word<'a>>,
    thread_id: Option<Word<'a>>,
    response_id: Option<Word<'a>>,
    usage: Option<Usage>,
    info: Option<Info>,
    model_context_window: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    total_token_usage: Option<Usage>,
    last_token_usage: Option<Usage>,
    model_context_window: Option<u64>,
}

/// The cache reads are part of the input, and the reasoning of the output.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Usage {
    fn tokens(self) -> Tokens {
        let input = self.input_tokens.unwrap_or(0);
        let cached = self.cached_input_tokens.unwrap_or(0).min(input);
        Tokens { input, cached, output: self.output_tokens.unwrap_or(0) }
    }

    fn loose(value: Option<&Value>) -> Option<Self> {
        let value = value.filter(|value| value.is_object())?;
        Some(Self {
            input_tokens: record::number(value, &["input_tokens"]),
            cached_input_tokens: record::number(value, &["cached_input_tokens"]),
            output_tokens: record::number(value, &["output_tokens"]),
        })
    }
}

macro_rules! words {
    ($($name:ident,)+) => {
        $(pub(super) fn $name(&self) -> Option<&str> {
            self.$name.as_ref().map(|word| &*word.0)
        })+
    };
}

fn word<'a>(value: &'a Value, key: &str) -> Option<Word<'a>> {
    record::text(value, &[key]).map(|text| Word(Cow::Borrowed(text)))
}

impl<'a> Line<'a> {
    /// The usual shapes.
    pub(super) fn fast(line: &'a [u8]) -> Option<Self> {
        let object = line.trim_ascii_start().starts_with(b"{");
        object.then(|| serde_json::from_slice(line).ok()).flatten()
    }

    /// Any shape: what is of another type is absent.
    pub(super) fn loose(value: &'a Value) -> Self {
        Self {
            kind: word(value, "type"),
            timestamp: word(value, "timestamp"),
            ordinal: record::number(value, &["ordinal"]),
            payload: value.get("payload").filter(|payload| payload.is_object()).map(Payload::loose),
        }
    }

    pub(super) fn kind(&self) -> &str {
        self.kind.as_ref().map_or("", |word| &*word.0)
    }

    words! { timestamp, }
}

impl<'a> Payload<'a> {
    fn loose(value: &'a Value) -> Self {
        Self {
            kind: word(value, "type"),
            id: word(value, "id"),
            session_id: word(value, "session_id"),
            forked_from_id: word(value, "forked_from_id"),
            parent_thread_id: word(value, "parent_thread_id"),
            timestamp: word(value, "timestamp"),
            cwd: word(value, "cwd"),
            source: value.get("source").cloned(),
            model: word(value, "model"),
            effort: word(value, "effort"),
            thread_id: word(value, "thread_id"),
            response_id: word(value, "response_id"),
            usage: Usage::loose(value.get("usage")),
            info: value.get("info").filter(|info| info.is_object()).map(|info| Info {
                total_token_usage: Usage::loose(info.get("total_token_usage")),
                last_token_usage: Usage::loose(info.get("last_token_usage")),
                model_context_window: record::number(info, &["model_context_window"]),
            }),
            model_context_window: record::number(value, &["model_context_window"]),
        }
    }

    pub(super) fn kind(&self) -> &str {
        self.kind.as_ref().map_or("", |word| &*word.0)
    }

    words! { id, timestamp, cwd, model, effort, thread_id, response_id, }

    pub(super) fn forked_from(&self) -> Option<&str> {
        self.forked_from_id.as_ref().map(|word| &*word.0)
    }

    /// The thread whose sub-agent this one is. `session_id` is that of the topmost one.
    pub(super) fn spawner(&self) -> Option<&str> {
        let subagent = self.source.as_ref().and_then(|source| source.get("subagent"));
        let spawn = subagent.and_then(|agent| record::text(agent, &["thread_spawn", "parent_thread_id"]));
        let parent = spawn.or(self.parent_thread_id.as_ref().map(|word| &*word.0));
        parent.or_else(|| subagent.and(self.session_id.as_ref()).map(|word| &*word.0))
    }

    pub(super) fn usage(&self) -> Option<Tokens> {
        self.usage.map(Usage::tokens)
    }

    /// The running total and the latest call.
    pub(super) fn counts(&self) -> Option<(Tokens, Option<Tokens>)> {
        let info = self.info.as_ref()?;
        Some((info.total_token_usage?.tokens(), info.last_token_usage.map(Usage::tokens)))
    }

    pub(super) fn window(&self) -> Option<u64> {
        self.info.as_ref().and_then(|info| info.model_context_window).or(self.model_context_window)
    }
}
