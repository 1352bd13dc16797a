//! Roots and the merge: SKL-1 to SKL-5, SKL-11, SKL-14.

use crate::adapter::Hidden;
use crate::skills::NativeDir;
use std::fs;

use super::place::{Place, link, messages, set_mode, write};
use crate::skills::{WarningKind, survey, view};
use crate::wire::{RootState, SkillRank};

fn names(place: &Place) -> Vec<String> {
    survey(&place.job).skills.iter().map(|skill| skill.name.clone()).collect()
}

/// SKL-1: a skill is a direct child that directly holds `SKILL.md`, spelled exactly so.
#[test]
fn only_direct_children_with_the_exact_file_are_skills() {
    let place = Place::new();
    place.skill("global", "alpha", "");
    place.skill("global", "group/nested", "");
    write(&place.home.join("global/lower/skill.md"), "");
    write(&place.home.join("global/mixed/Skill.md"), "");
    write(&place.home.join("global/SKILL.txt"), "");
    write(&place.home.join("global/plain"), "");
    fs::create_dir_all(place.home.join("global/directory/SKILL.md")).unwrap();
    assert_eq!(names(&place), ["alpha"]);
    assert_eq!(survey(&place.job).warnings, []);
}

/// SKL-1: a root that is itself a skill counts as one, and what lies in it as its parts.
#[test]
fn a_root_that_is_a_skill_counts_as_one() {
    let mut place = Place::new();
    place.skill("", "solo", "whole");
    place.skill("solo", "part", "");
    place.root("solo", SkillRank::Project);
    assert_eq!(names(&place), ["solo"]);
    place.project();
    assert!(place.target().join("solo/part/SKILL.md").exists());
}

/// SKL-1: a `name` that differs and a frontmatter that does not parse are warnings; both skills are projected.
#[test]
fn odd_frontmatter_is_projected_with_a_warning() {
    let place = Place::new();
    write(&place.home.join("global/alpha/SKILL.md"), "---\nname: beta\n---\n");
    write(&place.home.join("global/broken/SKILL.md"), "---\nname: [\n---\n");
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::NameMismatch),
        ["skill `alpha`: its frontmatter calls it `beta`, agents expect the directory's name"]
    );
    assert_eq!(messages(&done.warnings, WarningKind::Frontmatter).len(), 1);
    assert_eq!(done.changes.written, ["alpha", "broken"]);
    // Said again when nothing is read any more.
    assert_eq!(place.project().warnings, done.warnings);
}

/// SKL-2, SKL-3. Scenario "Nearer root wins a name collision"
#[test]
fn nearer_root_wins_a_name_collision() {
    let mut place = Place::new();
    place.root("project", SkillRank::Project);
    let low = place.skill("global", "playbook", "global");
    place.skill("project", "playbook", "project");
    write(&low.join("only-global.txt"), "x");
    place.project();
    assert_eq!(place.text("playbook").unwrap(), "project");
    assert!(!place.target().join("playbook/only-global.txt").exists(), "copies are not mixed");
    let merged = survey(&place.job);
    assert_eq!(merged.skills[0].shadowed[0].source, low.as_str());
}

/// SKL-3. Scenario "Shadowed copies are attributable"
#[test]
fn shadowed_copies_are_attributable() {
    let mut place = Place::new();
    place.root("local", SkillRank::ProjectLocal);
    place.root("project", SkillRank::Project);
    place.root("adapter", SkillRank::Adapter);
    for root in ["global", "adapter", "project", "local"] {
        place.skill(root, "playbook", root);
    }
    place.skill("global", "single", "");
    let shown = view(&place.job, &survey(&place.job));
    let playbook = serde_json::to_value(&shown.skills[0]).unwrap();
    let path = |root: &str| place.home.join(root).join("playbook").into_string();
    assert_eq!(
        playbook,
        serde_json::json!({
            "name": "playbook", "source": path("local"), "rank": "project-local",
            "shadowed": [
                {"source": path("project"), "rank": "project"},
                {"source": path("global"), "rank": "global"},
                {"source": path("adapter"), "rank": "adapter"},
            ],
            "state": "pending", "warnings": [],
        })
    );
    assert!(shown.skills[1].shadowed.is_empty());
}

/// SKL-4: a root that is the target, lies in it or reaches it through a symlink is left out, and said so.
#[test]
fn the_target_never_contributes() {
    let mut place = Place::new();
    place.skill("target", "self", "");
    place.skill("target/deep", "inner", "");
    place.skill("global", "alpha", "");
    link(place.target(), &place.home.join("to-target"));
    link("target/deep", &place.home.join("to-deep"));
    for root in ["target", "target/deep", "to-target", "to-deep"] {
        place.root(root, SkillRank::Project);
    }
    let merged = survey(&place.job);
    let states: Vec<_> = merged.roots.iter().map(|root| root.state).collect();
    assert_eq!(states[0], RootState::Ok);
    assert_eq!(states[1..], [RootState::IsTarget; 4]);
    assert_eq!(
        messages(&merged.warnings, WarningKind::RootIsTarget)[2],
        format!("skill root {} is left out: it leads to the target", place.home.join("to-target"))
    );
    assert_eq!(names(&place), ["alpha"]);
}

/// SKL-4: a skill that resolves into the target, or holds it, does not contribute either.
#[test]
fn a_skill_that_overlaps_the_target_is_left_out() {
    let mut place = Place::new();
    place.skill("target", "old", "");
    link("../target/old", &place.home.join("global/old"));
    place.skill("global", "outer", "");
    place.job.target.as_mut().unwrap().dir = place.home.join("global/outer/target");
    assert_eq!(names(&place), ["old"]);
    place.job.target.as_mut().unwrap().dir = place.home.join("target");
    assert_eq!(names(&place), ["outer"]);
}

/// SKL-5: the learned tier is left out as a root, as a skill, and through every symlink.
#[test]
fn the_learned_tier_is_never_projected() {
    let mut place = Place::new();
    place.skill("learned", "secret", "");
    place.skill("global", "alpha", "");
    link("../learned/secret", &place.home.join("global/renamed"));
    link("learned", &place.home.join("to-learned"));
    link("learned/secret", &place.home.join("to-skill"));
    for root in ["learned", "learned/secret", "to-learned", "to-skill"] {
        place.root(root, SkillRank::Project);
    }
    let merged = survey(&place.job);
    assert!(merged.roots[1..].iter().all(|root| root.state == RootState::Learned), "{:?}", merged.roots);
    assert_eq!(
        messages(&merged.warnings, WarningKind::Learned)[0],
        format!(
            "skill `renamed` at {} is left out: it lies in the learned tier",
            place.home.join("global/renamed")
        )
    );
    place.project();
    assert_eq!(place.found().keys().collect::<Vec<_>>(), ["alpha/SKILL.md"]);
}

/// SKL-5: a skill that holds the learned tier, or a link into it, carries nothing of it over.
#[test]
fn the_learned_tier_is_not_carried_over_inside_a_skill() {
    let mut place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    place.skill("learned", "secret", "");
    link("../../learned/secret/SKILL.md", &alpha.join("notes.md"));
    place.project();
    assert_eq!(place.found().keys().collect::<Vec<_>>(), ["alpha/SKILL.md"]);
    place.job.learned = alpha.join("learned");
    assert_eq!(names(&place), Vec::<String>::new());
}

/// SKL-11. Scenario "An unreadable skill root does not block startup"
#[test]
fn an_unreadable_skill_root_does_not_block_startup() {
    let mut place = Place::new();
    place.skill("global", "alpha", "");
    write(&place.home.join("file"), "");
    place
        .job
        .roots
        .push(crate::skills::Root { path: place.home.join("file/skills"), rank: SkillRank::Project });
    place.root("later", SkillRank::Project);
    place.skill("later", "beta", "");
    let merged = survey(&place.job);
    assert_eq!(merged.roots[1].state, RootState::Unreadable);
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::RootUnreadable),
        [format!("adapter claude-code: project skills: read {}/file/skills: not a directory", place.home)]
    );
    assert_eq!(done.changes.written, ["alpha", "beta"]);
}

/// SKL-11: the same for a root without permission, where permissions mean something.
#[test]
fn a_forbidden_root_is_named_with_its_cause() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let mut place = Place::new();
    let root = place.root("closed", SkillRank::Project);
    set_mode(&root, 0);
    let merged = survey(&place.job);
    set_mode(&root, 0o755);
    assert_eq!(
        messages(&merged.warnings, WarningKind::RootUnreadable),
        [format!("adapter claude-code: project skills: read {root}: permission denied")]
    );
}

/// SKL-11: a root that somebody wrote down and that is missing is a warning, a default one is not.
#[test]
fn a_missing_root_is_said_where_it_was_declared() {
    let mut place = Place::new();
    for (name, rank) in [("default", SkillRank::Adapter), ("declared", SkillRank::Project)] {
        fs::remove_dir(place.root(name, rank)).unwrap();
    }
    let merged = survey(&place.job);
    assert!(merged.roots[1..].iter().all(|root| root.state == RootState::Missing));
    assert_eq!(
        messages(&merged.warnings, WarningKind::RootUnreadable),
        [format!(
            "adapter claude-code: project skills: read {}/declared: no such file or directory",
            place.home
        )]
    );
}

/// SKL-14: what the agent finds by itself is listed; a shadowed copy that it still sees is a warning.
#[test]
fn native_copies_are_listed() {
    let mut place = Place::new();
    place.root("project", SkillRank::Project);
    let winner = place.skill("project", "playbook", "");
    let loser = place.skill("native", "playbook", "");
    let alone = place.skill("native", "other", "");
    let dirs = ["native", "project", "none"].map(|dir| place.home.join(dir));
    let natives = |hidden| dirs.clone().map(|path| NativeDir { path, hidden }).to_vec();
    place.job.native = natives(Hidden::Never);
    let listed = |place: &Place| -> Vec<_> {
        let merged = survey(&place.job);
        let native = merged.native.into_iter();
        native.map(|copy| (copy.name, copy.source, copy.shadowed, copy.projected, copy.visible)).collect()
    };
    let expected = |visible| {
        [
            ("other".to_owned(), alone.clone(), false, false, visible),
            ("playbook".to_owned(), loser.clone(), true, true, visible),
            ("playbook".to_owned(), winner.clone(), false, true, visible),
        ]
    };
    assert_eq!(listed(&place), expected(true));
    let warned = |place: &Place| messages(&survey(&place.job).warnings, WarningKind::Native);
    assert_eq!(
        warned(&place),
        [format!("skill `playbook`: the agent also sees the shadowed copy at {loser}")]
    );
    place.job.native = natives(Hidden::Copies);
    assert_eq!(listed(&place), expected(false));
    assert_eq!(warned(&place), Vec::<String>::new());
}
