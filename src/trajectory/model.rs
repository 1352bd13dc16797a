//! The model that all readers share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::{Wall, micros, words};

words! {
    /// How a session comes from another one.
    Kinship as "kinship" {
        /// It goes on with that one's conversation under an id of its own.
        Resumed = "resumed",
        /// It began as a copy of that one.
        Forked = "forked",
        /// A sub-agent of that one wrote it.
        SubAgent = "sub-agent",
        /// That one was ended by a reset (`/clear`) or a compaction, and this one follows it.
        Reset = "reset",
    }
}

words! {
    /// What a tool call does (TRJ-4).
    Action as "action" {
        /// It looks for something.
        Search = "search",
        /// It reads something.
        Read = "read",
        /// It changes a file.
        Edit = "edit",
        /// It executes something.
        Exec = "exec",
        /// It runs tests, a build or a linter.
        Verify = "verify",
        /// Anything else.
        Other = "other",
    }
}

/// How much a reader is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// What the session is and its [`What::Usage`]: records that state neither may be passed over unparsed.
    Usage,
    /// Every event.
    Everything,
}

/// The session that a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its native id.
    pub id: String,
    /// How.
    pub kinship: Kinship,
}

/// What the records say of a session so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The id that the agent gave it; empty until it is known.
    pub id: String,
    /// Where it comes from.
    pub parent: Option<Parent>,
    /// The working directory as recorded; where records name several, the first (COR-1).
    pub cwd: Option<String>,
    /// When it began: the time of its first record of its own (a copied history is not its own).
    #[serde(with = "micros::option")]
    pub started_at: Option<Wall>,
    /// The latest time in its own records.
    #[serde(with = "micros::option")]
    pub last_at: Option<Wall>,
    /// What the agent calls it. It comes from the conversation, so it is never written down.
    #[serde(skip)]
    pub title: Option<String>,
    /// The models in use, each once, in the order of their first use.
    pub models: Vec<String>,
    /// The model that is in use now.
    pub model: Option<String>,
    /// What was last told by [`What::Context`].
    pub context: Option<(u64, Option<u64>)>,
    /// The id that was chosen for it at its launch, where the agent keeps that beside an id of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launched_as: Option<String>,
    /// Its sub-agents' sessions, where those do not say themselves whose they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
}

/// The tokens of one model call (USE-1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The whole prompt side: fresh, cache reads and cache writes. An unsplit total stands here alone.
    pub input: u64,
    /// The cache reads among `input`.
    pub cached: u64,
    /// The completion, with reasoning where the agent counts it apart.
    pub output: u64,
}

/// One model call, or a cost that the agent states for several (USE-1, USE-3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its identity within the format, over all sessions: the last call of a key is the one that counts,
    /// and replayed history has the key that it had where it was made.
    pub key: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its tokens; none: only a cost is stated, for calls of this session that are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// US dollars, only where the agent states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What an event tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// Somebody, or the program itself, said this to the model.
    User {
        /// The words.
        text: String,
    },
    /// The model answered this.
    Assistant {
        /// The words.
        text: String,
    },
    /// The model thought this.
    Reasoning {
        /// The words; empty where the agent keeps them encrypted.
        text: String,
    },
    /// The model called a tool.
    ToolCall {
        /// The agent's name of it.
        name: String,
        /// What it does.
        action: Action,
        /// Files, directories or addresses that it is about.
        targets: Vec<String>,
        /// Its arguments.
        input: Value,
    },
    /// A tool answered.
    ToolResult {
        /// The id of its call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        /// Whether it failed, as the agent states it; none: it does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<bool>,
        /// What it answered, as text.
        text: String,
    },
    /// Another model is in use from here on.
    Model {
        /// Which.
        model: String,
    },
    /// Another effort of reasoning is in use from here on.
    Effort {
        /// Which.
        effort: String,
    },
    /// A model call and what it used.
    Usage(Call),
    /// How full the context is (USE-4); told on change only.
    Context {
        /// The prompt side of the latest call.
        used: u64,
        /// The size of the window, only where the agent states it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    /// The history was replaced by a summary.
    Compaction,
    /// A sub-agent was started.
    SubAgent {
        /// The native id of its session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// What the agent calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Something went wrong.
    Error {
        /// The agent's words.
        message: String,
    },
    /// Terminal output of a program without a transcript of its own.
    Output {
        /// The text.
        text: String,
    },
    /// A record that is kept so that nothing vanishes.
    Other {
        /// What the agent calls it.
        name: String,
    },
}

impl What {
    /// The word for its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Reasoning { .. } => "reasoning",
            Self::ToolCall { .. } => "tool-call",
            Self::ToolResult { .. } => "tool-result",
            Self::Model { .. } => "model",
            Self::Effort { .. } => "effort",
            Self::Usage(_) => "usage",
            Self::Context { .. } => "context",
            Self::Compaction => "compaction",
            Self::SubAgent { .. } => "sub-agent",
            Self::Error { .. } => "error",
            Self::Output { .. } => "output",
            Self::Other { .. } => "other",
        }
    }
}

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, where the record says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Wall>,
    /// The agent's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where its record stands: the byte that its line begins at, or the number of its row; with its rank
    /// among the events of the record it is unique in a stream and never changes.
    #[serde(skip)]
    pub place: (u64, u32),
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What a reader could not make sense of. It is counted, and nothing else stops for it (TRJ-3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Oddities {
    /// Lines or documents that are not of the format's syntax.
    pub malformed: u64,
    /// Lines that are too long, which were passed over.
    pub too_long: u64,
    /// Records of an unknown kind, by kind; at most [`Oddities::KINDS`] kinds are kept apart.
    pub unknown: BTreeMap<String, u64>,
}

impl Oddities {
    /// So many unknown kinds are kept apart.
    pub const KINDS: usize = 32;

    /// Counts a record of an unknown kind. A kind that is no plain word is not repeated.
    pub(super) fn unknown(&mut self, kind: &str) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte);
        let word = if !kind.is_empty() && kind.len() <= 64 && kind.bytes().all(plain) { kind } else { "?" };
        let known = self.unknown.contains_key(word);
        let word = if known || self.unknown.len() < Self::KINDS { word } else { "?" };
        *self.unknown.entry(word.to_owned()).or_default() += 1;
    }
}
