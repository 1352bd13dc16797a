//! The ten defects that were read out of another tool's spawn-time projection.

use std::fs;

use super::place::{Place, contents, link, messages, mode, set_mode, write};
use crate::skills::{Job, Target, WarningKind, project, survey};
use crate::wire::SkillRank;

/// Defect 1 (SKL-8): a skill that a person wrote by hand into the target is not overwritten.
#[test]
fn defect_1_a_hand_written_skill_is_not_overwritten() {
    let place = Place::shared();
    write(&place.target().join("playbook/SKILL.md"), "by hand");
    place.skill("global", "playbook", "projected");
    assert_eq!(place.project().changes.occupied, ["playbook"]);
    assert_eq!(place.found().into_values().collect::<Vec<_>>(), ["by hand"]);
}

/// Defect 2 (SKL-7): with private targets one harness's skills are not visible to another.
#[test]
fn defect_2_harnesses_do_not_see_each_other() {
    let place = Place::new();
    place.skill("global", "alpha", "");
    place.project();
    let target = place.home.join("target-of-other");
    let other = Job { target: Some(Target { dir: target.clone(), private: true }), ..place.other("other") };
    project(&other, &survey(&other)).unwrap();
    assert!(!target.join("alpha").exists());
    assert!(place.target().join("alpha").exists());
}

/// Defect 3 (SKL-9): a copy enters the target by one rename: the directory that
/// appears is the one that was built, and nothing half stays when building fails.
#[test]
fn defect_3_copies_are_atomic() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "old");
    place.project();
    place.skill("global", "alpha", "newer");
    write(&alpha.join("big"), "x");
    for steps in 0..2 {
        let tuning = crate::skills::execute::Tuning { exchange: true, steps: Some(steps) };
        crate::skills::execute::perform(&place.job, &survey(&place.job), tuning).unwrap();
        assert_eq!(contents(&place.target().join("alpha")).len(), 1);
        assert_eq!(place.text("alpha").unwrap(), "old");
    }
}

/// Defect 4 (SKL-6): scripts stay executable.
#[test]
fn defect_4_scripts_stay_executable() {
    let place = Place::new();
    let run = place.skill("global", "alpha", "").join("scripts/run.sh");
    write(&run, "#!/bin/sh\n");
    set_mode(&run, 0o755);
    place.project();
    assert_ne!(mode(&place.target().join("alpha/scripts/run.sh")) & 0o100, 0);
}

/// Defect 5 (SKL-8): a symlink in the target is not written through.
#[test]
fn defect_5_links_in_the_target_are_not_written_through() {
    for place in [Place::new(), Place::shared()] {
        let dotfiles = place.skill("dotfiles", "alpha", "mine");
        place.skill("global", "alpha", "projected");
        link(&dotfiles, &place.target().join("alpha"));
        place.project();
        assert_eq!(contents(&dotfiles).into_values().collect::<Vec<_>>(), ["---\nname: alpha\n---\nmine"]);
    }
}

/// Defect 6 (SKL-6): what is wrong with a source is a warning about the source, and the start goes on.
#[test]
fn defect_6_a_link_in_a_source_does_not_fail_the_start() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    link("/nowhere/at/all", &alpha.join("dangling"));
    let done = place.project();
    assert_eq!(done.changes.written, ["alpha"]);
    assert_eq!(
        messages(&done.warnings, WarningKind::EntryLeftOut),
        ["skill `alpha`: not copied: `dangling`: a symlink to nothing"]
    );
}

/// Defect 7 (SKL-6): a skill's directory may be a symlink, and so may a root.
#[test]
fn defect_7_linked_directories_are_skills() {
    let mut place = Place::new();
    let real = place.skill("elsewhere", "real", "x");
    link(&real, &place.home.join("global/real"));
    link(place.home.join("elsewhere"), &place.home.join("linked"));
    place.skill("elsewhere", "second", "");
    place.root("linked", SkillRank::Project);
    let done = place.project();
    assert_eq!(done.changes.written, ["real", "second"]);
    assert_eq!(done.skills[0].source, place.home.join("linked/real").as_str());
}

/// Defect 8 (SKL-4): naming the target as a root does not make it copy itself.
#[test]
fn defect_8_the_target_as_a_root_contributes_nothing() {
    let mut place = Place::shared();
    place.skill("global", "alpha", "");
    place.project();
    place.root("target", SkillRank::Project);
    let merged = survey(&place.job);
    assert_eq!(merged.skills[0].source, place.home.join("global/alpha"));
    assert!(merged.skills[0].shadowed.is_empty());
    assert_eq!(messages(&merged.warnings, WarningKind::RootIsTarget).len(), 1);
}

/// Defect 9 (SKL-10): a file far past the bound is refused by its size, without being read.
#[test]
fn defect_9_sizes_are_guarded() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    let huge = fs::File::create(alpha.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::TooLarge),
        [format!("skill `alpha` at {alpha} is left out: more than 256.0 MiB")]
    );
    assert!(place.found().is_empty());
}

/// Defect 10 (SKL-5): a symlink into the learned tier does not get around its exclusion.
#[test]
fn defect_10_a_link_into_the_learned_tier_is_excluded() {
    let place = Place::new();
    place.skill("learned", "secret", "");
    link(place.home.join("learned/secret"), &place.home.join("global/secret"));
    assert_eq!(place.project().changes.written, Vec::<String>::new());
    assert!(place.found().is_empty());
}
