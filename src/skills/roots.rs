//! Reading the roots (SKL-1, SKL-4, SKL-5, SKL-11) and what the agent finds by
//! itself (SKL-14).
//!
//! Invariant: nothing that resolves into the target or the learned tier
//! becomes a candidate, however it is reached.

use std::fs;
use std::io;
use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::manifest::{Manifest, is_copy_name};
use super::merge::{Candidate, Winner, merge};
use super::read::SKILL_FILE;
use super::stamp::{Base, stamp};
use super::warning::{Warning, WarningKind, plain, shown};
use super::{Bounds, Job, Merged, MergedSkill, Native, NativeDir, Root, Seen, target};
use crate::adapter::Hidden;
use crate::host::cause;
use crate::wire::{RootState, RootView, SkillRank};

/// Reads all roots and merges what they hold. It never fails: what cannot be
/// read is a warning.
#[must_use]
pub fn survey(job: &Job) -> Merged {
    let loaded = job.target.as_ref().map(|target| target::load(&target.dir)).unwrap_or_default();
    let manifest = &loaded.manifest;
    let mut survey = Survey {
        target: job.target.as_ref().map(|target| resolve(&target.dir)),
        learned: resolve(&job.learned),
        job,
        manifest,
        merged: Merged::default(),
    };
    let mut candidates = Vec::new();
    for root in &job.roots {
        let state = survey.root(root, &mut candidates);
        survey.merged.roots.push(RootView { path: root.path.to_string(), rank: root.rank, state });
    }
    for winner in merge(candidates) {
        survey.merged.skills.push(look_at(winner, manifest, job.bounds));
    }
    survey.natives();
    if let Some(cause) = job.unseen.as_ref().filter(|_| !survey.merged.skills.is_empty()) {
        survey.merged.warnings.insert(0, Warning::new(WarningKind::Unseen, plain(cause)));
    }
    let merged = survey.merged;
    Merged { loaded: Arc::new(loaded), ..merged }
}

/// Looks at a winner, unless the manifest knows it.
fn look_at(winner: Winner, manifest: &Manifest, bounds: Bounds) -> MergedSkill {
    let Candidate { name, source, resolved, rank, unchanged } = winner.candidate;
    let recorded = manifest.skills.get(&name).filter(|_| unchanged);
    let (seen, warnings) = match recorded {
        Some(entry) => (Seen::Unchanged(entry.source_stamp.clone()), entry.warnings.clone()),
        None => {
            let found = super::read::inspect(&name, &source, &resolved, bounds);
            (found.tree.map_or(Seen::LeftOut, Seen::Walked), found.warnings)
        }
    };
    MergedSkill { name, source, rank, shadowed: winner.shadowed, warnings, resolved, seen }
}

/// `path` with every link resolved; of a path that does not exist, the part
/// that does.
pub(super) fn resolve(path: &Utf8Path) -> Utf8PathBuf {
    path.ancestors()
        .find_map(|existing| {
            let real = existing.canonicalize_utf8().ok()?;
            let rest = path.strip_prefix(existing).ok()?;
            Some(rest.components().fold(real, |mut path, part| {
                match part {
                    Utf8Component::ParentDir => drop(path.pop()),
                    part => path.push(part),
                }
                path
            }))
        })
        .unwrap_or_else(|| path.to_owned())
}

struct Survey<'a> {
    job: &'a Job,
    target: Option<Utf8PathBuf>,
    learned: Utf8PathBuf,
    manifest: &'a Manifest,
    merged: Merged,
}

impl Survey<'_> {
    fn warn(&mut self, kind: WarningKind, message: String) {
        self.merged.warnings.push(Warning::new(kind, message));
    }

    fn root(&mut self, root: &Root, candidates: &mut Vec<Candidate>) -> RootState {
        // What nobody wrote down may be missing or be the target: that is its ordinary state.
        let declared = matches!(root.rank, SkillRank::Global | SkillRank::Project);
        let real = match root.path.canonicalize_utf8() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if declared {
                    self.unreadable(&root.path, &error);
                }
                return RootState::Missing;
            }
            Err(error) => {
                self.unreadable(&root.path, &error);
                return RootState::Unreadable;
            }
        };
        if real.starts_with(&self.learned) {
            let text = format!("skill root {} is left out: it lies in the learned tier", shown(&root.path));
            self.warn(WarningKind::Learned, text);
            return RootState::Learned;
        }
        if self.target.as_ref().is_some_and(|target| real.starts_with(target)) {
            if declared {
                let text = format!("skill root {} is left out: it leads to the target", shown(&root.path));
                self.warn(WarningKind::RootIsTarget, text);
            }
            return RootState::IsTarget;
        }
        match self.children(root, &real, candidates) {
            Ok(()) => RootState::Ok,
            Err(error) => {
                self.unreadable(&root.path, &error);
                RootState::Unreadable
            }
        }
    }

    fn unreadable(&mut self, path: &Utf8Path, error: &io::Error) {
        let text =
            format!("adapter {}: project skills: read {}: {}", self.job.adapter, shown(path), cause(error));
        self.warn(WarningKind::RootUnreadable, text);
    }

    fn children(&mut self, root: &Root, real: &Utf8Path, candidates: &mut Vec<Candidate>) -> io::Result<()> {
        match holds_skill_file(real) {
            Ok(false) => {}
            Ok(true) => {
                // A root that is a skill: what lies in it are its parts.
                let name = root.path.file_name().or_else(|| real.file_name()).unwrap_or_default();
                candidates.extend(self.candidate(name, root.path.clone(), real.to_owned(), root.rank));
                return Ok(());
            }
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) => self.no_skill(&root.path, &cause(&error)),
        }
        let base = Base::open(real);
        // Where neither begins below this root, no directory that lies in it can meet one.
        let apart = !self.learned.starts_with(real)
            && self.target.as_ref().is_none_or(|target| !target.starts_with(real));
        for child in list(real)? {
            let source = root.path.join(child.name());
            match child {
                Child::Directory { name, linked: false }
                    if apart && self.is_recorded(&name, &source, |paths| base.stamp(&name, paths)) =>
                {
                    let resolved = real.join(&name);
                    candidates.push(Candidate { name, source, resolved, rank: root.rank, unchanged: true });
                }
                Child::Directory { name, linked } => {
                    let inside = real.join(&name);
                    let resolved = holds_skill_file(&inside).and_then(|holds| match (holds, linked) {
                        (false, _) => Ok(None),
                        (true, false) => Ok(Some(inside)),
                        (true, true) => inside.canonicalize_utf8().map(Some),
                    });
                    match resolved {
                        Ok(None) => {}
                        Ok(Some(real)) => candidates.extend(self.candidate(&name, source, real, root.rank)),
                        Err(error) => self.no_skill(&source, &cause(&error)),
                    }
                }
                Child::Dangling(_) => self.no_skill(&source, "a symlink to nothing"),
                Child::NotText(_) => self.no_skill(&source, "its name is not UTF-8"),
            }
        }
        Ok(())
    }

    fn no_skill(&mut self, path: &Utf8Path, reason: &str) {
        self.warn(WarningKind::NoSkill, format!("{} is no skill: {reason}", shown(path)));
    }

    /// Whether a directory is, by its metadata alone, the skill that the manifest recorded.
    fn is_recorded(
        &self,
        name: &str,
        source: &Utf8Path,
        stamp: impl FnOnce(&[String]) -> Option<String>,
    ) -> bool {
        self.manifest.skills.get(name).is_some_and(|entry| {
            entry.settled
                && entry.source == source.as_str()
                && stamp(&entry.paths).is_some_and(|now| now == entry.source_stamp)
        })
    }

    /// A skill that may contribute.
    fn candidate(
        &mut self,
        name: &str,
        source: Utf8PathBuf,
        resolved: Utf8PathBuf,
        rank: SkillRank,
    ) -> Option<Candidate> {
        let overlaps = |place: &Utf8Path| place.starts_with(&resolved);
        let (kind, reason) = if resolved.starts_with(&self.learned) {
            (WarningKind::Learned, "it lies in the learned tier")
        } else if overlaps(&self.learned) {
            (WarningKind::Learned, "the learned tier lies in it")
        } else if self.target.as_ref().is_some_and(|target| resolved.starts_with(target)) {
            (WarningKind::RootIsTarget, "it lies in the target")
        } else if self.target.as_deref().is_some_and(overlaps) {
            (WarningKind::RootIsTarget, "the target lies in it")
        } else if !is_copy_name(name) {
            (WarningKind::NoSkill, "its name is reserved")
        } else {
            let unchanged = self.is_recorded(name, &source, |paths| stamp(&resolved, paths));
            return Some(Candidate { name: name.to_owned(), source, resolved, rank, unchanged });
        };
        let text = format!("skill `{}` at {} is left out: {reason}", plain(name), shown(&source));
        self.warn(kind, text);
        None
    }

    /// What the agent finds by itself, and which of it lost.
    fn natives(&mut self) {
        let mut found = Vec::new();
        for NativeDir { path: place, hidden } in &self.job.native {
            let Ok(real) = place.canonicalize_utf8() else { continue };
            let is_target = self.target.as_ref() == Some(&real);
            let children = match list(&real) {
                Ok(children) => children,
                Err(error) => {
                    self.unreadable(place, &error);
                    continue;
                }
            };
            for child in children {
                let Child::Directory { name, .. } = child else { continue };
                let ours = is_target
                    && self
                        .manifest
                        .skills
                        .get(&name)
                        .is_some_and(|entry| entry.owners.contains(self.job.harness.as_str()));
                if !ours && is_copy_name(&name) && holds_skill_file(&real.join(&name)).unwrap_or(false) {
                    found.push(self.native(name, place, &real, *hidden));
                }
            }
        }
        found.sort_by(|one, other| (&one.name, &one.source).cmp(&(&other.name, &other.source)));
        found.dedup();
        for native in found.iter().filter(|native| native.visible && native.shadowed) {
            let text = format!(
                "skill `{}`: the agent also sees the shadowed copy at {}",
                plain(&native.name),
                shown(&native.source)
            );
            self.merged.warnings.push(Warning::new(WarningKind::Native, text));
        }
        self.merged.native = found;
    }

    fn native(&self, name: String, place: &Utf8Path, real: &Utf8Path, hidden: Hidden) -> Native {
        let winner = self.merged.find(&name);
        let shadowed = winner.is_some_and(|winner| winner.resolved != resolve(&real.join(&name)));
        let projected = winner.is_some_and(|winner| !winner.is_left_out());
        // The copy that won and is not projected stays in sight where copies are hidden singly.
        let stays = winner.is_some() && !projected && !shadowed;
        let visible = match hidden {
            Hidden::Never => true,
            Hidden::Always => false,
            Hidden::Copies => stays,
            Hidden::Unmerged => projected || stays,
        };
        Native { source: place.join(&name), shadowed, projected, visible, name }
    }
}

/// An entry of a root that may be a skill.
enum Child {
    Directory { name: String, linked: bool },
    Dangling(String),
    NotText(String),
}

/// The directories in `root`, by name.
fn list(root: &Utf8Path) -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if !kind.is_dir() && !kind.is_symlink() {
            continue;
        }
        let name = match entry.file_name().into_string() {
            Ok(name) => name,
            Err(name) => {
                children.push(Child::NotText(name.to_string_lossy().into_owned()));
                continue;
            }
        };
        if kind.is_dir() {
            children.push(Child::Directory { name, linked: false });
            continue;
        }
        match fs::metadata(entry.path()) {
            Ok(meta) if meta.is_dir() => children.push(Child::Directory { name, linked: true }),
            Ok(_) => {}
            Err(_) => children.push(Child::Dangling(name)),
        }
    }
    children.sort_by(|one, other| one.name().cmp(other.name()));
    Ok(children)
}

impl Child {
    fn name(&self) -> &str {
        let (Self::Directory { name, .. } | Self::Dangling(name) | Self::NotText(name)) = self;
        name
    }
}

/// Whether `dir` directly holds a `SKILL.md` that is a file, or a link to one.
fn holds_skill_file(dir: &Utf8Path) -> io::Result<bool> {
    match fs::metadata(dir.join(SKILL_FILE)) {
        Ok(meta) if meta.is_file() => Ok(true),
        // A directory of that name is somebody's, a pipe or a device is a trap.
        Ok(meta) if meta.is_dir() => Ok(false),
        Ok(_) => Err(io::Error::other("its `SKILL.md` is no regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match fs::symlink_metadata(dir.join(SKILL_FILE)) {
                Ok(_) => Err(io::Error::other("its `SKILL.md` is a symlink to nothing")),
                Err(_) => Ok(false),
            }
        }
        Err(error) => Err(error),
    }
}
