//! What `harnessd agents` says of each adapter.
//!
//! Invariant: everything here is derived from the adapter's data.

use serde::{Deserialize, Serialize};

use super::model::Adapter;
use super::options::OptionKey;
use super::skills::private_subdir;

/// One adapter, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its id.
    pub id: String,
    /// Further names by which it is found.
    pub aliases: Vec<String>,
    /// The file names that infer it.
    pub commands: Vec<String>,
    /// What it supports.
    pub supports: Supports,
}

/// What an agent supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supports {
    /// A one-shot with a prompt.
    pub prompt: bool,
    /// The bytes of the largest prompt; left out: any.
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl Adapter {
    /// What `harnessd agents` says of it.
    #[must_use]
    pub fn view(&self) -> AgentView {
        let word = |key| self.fulfils(key).as_str().to_owned();
        let skills = match self.skills.as_ref().and_then(|skills| skills.target.as_deref()) {
            None => "none",
            Some(target) if private_subdir(target).is_some() => "private",
            Some(_) => "shared",
        };
        let native = self.skills.as_ref().map_or(&[][..], |skills| &skills.native);
        let oneshot = self.oneshot.as_ref();
        AgentView {
            id: self.id.clone(),
            aliases: self.aliases.clone(),
            commands: self.commands.clone(),
            supports: Supports {
                prompt: self.takes_prompt(),
                prompt_bytes: self.prompt_bound().filter(|bound| *bound > 0),
                resident_prompt: self.resident_takes_prompt(),
                model: word(OptionKey::Model),
                auto_accept: word(OptionKey::AutoAccept),
                max_turns: word(OptionKey::MaxTurns),
                quiet: word(OptionKey::Quiet),
                skills: skills.to_owned(),
                hides_native_skills: native.iter().any(|native| native.hidden != super::Hidden::Never),
                trajectory: self.trajectory.is_some(),
                gateway: self.gateway.is_some(),
                mcp: self.mcp.is_some(),
                outcome: self.outcome.is_some(),
                session_id: oneshot.is_some_and(|launch| !launch.session_id.is_empty()),
                resume: self.resumes(false),
                resident_resume: self.resumes(true),
                fork: self.forks(false),
            },
        }
    }
}
