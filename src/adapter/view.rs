//! What `harnessd agents` says of each adapter.
//!
//! Invariant: everything here is derived from the adapter's data.

use super::model::Adapter;
use super::options::OptionKey;
use super::skills::private_subdir;
use crate::wire::{AgentView, Supports};

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
            verified: self.verified.clone(),
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
