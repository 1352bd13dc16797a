//! Performing a plan on the target (SKL-6, SKL-8, SKL-9).
//!
//! Invariant: a copy enters the target by one rename, whole; if we are cut off
//! between any two steps, each skill is old or new, or the next projection
//! puts it right, and nothing that is to be kept is lost.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;

use camino::Utf8PathBuf;
use nix::errno::Errno;

use super::assess::{Assessment, is_settled, occupied};
use super::build::{BuildError, Built, build};
use super::cause::is;
use super::displace::remove;
use super::manifest::{Entry, FILE, SCRATCH};
use super::plan::{Action, Step, changes, steps};
use super::preview::{is_idle, not_writable};
use super::rename::{exchange, rename, rename_new};
use super::salvage::{KEEP, NEW, OLD, clear, put_aside, salvage};
use super::target;
use super::warning::Warning;
use super::{Job, Merged, Projection, SkillError, Target};
use crate::wire::RunSkill;

/// How a projection is performed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// Whether to exchange two names at once where the file system can.
    pub(super) exchange: bool,
    /// So many steps, and then nothing more, not even tidying up: as if killed.
    pub(super) steps: Option<usize>,
}

/// Makes the target hold the merged set (SKL-6), before the command is
/// executed. Call it right after [`super::survey`]: what changes between the
/// two may be seen by the next start only. With an empty [`Merged`] it
/// withdraws all that this harness has in the target.
///
/// # Errors
/// If the target cannot be written; everything else is a warning.
pub fn project(job: &Job, merged: &Merged) -> Result<Projection, SkillError> {
    perform(job, merged, Tuning { exchange: true, steps: None })
}

pub(super) fn perform(job: &Job, merged: &Merged, tuning: Tuning) -> Result<Projection, SkillError> {
    let mut warnings = merged.warnings.clone();
    let Some(target) = &job.target else {
        warnings.extend(merged.skills.iter().flat_map(|skill| skill.warnings.clone()));
        return Ok(Projection { warnings, ..Projection::default() });
    };
    if is_idle(target, merged) {
        return Ok(Projection { warnings, ..Projection::default() });
    }
    let failed = |error: io::Error| not_writable(job, target, &error);
    DirBuilder::new().recursive(true).mode(0o755).create(&target.dir).map_err(failed)?;
    let Some(lock) = target::lock(&target.dir).map_err(failed)? else {
        return Err(SkillError::TargetBusy { adapter: job.adapter.clone(), target: target.dir.clone() });
    };
    let mark = lock.mark().map_err(failed)?;
    let anew = target::load_anew(&target.dir, &merged.loaded);
    let loaded = anew.as_ref().unwrap_or(&merged.loaded);
    warnings.extend(loaded.warning.clone());
    let listing = target::list(&target.dir).map_err(failed)?;
    salvage(job, target, &loaded.manifest, &listing, &mut warnings);

    let assessed = Assessment::make(job, target, merged, &loaded.manifest, &listing, Some(mark));
    let steps = steps(&assessed.actions, tuning.exchange, assessed.dirty);
    let mut run = Run {
        job,
        target,
        merged,
        mark,
        assessed,
        scratch: None,
        built: BTreeMap::new(),
        spoilt: Vec::new(),
        warnings,
    };
    for (number, step) in steps.iter().enumerate() {
        if tuning.steps.is_some_and(|most| number >= most) {
            return Ok(Projection::default());
        }
        if let Err(error) = run.step(step) {
            run.sweep();
            return Err(failed(error));
        }
    }
    Ok(run.report())
}

/// A projection at work.
struct Run<'a> {
    job: &'a Job,
    target: &'a Target,
    merged: &'a Merged,
    mark: i128,
    assessed: Assessment<'a>,
    scratch: Option<Utf8PathBuf>,
    built: BTreeMap<String, Built>,
    /// Names whose copy could not be put in place after all.
    spoilt: Vec<String>,
    warnings: Vec<Warning>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Build(name) => self.build(name),
            Step::Intend => {
                self.intend();
                self.write_manifest()
            }
            Step::Put(name) => self.put(name),
            Step::Swap { name, keep } => self.swap(name, *keep),
            Step::Take { name, keep, renew } => {
                if *renew && !self.built.contains_key(name) {
                    return Ok(());
                }
                if !renew {
                    self.assessed.manifest.to_mut().skills.remove(name);
                }
                self.take(name, *keep)
            }
            Step::Commit => {
                for name in self.built.keys() {
                    if let Some(entry) = self.assessed.manifest.to_mut().skills.get_mut(name) {
                        entry.previous = None;
                    }
                }
                self.write_manifest()
            }
            Step::Displace(name) => {
                let kept = self.place(KEEP, name)?;
                if fs::symlink_metadata(&kept).is_ok() {
                    self.warnings.push(put_aside(self.job, &kept, name));
                }
                Ok(())
            }
            Step::Sweep => {
                self.sweep();
                Ok(())
            }
        }
    }

    /// Our own directory in the target, made when it is first needed.
    fn scratch(&mut self) -> io::Result<Utf8PathBuf> {
        if let Some(scratch) = &self.scratch {
            return Ok(scratch.clone());
        }
        let mut directory = DirBuilder::new();
        directory.mode(0o700);
        for number in 0_u32.. {
            let scratch = self.target.dir.join(format!("{SCRATCH}{number}"));
            match directory.create(&scratch) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            self.scratch = Some(scratch.clone());
            for part in [NEW, OLD, KEEP] {
                directory.create(scratch.join(part))?;
            }
            return Ok(scratch);
        }
        Err(Errno::EEXIST.into())
    }

    fn place(&mut self, part: &str, name: &str) -> io::Result<Utf8PathBuf> {
        Ok(self.scratch()?.join(part).join(name))
    }

    /// Copies a source. What goes wrong there is tried again once with a fresh
    /// look, and then a warning; what goes wrong here is an error.
    fn build(&mut self, name: &str) -> io::Result<()> {
        let to = self.place(NEW, name)?;
        let Some(skill) = self.merged.find(name) else { return Ok(()) };
        let mut reason = None;
        for _ in 0..2 {
            if !self.assessed.trees.contains_key(name) {
                // Unchanged until now, or changed while it was copied.
                let Some(tree) = self.assessed.inspect(self.job, skill) else { break };
                self.assessed.trees.insert(name.to_owned(), Cow::Owned(*tree));
            }
            match build(&self.assessed.trees[name], &to, self.job.bounds, self.mark) {
                Ok(built) => {
                    self.built.insert(name.to_owned(), built);
                    return Ok(());
                }
                Err(BuildError::Target(error)) => return Err(error),
                Err(BuildError::Source(error)) => {
                    remove(to.as_std_path())?;
                    self.assessed.trees.remove(name);
                    reason = Some(skill.left_out(error.kind(), &error.to_string()));
                }
            }
        }
        self.spoilt.push(name.to_owned());
        self.assessed.note(skill).extend(reason);
        Ok(())
    }

    /// Enters what was built, beside what it replaces.
    fn intend(&mut self) {
        for (name, built) in &self.built {
            let Some(tree) = self.assessed.trees.get(name) else { continue };
            let Some(skill) = self.merged.find(name) else { continue };
            let warnings = self.assessed.notes(skill).to_vec();
            let skills = &mut self.assessed.manifest.to_mut().skills;
            let before = skills.remove(name);
            let mut owners = match &before {
                Some(before) if !self.target.private => before.owners.clone(),
                _ => BTreeSet::new(),
            };
            owners.insert(self.job.harness.to_string());
            // Of a copy that is replaced although it was never finished, the older one counts.
            let previous = before.map_or_else(String::new, |before| before.previous.unwrap_or(before.hash));
            let entry = Entry {
                source: skill.source.to_string(),
                hash: built.hash.clone(),
                previous: Some(previous),
                owners,
                paths: tree.paths.clone(),
                source_stamp: tree.stamp.clone(),
                copy_stamp: built.stamp.clone(),
                settled: is_settled(tree, Some(self.mark)),
                warnings,
            };
            skills.insert(name.clone(), entry);
        }
    }

    fn write_manifest(&mut self) -> io::Result<()> {
        let text = self.assessed.manifest.text()?;
        let beside = self.scratch()?.join("manifest");
        fs::write(&beside, text)?;
        fs::rename(beside, self.target.dir.join(FILE))
    }

    fn put(&mut self, name: &str) -> io::Result<()> {
        if !self.built.contains_key(name) {
            return Ok(());
        }
        let (from, to) = (self.place(NEW, name)?, self.target.dir.join(name));
        match rename_new(&from, &to) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
                ) =>
            {
                // Somebody was quicker; what it is, the next projection will see.
                self.built.remove(name);
                self.assessed.manifest.to_mut().skills.remove(name);
                self.spoilt.push(name.to_owned());
                let note = occupied(name, self.target, self.job, None);
                if let Some(skill) = self.merged.find(name) {
                    self.assessed.note(skill).push(note);
                }
                Ok(())
            }
            renamed => renamed,
        }
    }

    fn swap(&mut self, name: &str, keep: bool) -> io::Result<()> {
        if !self.built.contains_key(name) {
            return Ok(());
        }
        let (mut from, to) = (self.place(NEW, name)?, self.target.dir.join(name));
        if keep {
            // Whatever lies there if we are cut off now is looked at before it is deleted.
            let kept = self.place(KEEP, name)?;
            fs::rename(&from, &kept)?;
            from = kept;
        }
        match exchange(&from, &to) {
            Err(error)
                if [Errno::EINVAL, Errno::ENOSYS, Errno::EOPNOTSUPP, Errno::ENOENT]
                    .iter()
                    .any(|&number| is(&error, number)) =>
            {
                if keep {
                    fs::rename(&from, self.place(NEW, name)?)?;
                }
                self.take(name, keep)?;
                self.put(name)
            }
            swapped => swapped,
        }
    }

    fn take(&mut self, name: &str, keep: bool) -> io::Result<()> {
        let to = self.place(if keep { KEEP } else { OLD }, name)?;
        match rename(self.target.dir.join(name).as_std_path(), to.as_std_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    fn sweep(&mut self) {
        if let Some(scratch) = &self.scratch {
            self.warnings.extend(clear(scratch));
        }
    }

    fn report(self) -> Projection {
        let changes = changes(&self.assessed.actions, &self.spoilt);
        let mut done = Projection { warnings: self.warnings, skills: Vec::new(), changes };
        for skill in &self.merged.skills {
            done.warnings.extend(self.assessed.notes(skill).iter().cloned());
            let entry = self.assessed.manifest.skills.get(&skill.name);
            let acted = self.assessed.actions.get(&skill.name);
            if let (Some(entry), Some(Action::Keep | Action::Write | Action::Replace { .. })) = (entry, acted)
            {
                done.skills.push(RunSkill {
                    name: skill.name.clone(),
                    source: skill.source.to_string(),
                    hash: entry.hash.clone(),
                });
            }
        }
        done
    }
}
