//! What a projection will do (SKL-8, SKL-9): pure.
//!
//! Invariant: nothing that is not ours is overwritten or deleted. In a shared
//! target it is left alone, in a private one it is moved aside and kept, and
//! so is a copy that was edited.

use std::collections::BTreeMap;

use super::manifest::Entry;
use crate::wire::SkillChanges;

/// A skill that the merge wants in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted<'a> {
    /// Its directory.
    pub(super) source: &'a str,
    pub(super) contents: Contents,
}

/// What is known of a source's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Contents {
    /// They are those of the manifest's entry.
    AsRecorded,
    /// Their hash.
    Hash(String),
    /// Nothing: there is no entry to compare them with.
    Unread,
}

/// What the target holds under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Absent,
    /// The entry's contents.
    Current,
    /// The contents that the entry was about to replace when we were cut off.
    Stale,
    /// Our copy, changed by somebody.
    Edited,
    /// Something without an entry.
    Foreign,
}

/// What becomes of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The copy stays; it is ours too from now on.
    Keep,
    /// A new copy where nothing is.
    Write,
    /// A new copy for what is there, which is kept if `keep`.
    Replace { keep: bool },
    /// Away with it; it is kept if `keep`.
    Remove { keep: bool },
    /// Wanted, but somebody else holds the name.
    Occupied,
    /// The copy stays for its other owners.
    Disown,
    /// The entry goes, its copy is gone already.
    Forget,
    /// Not our business.
    Leave,
}

/// Decides about one name. [`Held::Foreign`] and a missing entry go together.
pub(super) fn decide(
    harness: &str,
    private: bool,
    wanted: Option<&Wanted<'_>>,
    entry: Option<&Entry>,
    held: Held,
) -> Action {
    let Some(entry) = entry else {
        return match (wanted, held) {
            (Some(_), Held::Absent) => Action::Write,
            (Some(_), _) if private => Action::Replace { keep: true },
            (Some(_), _) => Action::Occupied,
            (None, Held::Absent) => Action::Leave,
            (None, _) if private => Action::Remove { keep: true },
            (None, _) => Action::Leave,
        };
    };
    let others = !private && entry.owners.iter().any(|owner| owner != harness);
    let Some(wanted) = wanted else {
        let ours = private || entry.owners.contains(harness);
        return match held {
            _ if !ours => Action::Leave,
            _ if others => Action::Disown,
            Held::Absent => Action::Forget,
            Held::Current | Held::Stale => Action::Remove { keep: false },
            Held::Edited | Held::Foreign => Action::Remove { keep: true },
        };
    };
    let same = match &wanted.contents {
        Contents::AsRecorded => true,
        Contents::Hash(hash) => *hash == entry.hash,
        Contents::Unread => false,
    };
    match held {
        // Whoever shares the very source gets its new contents too.
        _ if others && !same && entry.source != wanted.source => Action::Occupied,
        Held::Absent => Action::Write,
        Held::Current if same => Action::Keep,
        Held::Current | Held::Stale => Action::Replace { keep: false },
        Held::Edited | Held::Foreign => Action::Replace { keep: true },
    }
}

/// What becomes of each name but those that could not be put in place after all.
pub(super) fn changes(actions: &BTreeMap<String, Action>, spoilt: &[String]) -> SkillChanges {
    let mut changes = SkillChanges::default();
    for (name, action) in actions.iter().filter(|(name, _)| !spoilt.contains(name)) {
        let list = match action {
            Action::Keep => &mut changes.kept,
            Action::Write | Action::Replace { .. } => &mut changes.written,
            Action::Remove { .. } => &mut changes.removed,
            Action::Occupied => &mut changes.occupied,
            Action::Disown | Action::Forget | Action::Leave => continue,
        };
        list.push(name.clone());
    }
    changes
}

/// One step of the execution. After any number of them each skill in the
/// target is old or new, or is put right by the next projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Copies the source beside the target.
    Build(String),
    /// Writes into the manifest what is about to be there.
    Intend,
    /// Renames the new copy to where nothing is.
    Put(String),
    /// Exchanges the new copy with what is there.
    Swap { name: String, keep: bool },
    /// Moves what is there out of the target; `renew`: only if a new copy was built.
    Take { name: String, keep: bool, renew: bool },
    /// Writes the manifest as it is now.
    Commit,
    /// Moves what is to be kept to the place for it.
    Displace(String),
    /// Deletes what was replaced.
    Sweep,
}

/// The steps that perform `actions`. `exchange`: whether two names can be
/// exchanged at once; else a name is empty for an instant. `dirty`: whether
/// the manifest must be written although no copy changes.
pub(super) fn steps(actions: &BTreeMap<String, Action>, exchange: bool, dirty: bool) -> Vec<Step> {
    let (mut builds, mut moves, mut displaced) = (Vec::new(), Vec::new(), Vec::new());
    for (name, action) in actions {
        let name = || name.clone();
        match *action {
            Action::Write => {
                builds.push(Step::Build(name()));
                moves.push(Step::Put(name()));
            }
            Action::Replace { keep } => {
                builds.push(Step::Build(name()));
                if exchange {
                    moves.push(Step::Swap { name: name(), keep });
                } else {
                    moves.push(Step::Take { name: name(), keep, renew: true });
                    moves.push(Step::Put(name()));
                }
                displaced.extend(keep.then(|| Step::Displace(name())));
            }
            Action::Remove { keep } => {
                moves.push(Step::Take { name: name(), keep, renew: false });
                displaced.extend(keep.then(|| Step::Displace(name())));
            }
            Action::Keep | Action::Occupied | Action::Disown | Action::Forget | Action::Leave => {}
        }
    }
    if moves.is_empty() && !dirty {
        return Vec::new();
    }
    let mut steps = builds;
    if !steps.is_empty() {
        steps.push(Step::Intend);
    }
    steps.extend(moves);
    steps.push(Step::Commit);
    steps.extend(displaced);
    steps.push(Step::Sweep);
    steps
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Action, Contents, Entry, Held, Step, Wanted, decide, steps};

    fn wanted(source: &str, contents: Contents) -> Wanted<'_> {
        Wanted { source, contents }
    }

    fn entry(source: &str, owners: &[&str]) -> Entry {
        let owners = owners.iter().map(|&owner| owner.to_owned()).collect();
        Entry { source: source.to_owned(), hash: "old".to_owned(), owners, ..Entry::default() }
    }

    /// SKL-8: what has no entry is left alone in a shared target and kept aside in a private one.
    #[test]
    fn what_is_not_ours_is_never_overwritten() {
        let skill = wanted("/a", Contents::Unread);
        let decided = |private, wanted, held| decide("h", private, wanted, None, held);
        assert_eq!(decided(false, Some(&skill), Held::Foreign), Action::Occupied);
        assert_eq!(decided(false, None, Held::Foreign), Action::Leave);
        assert_eq!(decided(true, Some(&skill), Held::Foreign), Action::Replace { keep: true });
        assert_eq!(decided(true, None, Held::Foreign), Action::Remove { keep: true });
        assert_eq!(decided(false, Some(&skill), Held::Absent), Action::Write);
    }

    /// SKL-8: an edited copy is kept before it is replaced or removed; others are not.
    #[test]
    fn only_edited_copies_are_kept() {
        let (old, new) = (wanted("/a", Contents::AsRecorded), wanted("/a", Contents::Hash("new".to_owned())));
        let mine = entry("/a", &["h"]);
        let decided = |wanted, held| decide("h", false, wanted, Some(&mine), held);
        assert_eq!(decided(Some(&old), Held::Current), Action::Keep);
        assert_eq!(decided(Some(&old), Held::Stale), Action::Replace { keep: false });
        assert_eq!(decided(Some(&old), Held::Edited), Action::Replace { keep: true });
        assert_eq!(decided(Some(&old), Held::Absent), Action::Write);
        assert_eq!(decided(Some(&new), Held::Current), Action::Replace { keep: false });
        assert_eq!(decided(None, Held::Current), Action::Remove { keep: false });
        assert_eq!(decided(None, Held::Edited), Action::Remove { keep: true });
        assert_eq!(decided(None, Held::Absent), Action::Forget);
    }

    /// SKL-8: a copy goes with its last owner, and another harness's different contents occupy the name.
    #[test]
    fn other_owners_are_respected() {
        let both = entry("/a", &["g", "h"]);
        let theirs = entry("/a", &["g"]);
        let equal = wanted("/b", Contents::Hash("old".to_owned()));
        let different = wanted("/b", Contents::Hash("new".to_owned()));
        let renewed = wanted("/a", Contents::Hash("new".to_owned()));
        assert_eq!(decide("h", false, None, Some(&both), Held::Current), Action::Disown);
        assert_eq!(decide("h", false, None, Some(&both), Held::Edited), Action::Disown);
        assert_eq!(decide("h", false, None, Some(&theirs), Held::Current), Action::Leave);
        assert_eq!(decide("h", false, Some(&equal), Some(&theirs), Held::Current), Action::Keep);
        assert_eq!(decide("h", false, Some(&different), Some(&theirs), Held::Current), Action::Occupied);
        assert_eq!(decide("h", false, Some(&different), Some(&both), Held::Edited), Action::Occupied);
        assert_eq!(
            decide("h", false, Some(&renewed), Some(&both), Held::Current),
            Action::Replace { keep: false }
        );
        // A private target has one owner, whatever its manifest says.
        assert_eq!(decide("h", true, None, Some(&theirs), Held::Current), Action::Remove { keep: false });
    }

    /// SKL-9: everything is built before anything moves, and the intention is written in between.
    #[test]
    fn copies_are_built_before_the_target_changes() {
        let actions: BTreeMap<String, Action> = [
            ("a", Action::Write),
            ("b", Action::Replace { keep: true }),
            ("c", Action::Remove { keep: false }),
            ("d", Action::Keep),
        ]
        .map(|(name, action)| (name.to_owned(), action))
        .into();
        let name = || "b".to_owned();
        assert_eq!(
            steps(&actions, true, false),
            [
                Step::Build("a".to_owned()),
                Step::Build(name()),
                Step::Intend,
                Step::Put("a".to_owned()),
                Step::Swap { name: name(), keep: true },
                Step::Take { name: "c".to_owned(), keep: false, renew: false },
                Step::Commit,
                Step::Displace(name()),
                Step::Sweep,
            ]
        );
        assert_eq!(
            steps(&actions, false, false)[4..6],
            [Step::Take { name: name(), keep: true, renew: true }, Step::Put(name())]
        );
    }

    /// SKL-10: where everything stays, nothing is done at all.
    #[test]
    fn no_change_means_no_step() {
        let actions = [("a".to_owned(), Action::Keep), ("b".to_owned(), Action::Occupied)].into();
        assert_eq!(steps(&actions, true, false), []);
        assert_eq!(steps(&actions, true, true), [Step::Commit, Step::Sweep]);
    }
}
