//! What is known of the agents: what each supports, and what is there of it.
//!
//! Invariant: what files cannot tell is `unknown`, never guessed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One adapter, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    /// Its id.
    pub id: String,
    /// Further names by which it is found.
    pub aliases: Vec<String>,
    /// The file names that infer it.
    pub commands: Vec<String>,
    /// The version of its program that its adapter was last tried with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<String>,
    /// What it supports.
    pub supports: Supports,
}

/// What an agent supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Supports {
    /// A one-shot with a prompt.
    pub prompt: bool,
    /// The bytes of the largest prompt; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_bytes: Option<usize>,
    /// A resident agent that is given a prompt first.
    pub resident_prompt: bool,
    /// `by-flag`, `already` or `never`, like the next three.
    pub model: String,
    /// See `model`.
    pub auto_accept: String,
    /// See `model`.
    pub max_turns: String,
    /// See `model`.
    pub quiet: String,
    /// `private`, `shared` or `none`.
    pub skills: String,
    /// Whether copies that it finds by itself can be hidden from its model.
    pub hides_native_skills: bool,
    /// It writes transcripts of its own.
    pub trajectory: bool,
    /// Its requests can be sent through the gateway.
    pub gateway: bool,
    /// The MCP facade can be injected.
    pub mcp: bool,
    /// It prints a result that a program can read.
    pub outcome: bool,
    /// It can be told its session's id.
    pub session_id: bool,
    /// It can resume a session, as a one-shot.
    pub resume: bool,
    /// It can in its terminal mode.
    pub resident_resume: bool,
    /// It can fork a session, as a one-shot.
    pub fork: bool,
}

/// One agent as it is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// What is known of its kind.
    #[serde(flatten)]
    pub agent: AgentView,
    /// Whether a program of it is found.
    pub installed: bool,
    /// The program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What the program says of its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it told no version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_trouble: Option<String>,
    /// Whether somebody is logged in, as far as files tell.
    pub login: Login,
    /// The files that would show a login, the one that does first; none was read.
    pub login_files: Vec<String>,
    /// How long it keeps its transcripts, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionView>,
    /// How its version compares with the verified one, of an installed one where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<VersionCheck>,
}

/// How the version of a program compares with the one that its adapter was last tried with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionCheck {
    /// What it comes to.
    pub verdict: Verdict,
    /// The version alone, out of what the program says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a version is beside the verified one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// That one.
    Same,
    /// A newer one.
    Newer,
    /// An older one.
    Older,
    /// Neither of these: another build, another of its previews.
    Other,
    /// It is not known.
    Unknown,
    /// The adapter was tried with none.
    Unverified,
}

impl AgentState {
    /// The same with what its program said of its version, if it was asked.
    #[must_use]
    pub fn with_version(self, said: Option<Result<String, String>>) -> Self {
        match said {
            Some(Ok(version)) => Self { version: Some(version), ..self },
            Some(Err(trouble)) => Self { version_trouble: Some(trouble), ..self },
            None => self,
        }
    }
}

/// Whether somebody is logged in to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Login {
    /// A file of a login is there.
    Yes,
    /// No file tells: a key may stand in the environment, or in a keyring.
    Unknown,
}

/// How long an agent keeps its transcripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetentionView {
    /// The agent's own settings.
    pub file: String,
    /// The key in them, with a `.` between its parts.
    pub key: String,
    /// What they say; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What holds while they say nothing, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Why what they say cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What `agents` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsView {
    /// In whose environment they were looked for.
    pub judged_by: Judge,
    /// By their ids.
    pub agents: Vec<AgentState>,
}

/// In whose environment something was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// In the daemon's: what its runs will find.
    Daemon,
    /// In the caller's, since no daemon answers.
    Caller,
}
