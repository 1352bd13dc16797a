//! The ordered merge (SKL-2, SKL-3): pure.
//!
//! Invariant: of one name exactly one copy wins, whole, and every other copy
//! stays listed.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use crate::wire::{ShadowedSkill, SkillRank};

/// One skill in one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// As it is found under its root.
    pub(super) source: Utf8PathBuf,
    /// With every link resolved.
    pub(super) resolved: Utf8PathBuf,
    pub(super) rank: SkillRank,
    /// Whether it is, by its metadata, what the manifest recorded.
    pub(super) unchanged: bool,
}

/// A candidate that won, and those that it shadows, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Winner {
    pub(super) candidate: Candidate,
    pub(super) shadowed: Vec<ShadowedSkill>,
}

/// Merges candidates that come in the order of their roots, lowest first. For
/// equal rank the later one wins. One directory that is reached twice shadows
/// nothing: it counts where it is strongest.
pub(super) fn merge(mut candidates: Vec<Candidate>) -> Vec<Winner> {
    candidates.sort_by_key(|candidate| candidate.rank);
    let mut names: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates.into_iter().rev() {
        let copies = names.entry(candidate.name.clone()).or_default();
        if copies.iter().all(|copy| copy.resolved != candidate.resolved) {
            copies.push(candidate);
        }
    }
    let mut winners = Vec::with_capacity(names.len());
    for copies in names.into_values() {
        let mut copies = copies.into_iter();
        let Some(candidate) = copies.next() else { continue };
        let shadowed =
            copies.map(|copy| ShadowedSkill { source: copy.source.into_string(), rank: copy.rank }).collect();
        winners.push(Winner { candidate, shadowed });
    }
    winners
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use proptest::prelude::{any, prop, proptest};

    use super::{Candidate, merge};
    use crate::wire::SkillRank;

    fn candidate(name: &str, root: &str, rank: SkillRank) -> Candidate {
        let source = Utf8PathBuf::from(format!("/{root}/{name}"));
        Candidate { name: name.to_owned(), resolved: source.clone(), source, rank, unchanged: false }
    }

    /// SKL-2: ranks rise adapter, global, project, project-local, in whatever order roots come.
    #[test]
    fn a_higher_rank_wins_whatever_the_order() {
        let merged = merge(vec![
            candidate("a", "local", SkillRank::ProjectLocal),
            candidate("a", "adapter", SkillRank::Adapter),
            candidate("a", "project", SkillRank::Project),
            candidate("a", "global", SkillRank::Global),
        ]);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].candidate.source, "/local/a");
        let shadowed: Vec<_> = merged[0].shadowed.iter().map(|copy| copy.source.as_str()).collect();
        assert_eq!(shadowed, ["/project/a", "/global/a", "/adapter/a"]);
    }

    /// SKL-2: for equal rank the later entry wins.
    #[test]
    fn for_equal_rank_the_later_entry_wins() {
        let merged =
            merge(vec![candidate("a", "one", SkillRank::Global), candidate("a", "two", SkillRank::Global)]);
        assert_eq!(merged[0].candidate.source, "/two/a");
        assert_eq!(merged[0].shadowed[0].source, "/one/a");
    }

    /// SKL-3: one directory reached through two roots is no shadow of itself.
    #[test]
    fn a_copy_does_not_shadow_itself() {
        let mut low = candidate("a", "link", SkillRank::Adapter);
        low.resolved = "/real/a".into();
        let merged = merge(vec![low, candidate("a", "real", SkillRank::Project)]);
        assert_eq!(merged[0].candidate.rank, SkillRank::Project);
        assert!(merged[0].shadowed.is_empty());
    }

    proptest! {
        /// SKL-3: every copy is either the winner or listed as shadowed, and none outranks the winner.
        #[test]
        fn every_copy_stays_enumerable(
            picks in prop::collection::vec((0_u8..4, any::<prop::sample::Index>()), 0..60)
        ) {
            let ranks = [SkillRank::Adapter, SkillRank::Global, SkillRank::Project, SkillRank::ProjectLocal];
            let candidates: Vec<_> = picks
                .iter()
                .enumerate()
                .map(|(n, (name, rank))| candidate(&name.to_string(), &n.to_string(), *rank.get(&ranks)))
                .collect();
            let merged = merge(candidates.clone());
            let listed: usize = merged.iter().map(|winner| 1 + winner.shadowed.len()).sum();
            assert_eq!(listed, candidates.len());
            for winner in &merged {
                assert!(winner.shadowed.iter().all(|copy| copy.rank <= winner.candidate.rank));
            }
        }
    }
}
