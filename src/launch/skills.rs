//! Which skill roots a harness has, in their order (SKL-2), and where its copies go (SKL-7).

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::draft::{enterable, workdir};
use super::environment::{Surroundings, skill_facts};
use super::error::LaunchError;
use super::trust::untrusted;
use crate::adapter::{NativeBase, NativePlace, SkillFacts, TargetKind};
use crate::config::{Declared, Harness};
use crate::skills::{self, Job, Merged, NativeDir, Preview, Projection, Root, SkillError, Target};
use crate::wire::{ProjectionView, Shadowing, SkillChanges, SkillRank, SkillsView, SyncView};

/// The directory of project-local skills that every agent shares.
const COMMON_PROJECT_DIR: &str = ".agents/skills";

/// The projection of a harness; none for an adapter that knows no skills (SKL-12).
#[must_use]
pub fn skills_job(harness: &Harness, around: &Surroundings) -> Option<Job> {
    let facts = skill_facts(harness, around);
    let target = target(harness, around, facts.target.as_ref()?);
    let workdir = workdir(harness, around);
    let unseen = facts.trust.as_ref().and_then(|trust| untrusted(trust, &target.dir, &workdir, &around.home));
    Some(Job {
        harness: harness.name.clone(),
        adapter: harness.adapter.id().to_owned(),
        roots: roots(harness, &facts, &workdir),
        target: Some(target),
        learned: around.state.join("learned"),
        displaced: around.state.join("skills-displaced"),
        native: facts.native.iter().flat_map(|place| native_dirs(place, &workdir)).collect(),
        unseen,
        bounds: around.bounds,
    })
}

/// A projection of which nothing is done yet.
#[derive(Debug)]
pub(super) struct SkillsDraft {
    job: Job,
    merged: Merged,
    preview: Preview,
}

impl SkillsDraft {
    /// That of a harness; none for an adapter that knows no skills (SKL-12).
    ///
    /// # Errors
    /// [`LaunchError::Skills`], when the target could not be written.
    pub(super) fn of(harness: &Harness, around: &Surroundings) -> Result<Option<Self>, LaunchError> {
        let Some(job) = skills_job(harness, around) else { return Ok(None) };
        let merged = skills::survey(&job);
        let preview = skills::preview(&job, &merged).map_err(|cause| LaunchError::Skills { cause })?;
        Ok(Some(Self { job, merged, preview }))
    }

    pub(super) const fn merged(&self) -> &Merged {
        &self.merged
    }

    pub(super) const fn preview(&self) -> &Preview {
        &self.preview
    }

    /// Makes the target hold the merged set.
    ///
    /// # Errors
    /// [`SkillError`], when the target cannot be written.
    pub(super) fn project(&self) -> Result<Projection, SkillError> {
        skills::project(&self.job, &self.merged)
    }

    /// The projection with these changes, as people are shown it.
    pub(super) fn view(&self, changes: SkillChanges) -> Option<ProjectionView> {
        let target = self.job.target.as_ref()?;
        let placed: BTreeSet<&String> =
            changes.written.iter().chain(&changes.kept).chain(&changes.occupied).collect();
        let names = self.merged.skills.iter().map(|skill| &skill.name);
        let left_out = names.filter(|name| !placed.contains(name)).cloned().collect();
        let winners = self.merged.skills.iter().filter(|skill| !skill.shadowed.is_empty());
        let shadowed = winners.map(|skill| Shadowing {
            name: skill.name.clone(),
            source: skill.source.to_string(),
            copies: skill.shadowed.clone(),
        });
        Some(ProjectionView {
            target: target.dir.to_string(),
            private: target.private,
            left_out,
            shadowed: shadowed.collect(),
            changes,
        })
    }
}

/// Projects the skills of a harness now, or tells what that would do (SKL-13).
///
/// # Errors
/// [`LaunchError`], when the target cannot be written, or its workdir is not there.
pub fn sync_skills(harness: &Harness, around: &Surroundings, dry_run: bool) -> Result<SyncView, LaunchError> {
    let (skills, warnings) = match SkillsDraft::of(harness, around)? {
        None => (None, Vec::new()),
        Some(draft) => {
            if draft.job.target.as_ref().is_some_and(|target| !target.private) {
                // A directory that nobody made is not made for skills alone.
                enterable(&workdir(harness, around))?;
            }
            let (changes, warnings) = if dry_run {
                (draft.preview.changes.clone(), draft.preview.warnings.clone())
            } else {
                let done = draft.project().map_err(|cause| LaunchError::Skills { cause })?;
                (done.changes, done.warnings)
            };
            (draft.view(changes), warnings)
        }
    };
    let (name, adapter) = (harness.name.clone(), harness.adapter.id().to_owned());
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok(SyncView { harness: name, adapter, dry_run, skills, warnings })
}

/// What `harnessd skills` shows of a harness.
#[must_use]
pub fn skills_view(harness: &Harness, around: &Surroundings) -> SkillsView {
    match skills_job(harness, around) {
        Some(job) => skills::view(&job, &skills::survey(&job)),
        None => SkillsView {
            harness: harness.name.clone(),
            adapter: harness.adapter.id().to_owned(),
            target: None,
            private: false,
            roots: Vec::new(),
            skills: Vec::new(),
            native: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

/// Gives up what a harness owns in a target that it shares (SKL-8): a copy goes with its last owner.
/// A private target is left: the harness may come back.
///
/// # Errors
/// [`SkillError`], when the target cannot be written.
pub fn withdraw_skills(harness: &Harness, around: &Surroundings) -> Result<(), SkillError> {
    let shared = skills_job(harness, around).filter(|job| job.target.as_ref().is_some_and(|to| !to.private));
    match shared {
        Some(job) if job.target.as_ref().is_some_and(|to| to.dir.exists()) => {
            skills::project(&job, &Merged::default()).map(drop)
        }
        _ => Ok(()),
    }
}

/// The directory that is handed to the agent; the copies may lie one level deeper.
pub(super) fn handed_dir(harness: &Harness, around: &Surroundings) -> Utf8PathBuf {
    around.state.join("skills").join(harness.name.file_name())
}

fn target(harness: &Harness, around: &Surroundings, kind: &TargetKind) -> Target {
    match kind {
        TargetKind::Private { subdir } => {
            let handed = handed_dir(harness, around);
            let dir = subdir.as_ref().map_or_else(|| handed.clone(), |deeper| handed.join(deeper));
            Target { dir, private: true }
        }
        TargetKind::Shared { dir } => Target { dir: workdir(harness, around).join(dir), private: false },
    }
}

fn roots(harness: &Harness, facts: &SkillFacts, workdir: &Utf8Path) -> Vec<Root> {
    let mut roots = Vec::new();
    let mut add = |rank, path: Utf8PathBuf| roots.push(Root { path, rank });
    if harness.use_default_skill_paths {
        facts.default_roots.iter().for_each(|path| add(SkillRank::Adapter, workdir.join(path)));
    }
    for (declared, path) in &harness.skill_paths {
        let rank = match declared {
            Declared::Global => SkillRank::Global,
            Declared::Project => SkillRank::Project,
        };
        add(rank, path.clone());
    }
    let root = harness.project.as_ref().map(|project| &project.root).or(harness.workdir.as_ref());
    if let Some(root) = root {
        if !facts.project_dirs.iter().any(|dir| dir == COMMON_PROJECT_DIR) {
            add(SkillRank::ProjectLocal, root.join(COMMON_PROJECT_DIR));
        }
        facts.project_dirs.iter().for_each(|dir| add(SkillRank::ProjectLocal, root.join(dir)));
        if harness.project.as_ref().is_some_and(|project| project.skills) {
            add(SkillRank::ProjectLocal, root.join("skills"));
        }
    }
    roots
}

/// The directories behind one place where the agent looks by itself.
fn native_dirs(place: &NativePlace, workdir: &Utf8Path) -> Vec<NativeDir> {
    let paths = match &place.base {
        NativeBase::Home(dir) => vec![dir.clone()],
        NativeBase::Workdir(dir) if place.upward => {
            upward_to_git_root(workdir).into_iter().map(|parent| parent.join(dir)).collect()
        }
        NativeBase::Workdir(dir) => vec![workdir.join(dir)],
    };
    paths.into_iter().map(|path| NativeDir { path, hidden: place.hidden }).collect()
}

/// The directory and its parents up to the one that holds `.git`; outside a repository all of its
/// parents. What is named too much is hidden for nothing, what is named too little is seen.
fn upward_to_git_root(workdir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let parents: Vec<&Utf8Path> = workdir.ancestors().collect();
    let depth = parents.iter().position(|dir| dir.join(".git").exists()).unwrap_or(parents.len());
    parents.into_iter().take(depth + 1).map(Utf8Path::to_owned).collect()
}
