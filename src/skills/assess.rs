//! Comparing the merge with a target: gathers what [`super::plan`] decides on.
//!
//! Invariant: nothing is written; a dry look and a projection see the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::build::content_hash;
use super::manifest::{Entry, Manifest};
use super::plan::{Action, Contents, Held, Wanted, decide};
use super::stamp::{Base, stamp};
use super::target::{self, Listing};
use super::tree::Tree;
use super::warning::{Warning, WarningKind, plain, shown};
use super::{Job, Merged, MergedSkill, Seen, Target};

/// What is to be done, and what it is done with.
#[derive(Debug, Default)]
pub(super) struct Assessment<'a> {
    pub(super) actions: BTreeMap<String, Action>,
    /// As it will be but for what is copied and removed.
    pub(super) manifest: Cow<'a, Manifest>,
    /// Whether `manifest` differs from the one on disk.
    pub(super) dirty: bool,
    /// The sources that were looked at, by name.
    pub(super) trees: BTreeMap<String, Cow<'a, Tree>>,
    /// What is odd about a skill, where that is not what the survey said.
    notes: BTreeMap<String, Vec<Warning>>,
}

impl<'a> Assessment<'a> {
    /// `mark`: an instant of the file system before anything was looked at; a
    /// source that changed later may change again without a trace in its stamp.
    pub(super) fn make(
        job: &Job,
        target: &Target,
        merged: &'a Merged,
        manifest: &'a Manifest,
        listing: &Listing,
        mark: Option<i128>,
    ) -> Self {
        let manifest_names = manifest.skills.keys();
        let manifest = Cow::Borrowed(manifest);
        let mut made = Self { manifest, ..Self::default() };
        let mut wanted = BTreeMap::new();
        for skill in &merged.skills {
            if let Some(contents) = made.contents(job, skill) {
                wanted
                    .insert(skill.name.as_str(), (skill, Wanted { source: skill.source.as_str(), contents }));
            }
        }
        let mut rest: BTreeSet<String> = BTreeSet::new();
        let others = if target.private { Some(listing.entries.keys()) } else { None };
        let others = manifest_names.chain(others.into_iter().flatten());
        rest.extend(others.filter(|name| !wanted.contains_key(name.as_str())).cloned());
        let look = Look { job, target, base: Base::open(&target.dir), listing, mark };
        for (name, (skill, wanted)) in wanted {
            if look.stays(name, &wanted, &made.manifest) {
                made.actions.insert(name.to_owned(), Action::Keep);
            } else {
                made.name(&look, name.to_owned(), Some((skill, &wanted)));
            }
        }
        for name in rest {
            made.name(&look, name, None);
        }
        made
    }

    /// What is odd about a skill at this moment.
    pub(super) fn notes<'b>(&'b self, skill: &'b MergedSkill) -> &'b [Warning] {
        self.notes.get(&skill.name).unwrap_or(&skill.warnings)
    }

    /// The same, to add to.
    pub(super) fn note(&mut self, skill: &MergedSkill) -> &mut Vec<Warning> {
        self.notes.entry(skill.name.clone()).or_insert_with(|| skill.warnings.clone())
    }

    /// Looks at a skill anew. None: it cannot be projected, and its notes say why.
    pub(super) fn inspect(&mut self, job: &Job, skill: &MergedSkill) -> Option<Box<Tree>> {
        let now = skill.inspect(job.bounds);
        self.notes.insert(skill.name.clone(), now.warnings);
        now.tree
    }

    /// What is known of a source's contents. None: it is not to be projected.
    fn contents(&mut self, job: &Job, skill: &'a MergedSkill) -> Option<Contents> {
        let entry = self.manifest.skills.get(&skill.name);
        let recorded = entry.is_some();
        let tree = match &skill.seen {
            Seen::LeftOut => return None,
            Seen::Unchanged(stamp)
                if entry.is_some_and(|entry| {
                    entry.settled && entry.source == skill.source.as_str() && entry.source_stamp == *stamp
                }) =>
            {
                return Some(Contents::AsRecorded);
            }
            Seen::Walked(tree) if stamp(&skill.resolved, &tree.paths).as_ref() == Some(&tree.stamp) => {
                Cow::Borrowed(&**tree)
            }
            // It moved on since the survey.
            Seen::Unchanged(_) | Seen::Walked(_) => Cow::Owned(*self.inspect(job, skill)?),
        };
        let contents = match recorded.then(|| content_hash(&tree, job.bounds)) {
            None => Contents::Unread,
            Some(Ok(hash)) => Contents::Hash(hash),
            Some(Err(error)) => {
                let note = skill.left_out(error.kind(), &error.to_string());
                self.note(skill).push(note);
                return None;
            }
        };
        self.trees.insert(skill.name.clone(), tree);
        Some(contents)
    }

    /// Decides about one name, and brings its entry up to date.
    fn name(&mut self, look: &Look<'_>, name: String, wanted: Option<(&MergedSkill, &Wanted<'_>)>) {
        let harness = look.job.harness.as_str();
        let private = look.target.private;
        let (skill, wanted) = wanted.unzip();
        let recorded = self.manifest.skills.get(&name);
        let ours = recorded.is_some_and(|entry| entry.owners.contains(harness));
        if !private && wanted.is_none() && !ours {
            return;
        }
        let mut entry = recorded.cloned();
        let is_dir = look.listing.entries.get(&name).copied();
        let dir = &look.target.dir;
        let held = target::held(dir, &look.base, &name, is_dir, entry.as_mut(), look.job.bounds);
        if held == Held::Foreign {
            entry = None;
        }
        let action = decide(harness, private, wanted, entry.as_ref(), held);
        match action {
            Action::Keep => {
                if let (Some(entry), Some(skill)) = (entry.as_mut(), skill) {
                    look.keep(entry, skill, self.trees.get(&name), self.notes(skill));
                }
            }
            Action::Occupied => {
                if let Some(skill) = skill {
                    let note = occupied(&name, look.target, look.job, entry.as_ref());
                    self.note(skill).push(note);
                }
                disown(entry.as_mut(), harness);
            }
            Action::Disown => disown(entry.as_mut(), harness),
            Action::Forget => entry = None,
            Action::Write | Action::Replace { .. } | Action::Remove { .. } | Action::Leave => {}
        }
        if entry.as_ref() != self.manifest.skills.get(&name) {
            self.dirty = true;
            let skills = &mut self.manifest.to_mut().skills;
            skills.remove(&name);
            skills.extend(entry.map(|entry| (name.clone(), entry)));
        }
        self.actions.insert(name, action);
    }
}

/// What names are looked at with.
struct Look<'a> {
    job: &'a Job,
    target: &'a Target,
    base: Base,
    listing: &'a Listing,
    mark: Option<i128>,
}

impl Look<'_> {
    /// Whether neither the copy nor its entry has anything to change: the
    /// ordinary case, in which nothing is taken apart.
    fn stays(&self, name: &str, wanted: &Wanted<'_>, manifest: &Manifest) -> bool {
        wanted.contents == Contents::AsRecorded
            && self.listing.entries.get(name) == Some(&true)
            && manifest.skills.get(name).is_some_and(|entry| {
                entry.previous.is_none()
                    && entry.owners.contains(self.job.harness.as_str())
                    && (!self.target.private || entry.owners.len() == 1)
                    && self.base.stamp(name, &entry.paths).is_some_and(|now| now == entry.copy_stamp)
            })
    }

    /// A copy that stays is ours from now on, and recorded as it was just found.
    fn keep(&self, entry: &mut Entry, skill: &MergedSkill, tree: Option<&Cow<'_, Tree>>, notes: &[Warning]) {
        if self.target.private {
            entry.owners.clear();
        }
        entry.owners.insert(self.job.harness.to_string());
        // The stamps tell about one source; with several of equal contents, the first keeps them.
        if let Some(tree) = tree
            && (entry.owners.len() == 1 || entry.source == skill.source.as_str())
        {
            entry.source = skill.source.to_string();
            entry.source_stamp.clone_from(&tree.stamp);
            entry.settled = is_settled(tree, self.mark);
            entry.warnings = notes.to_vec();
        }
    }
}

fn disown(entry: Option<&mut Entry>, harness: &str) {
    if let Some(entry) = entry {
        entry.owners.remove(harness);
    }
}

/// Whether the stamp of `tree` will differ after whatever change to come.
pub(super) fn is_settled(tree: &Tree, mark: Option<i128>) -> bool {
    !tree.blind && mark.is_some_and(|mark| tree.newest < mark)
}

/// Says who holds a name.
pub(super) fn occupied(name: &str, target: &Target, job: &Job, entry: Option<&Entry>) -> Warning {
    let owners: Vec<String> = entry
        .into_iter()
        .flat_map(|entry| &entry.owners)
        .filter(|owner| owner.as_str() != job.harness.as_str())
        .map(|owner| format!("`{}`", plain(owner)))
        .collect();
    let holder = if owners.is_empty() {
        "something that is not harnessd's".to_owned()
    } else {
        format!("different contents of {}", owners.join(", "))
    };
    Warning::new(
        WarningKind::Occupied,
        format!("skill `{}`: its name is taken in {} by {holder}", plain(name), shown(&target.dir)),
    )
}
