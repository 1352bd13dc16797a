//! Comparing the merge with a target: gathers what [`super::plan`] decides on.
//!
//! Invariant: nothing is written; a dry look and a projection see the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::build::content_hash;
use super::manifest::{Entry, Manifest};
use super::plan::{Action, Contents, Held, Wanted, decide};
use super::target::{self, Listing};
use super::tree::{Tree, stamp};
use super::warning::{Warning, WarningKind, plain, shown};
use super::{Job, Look, Merged, MergedSkill, Target};

/// What is to be done, and what it is done with.
#[derive(Debug, Default)]
pub(super) struct Assessment<'a> {
    pub(super) actions: BTreeMap<String, Action>,
    /// As it will be but for what is copied and removed.
    pub(super) manifest: Manifest,
    /// Whether `manifest` differs from the one on disk.
    pub(super) dirty: bool,
    /// The sources that were looked at, by name.
    pub(super) trees: BTreeMap<String, Cow<'a, Tree>>,
    /// What is odd about each merged skill at this moment.
    pub(super) notes: BTreeMap<String, Vec<Warning>>,
}

impl<'a> Assessment<'a> {
    /// `mark`: an instant of the file system before anything was looked at; a
    /// source that changed later may change again without a trace in its stamp.
    pub(super) fn make(
        job: &Job,
        target: &Target,
        merged: &'a Merged,
        manifest: Manifest,
        listing: &Listing,
        mark: Option<i128>,
    ) -> Self {
        let mut made = Self { manifest, ..Self::default() };
        let mut wanted = BTreeMap::new();
        for skill in &merged.skills {
            let (contents, notes) = match made.contents(job, skill) {
                Ok((contents, notes)) => (Some(contents), notes),
                Err(notes) => (None, notes),
            };
            made.notes.insert(skill.name.clone(), notes);
            if let Some(contents) = contents {
                let source = skill.source.to_string();
                wanted.insert(skill.name.as_str(), Wanted { source, contents });
            }
        }
        let mut names: BTreeSet<String> = wanted.keys().map(|&name| name.to_owned()).collect();
        names.extend(made.manifest.skills.keys().cloned());
        if target.private {
            names.extend(listing.entries.keys().cloned());
        }
        for name in names {
            let wanted = wanted.get(name.as_str());
            made.name(job, target, name, wanted, listing, mark);
        }
        made
    }

    /// What is known of a source's contents, and what is odd about it.
    fn contents(
        &mut self,
        job: &Job,
        skill: &'a MergedSkill,
    ) -> Result<(Contents, Vec<Warning>), Vec<Warning>> {
        let entry = self.manifest.skills.get(&skill.name);
        let mut notes = skill.warnings.clone();
        let tree = match &skill.look {
            Look::LeftOut => return Err(notes),
            Look::Unchanged(seen)
                if entry.is_some_and(|entry| {
                    entry.settled && entry.source == skill.source.as_str() && entry.source_stamp == *seen
                }) =>
            {
                return Ok((Contents::AsRecorded, notes));
            }
            Look::Walked(tree) if stamp(&skill.resolved, &tree.paths).as_ref() == Some(&tree.stamp) => {
                Cow::Borrowed(&**tree)
            }
            // It moved on since the survey.
            Look::Unchanged(_) | Look::Walked(_) => {
                let now = skill.inspect(job.bounds);
                notes = now.warnings;
                match now.tree {
                    Some(tree) => Cow::Owned(*tree),
                    None => return Err(notes),
                }
            }
        };
        let contents = match entry.map(|_| content_hash(&tree, job.bounds)) {
            None => Contents::Unread,
            Some(Ok(hash)) => Contents::Hash(hash),
            Some(Err(error)) => {
                notes.push(skill.left_out(error.kind(), &error.to_string()));
                return Err(notes);
            }
        };
        self.trees.insert(skill.name.clone(), tree);
        Ok((contents, notes))
    }

    /// Decides about one name, and brings its entry up to date.
    fn name(
        &mut self,
        job: &Job,
        target: &Target,
        name: String,
        wanted: Option<&Wanted>,
        listing: &Listing,
        mark: Option<i128>,
    ) {
        let harness = job.harness.as_str();
        let mut entry = self.manifest.skills.remove(&name);
        let before = entry.clone();
        let concerned = target.private
            || wanted.is_some()
            || entry.as_ref().is_some_and(|entry| entry.owners.contains(harness));
        if !concerned {
            self.manifest.skills.extend(entry.map(|entry| (name, entry)));
            return;
        }
        let is_dir = listing.entries.get(&name).copied();
        let held = target::held(&target.dir, &name, is_dir, entry.as_mut(), job.bounds);
        if held == Held::Foreign {
            entry = None;
        }
        let action = decide(harness, target.private, wanted, entry.as_ref(), held);
        match action {
            Action::Keep => {
                if let (Some(entry), Some(wanted)) = (entry.as_mut(), wanted) {
                    let notes = self.notes.get(&name).cloned().unwrap_or_default();
                    keep(entry, wanted, self.trees.get(&name).map(|tree| &**tree), notes, job, target, mark);
                }
            }
            Action::Occupied => {
                let note = occupied(&name, target, job, entry.as_ref());
                self.notes.entry(name.clone()).or_default().push(note);
                disown(entry.as_mut(), harness);
            }
            Action::Disown => disown(entry.as_mut(), harness),
            Action::Forget => entry = None,
            Action::Write | Action::Replace { .. } | Action::Remove { .. } | Action::Leave => {}
        }
        self.dirty |= entry != before;
        self.manifest.skills.extend(entry.map(|entry| (name.clone(), entry)));
        self.actions.insert(name, action);
    }
}

/// A copy that stays is ours from now on, and recorded as it was just found.
fn keep(
    entry: &mut Entry,
    wanted: &Wanted,
    tree: Option<&Tree>,
    notes: Vec<Warning>,
    job: &Job,
    target: &Target,
    mark: Option<i128>,
) {
    if target.private {
        entry.owners.clear();
    }
    entry.owners.insert(job.harness.to_string());
    // The stamps tell about one source; with several of equal contents, the first keeps them.
    if let Some(tree) = tree
        && (entry.owners.len() == 1 || entry.source == wanted.source)
    {
        entry.source.clone_from(&wanted.source);
        entry.source_stamp.clone_from(&tree.stamp);
        entry.settled = is_settled(tree, mark);
        entry.warnings = notes;
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
