//! What `harnessd skills` shows (SKL-3).
//!
//! Invariant: it is what the next projection would find, and nothing is written.

use super::assess::Assessment;
use super::plan::Action;
use super::target;
use super::{Job, Merged, MergedSkill};
use crate::wire::{NativeSkillView, SkillState, SkillView, SkillsView};

/// The merge beside what the target holds of it now.
#[must_use]
pub fn view(job: &Job, merged: &Merged) -> SkillsView {
    let mut warnings: Vec<String> = merged.warnings.iter().map(ToString::to_string).collect();
    let assessed = job.target.as_ref().map(|target| {
        let loaded = &merged.loaded;
        warnings.extend(loaded.warning.iter().map(ToString::to_string));
        let listing = target::list(&target.dir).unwrap_or_default();
        Assessment::make(job, target, merged, &loaded.manifest, &listing, None)
    });
    SkillsView {
        harness: job.harness.clone(),
        adapter: job.adapter.clone(),
        target: job.target.as_ref().map(|target| target.dir.to_string()),
        private: job.target.as_ref().is_some_and(|target| target.private),
        roots: merged.roots.clone(),
        skills: merged.skills.iter().map(|skill| skill_view(skill, assessed.as_ref())).collect(),
        native: merged
            .native
            .iter()
            .map(|native| NativeSkillView {
                name: native.name.clone(),
                source: native.source.to_string(),
                visible: native.visible,
                shadowed: native.shadowed,
            })
            .collect(),
        warnings,
    }
}

fn skill_view(skill: &MergedSkill, assessed: Option<&Assessment<'_>>) -> SkillView {
    let warnings = assessed.map_or(&*skill.warnings, |assessed| assessed.notes(skill));
    SkillView {
        name: skill.name.clone(),
        source: skill.source.to_string(),
        rank: skill.rank,
        shadowed: skill.shadowed.clone(),
        state: assessed.map_or(SkillState::Skipped, |assessed| state(assessed, &skill.name)),
        warnings: warnings.iter().map(ToString::to_string).collect(),
    }
}

fn state(assessed: &Assessment<'_>, name: &str) -> SkillState {
    match assessed.actions.get(name) {
        Some(Action::Keep) => SkillState::Projected,
        Some(Action::Replace { keep: true }) if assessed.manifest.skills.contains_key(name) => {
            SkillState::Edited
        }
        Some(Action::Write | Action::Replace { .. }) => SkillState::Pending,
        Some(Action::Occupied) => SkillState::Occupied,
        Some(Action::Remove { .. } | Action::Disown | Action::Forget | Action::Leave) | None => {
            SkillState::Skipped
        }
    }
}
