//! Projection into a private target: SKL-6, SKL-8, SKL-10, SKL-11, SKL-12, SKL-14.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::place::{Place, contents, link, messages, mode, set_mode, tick, write};
use crate::skills::assess::is_settled;
use crate::skills::tree::{Links, walk};
use crate::skills::{Bounds, Seen, SkillError, Target, WarningKind, project, survey};
use crate::wire::ErrorCode;

/// SKL-6. Scenario "Merged set lands before exec" (the part of it that is projection)
#[test]
fn merged_set_lands_before_exec() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "a");
    write(&alpha.join("scripts/run.sh"), "#!/bin/sh\n");
    fs::create_dir(alpha.join("empty")).unwrap();
    place.skill("global", "beta", "b");
    let done = place.project();
    assert_eq!(contents(&place.home.join("global")), place.found());
    let named: Vec<_> =
        done.skills.iter().map(|skill| (skill.name.as_str(), skill.source.as_str())).collect();
    assert_eq!(named, [("alpha", alpha.as_str()), ("beta", place.home.join("global/beta").as_str())]);
    assert!(done.skills.iter().all(|skill| skill.hash.len() == 64), "{done:?}");
    assert_eq!(done.warnings, []);
}

/// SKL-6. Scenario "Merged set lands before exec": a harness that writes into
/// its copy changes no source, neither by bytes, nor by a hard link, nor by a symlink
#[test]
fn a_running_harness_leaves_the_source_unchanged() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "before");
    write(&alpha.join("data"), "before");
    place.project();
    let copy = place.target().join("alpha");
    assert_ne!(
        fs::metadata(alpha.join("data")).unwrap().ino(),
        fs::metadata(copy.join("data")).unwrap().ino()
    );
    let before = contents(&alpha);
    fs::write(copy.join("data"), "after").unwrap();
    fs::write(copy.join("new"), "after").unwrap();
    fs::remove_file(copy.join("SKILL.md")).unwrap();
    assert_eq!(contents(&alpha), before);
}

/// SKL-6: executable bits are kept, other bits, owner and times are not.
#[test]
fn executable_bits_are_kept() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    for (name, bits) in [("run", 0o4755), ("group", 0o610), ("plain", 0o600), ("open", 0o666)] {
        write(&alpha.join(name), name);
        set_mode(&alpha.join(name), bits);
    }
    place.project();
    let copy = |name: &str| mode(&place.target().join("alpha").join(name)) & 0o700;
    assert_eq!([copy("run"), copy("group"), copy("plain"), copy("open")], [0o700, 0o700, 0o600, 0o600]);
    assert_eq!(mode(&place.target().join("alpha/open")) & 0o022, 0);
    // A changed bit is a changed skill.
    set_mode(&alpha.join("plain"), 0o700);
    assert_eq!(place.project().changes.written, ["alpha"]);
}

/// SKL-6: projection follows the sources on every start: changes, new skills, skills that went.
#[test]
fn every_start_sees_the_present_sources() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "one");
    place.skill("global", "beta", "");
    place.project();
    write(&alpha.join("SKILL.md"), "---\nname: alpha\n---\ntwo");
    fs::remove_dir_all(place.home.join("global/beta")).unwrap();
    place.skill("global", "gamma", "");
    let done = place.project();
    assert_eq!(
        (done.changes.written, done.changes.removed),
        (vec!["alpha".to_owned(), "gamma".to_owned()], vec!["beta".to_owned()])
    );
    assert_eq!(place.text("alpha").unwrap(), "two");
    assert_eq!(contents(&place.home.join("global")), place.found());
    assert!(!place.home.join("displaced").exists(), "what nobody edited is not kept");
}

/// SKL-6: symlinks inside are followed where they stay inside the resolved skill.
#[test]
fn inner_links_become_contents() {
    let place = Place::new();
    let real = place.skill("elsewhere", "alpha", "");
    write(&real.join("shared/text"), "x");
    link("shared", &real.join("again"));
    link("../shared/text", &real.join("docs/text"));
    link(real.join("SKILL.md"), &real.join("absolute"));
    link("../elsewhere/alpha", &place.home.join("global/alpha"));
    let done = place.project();
    assert_eq!(done.warnings, []);
    let found: Vec<_> =
        place.found().into_iter().filter(|(_, text)| text == "x").map(|(path, _)| path).collect();
    assert_eq!(found, ["alpha/again/text", "alpha/docs/text", "alpha/shared/text"]);
    assert!(place.found().contains_key("alpha/absolute"));
    assert!(place.found().values().all(|text| !text.starts_with("->")));
}

/// SKL-6: symlinks that leave, dangle or loop are left out with a warning; the rest is projected.
#[test]
fn links_that_leave_dangle_or_loop_are_left_out() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    write(&place.home.join("secret"), "secret");
    write(&alpha.join("inner/text"), "x");
    link("../../secret", &alpha.join("leaves"));
    link(&place.home, &alpha.join("leaves-too"));
    link("nowhere", &alpha.join("dangles"));
    link("round", &alpha.join("round"));
    link("..", &alpha.join("inner/up"));
    let done = place.project();
    let said =
        |entry: &str, reason: &str| format!("skill `alpha`: not copied: `{entry}`: a symlink {reason}");
    assert_eq!(
        messages(&done.warnings, WarningKind::EntryLeftOut),
        [
            said("dangles", "to nothing"),
            said("inner/up", "that loops"),
            said("leaves", "that leaves the skill"),
            said("leaves-too", "that leaves the skill"),
            said("round", "that loops"),
        ]
    );
    assert_eq!(place.found().keys().collect::<Vec<_>>(), ["alpha/SKILL.md", "alpha/inner/text"]);
    assert_eq!(place.project().warnings, done.warnings);
}

/// SKL-8: a copy that was edited is replaced at the next start after being kept, with a warning.
#[test]
fn an_edited_copy_is_kept_and_replaced() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "source");
    write(&alpha.join("gone"), "");
    place.project();
    let copy = place.target().join("alpha");
    fs::write(copy.join("SKILL.md"), "edited").unwrap();
    write(&copy.join("learnt.md"), "work");
    fs::remove_file(copy.join("gone")).unwrap();
    let done = place.project();
    let shelf = place.home.join("displaced/tester/alpha");
    let kept = fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(kept.len(), 1);
    let kept = camino::Utf8PathBuf::from_path_buf(kept[0].clone()).unwrap();
    assert_eq!(
        messages(&done.warnings, WarningKind::Displaced),
        [format!("`alpha` in the target was not as harnessd wrote it: it is kept at {kept}")]
    );
    let text = |name: &str| contents(&kept).remove(name);
    assert_eq!(
        (text("SKILL.md").unwrap(), text("learnt.md").unwrap()),
        ("edited".to_owned(), "work".to_owned())
    );
    assert_eq!(place.found(), contents(&place.home.join("global")));
    let again = place.project();
    assert_eq!((again.warnings, again.changes.kept), (vec![], vec!["alpha".to_owned()]));
}

/// SKL-8: an edit that keeps size and modification time is noticed too.
#[test]
fn an_edit_in_disguise_is_noticed() {
    let place = Place::new();
    place.skill("global", "alpha", "source");
    place.project();
    let file = place.target().join("alpha/SKILL.md");
    let text = fs::read_to_string(&file).unwrap().replace("source", "forged");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    tick();
    fs::write(&file, text).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!(place.project().changes.written, ["alpha"]);
    assert_eq!(place.text("alpha").unwrap(), "source");
}

/// SKL-14: a private target holds the merged set and nothing else; what else was there is kept aside.
#[test]
fn a_private_target_holds_nothing_else() {
    let place = Place::new();
    place.skill("global", "alpha", "");
    write(&place.target().join("alpha/SKILL.md"), "somebody's");
    write(&place.target().join("own/SKILL.md"), "agent's");
    write(&place.target().join(".hidden/SKILL.md"), "agent's");
    write(&place.target().join("note"), "agent's");
    link(&place.home, &place.target().join("link"));
    let done = place.project();
    assert_eq!(done.changes.removed, [".hidden", "link", "note", "own"]);
    assert_eq!(place.found(), contents(&place.home.join("global")));
    let mut kept: Vec<_> = contents(&place.home.join("displaced/tester")).into_values().collect();
    kept.sort();
    assert_eq!(kept, [format!("-> {}", place.home).as_str(), "agent's", "agent's", "agent's", "somebody's"]);
    assert_eq!(messages(&done.warnings, WarningKind::Displaced).len(), 5);
}

/// SKL-10: unchanged skills are neither copied nor read: the copies stay the very files, nothing is written.
#[test]
fn unchanged_skills_cost_no_copy() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    write(&alpha.join("data"), "x");
    place.project();
    let state = || {
        let file = fs::metadata(place.target().join("alpha/data")).unwrap();
        let manifest = fs::metadata(place.target().join(".harnessd.json")).unwrap();
        (file.ino(), file.ctime_nsec(), manifest.ino())
    };
    // What was written in the very tick of the first look is looked at once more.
    tick();
    place.project();
    let before = state();
    let done = place.project();
    assert_eq!((done.changes.kept, done.changes.written), (vec!["alpha".to_owned()], vec![]));
    assert_eq!(state(), before);
    assert!(matches!(survey(&place.job).skills[0].seen, Seen::Unchanged(_)), "its files are not read");
}

/// SKL-10: a stamp counts as proof only if everything in it is older than the
/// first look, and if nothing was left out that may become readable unnoticed.
#[test]
fn a_stamp_proves_only_what_is_older() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    let mut tree = walk(&alpha, Links::Follow, Bounds::default()).unwrap();
    assert!(is_settled(&tree, Some(tree.newest + 1)));
    assert!(!is_settled(&tree, Some(tree.newest)));
    assert!(!is_settled(&tree, None));
    tree.blind = true;
    assert!(!is_settled(&tree, Some(tree.newest + 1)));
}

/// SKL-10: copies are dated before they were made, so that any later write dates them anew.
#[test]
fn copies_are_dated_before_they_were_made() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    write(&alpha.join("inner/data"), "");
    place.project();
    let modified = |rel: &str| fs::metadata(place.target().join(rel)).unwrap().modified().unwrap();
    for rel in ["alpha", "alpha/SKILL.md", "alpha/inner", "alpha/inner/data"] {
        assert!(modified(rel) < modified(".harnessd.lock"), "{rel}");
    }
}

/// SKL-10: a source that is changed in the very tick in which it was copied is copied again.
#[test]
fn a_change_within_a_tick_is_seen() {
    let place = Place::new();
    for round in 0..50 {
        place.skill("global", "alpha", &format!("{round:02}"));
        place.project();
        assert_eq!(place.text("alpha").unwrap(), format!("{round:02}"));
        let file = place.target().join("alpha/SKILL.md");
        fs::write(&file, fs::read_to_string(&file).unwrap().replace("---", "+++")).unwrap();
        assert_eq!(place.project().changes.written, ["alpha"], "an edit of the same size in round {round}");
    }
}

/// SKL-10: a source that was only touched is not copied again.
#[test]
fn touched_skills_keep_their_copies() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "same");
    place.project();
    let inode = fs::metadata(place.target().join("alpha")).unwrap().ino();
    place.skill("global", "alpha", "same");
    fs::File::options()
        .write(true)
        .open(alpha.join("SKILL.md"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(place.project().changes.kept, ["alpha"]);
    assert_eq!(fs::metadata(place.target().join("alpha")).unwrap().ino(), inode);
}

/// SKL-10: past the bounds a skill is left out with an error that names it, and its old copy goes.
#[test]
fn a_skill_past_the_bounds_is_left_out() {
    let mut place = Place::new();
    place.job.bounds = Bounds { files: 3, bytes: 100 };
    let alpha = place.skill("global", "alpha", "");
    place.skill("global", "beta", "");
    assert_eq!(place.project().changes.written, ["alpha", "beta"]);
    let said = |reason: &str| vec![format!("skill `alpha` at {alpha} is left out: {reason}")];
    let refused = |place: &Place| {
        let done = place.project();
        assert!(!place.target().join("alpha").exists());
        assert_eq!(done.skills.len(), 1);
        assert!(done.warnings.iter().all(|warning| warning.kind.is_error()));
        messages(&done.warnings, WarningKind::TooLarge)
    };
    for name in ["1", "2", "3"] {
        write(&alpha.join(name), "");
    }
    assert_eq!(refused(&place), said("more than 3 files"));
    fs::remove_file(alpha.join("1")).unwrap();
    assert_eq!(place.project().changes.written, ["alpha"]);
    write(&alpha.join("2"), &"x".repeat(100));
    assert_eq!(refused(&place), said("more than 100 B"));
    write(&alpha.join("2"), "");
    for n in 0..5 {
        fs::create_dir(alpha.join(format!("d{n}"))).unwrap();
    }
    assert_eq!(refused(&place), said("more than 3 directories"));
    place.job.bounds = Bounds::default();
    fs::create_dir_all(alpha.join(["d"; 40].join("/"))).unwrap();
    assert_eq!(refused(&place), said("directories nested more than 32 deep"));
}

/// SKL-11. Scenario "A failed projection is attributable"
#[test]
fn a_failed_projection_is_attributable() {
    let mut place = Place::new();
    place.skill("global", "alpha", "");
    write(&place.home.join("file"), "");
    let dir = place.home.join("file/target");
    place.job.target = Some(Target { dir: dir.clone(), private: true });
    let error = project(&place.job, &survey(&place.job)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("adapter claude-code: project skills: write {dir}: not a directory")
    );
    assert_eq!(error.code(), ErrorCode::TargetNotWritable);
    assert!(matches!(error, SkillError::TargetNotWritable { .. }));
}

/// SKL-11: the same without permission, where permissions mean something.
#[test]
fn a_forbidden_target_is_named_with_its_cause() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    place.skill("global", "alpha", "");
    fs::create_dir(place.target()).unwrap();
    set_mode(&place.target(), 0o555);
    let error = project(&place.job, &survey(&place.job)).unwrap_err();
    set_mode(&place.target(), 0o755);
    assert_eq!(
        error.to_string(),
        format!("adapter claude-code: project skills: write {}: permission denied", place.target())
    );
}

/// SKL-12. Scenario "Generic adapter skips projection"
#[test]
fn generic_adapter_skips_projection() {
    let mut place = Place::new();
    place.skill("global", "alpha", "");
    place.job.target = None;
    let before = contents(&place.home);
    let done = place.project();
    assert_eq!((done.skills, done.changes.written, done.warnings), (vec![], vec![], vec![]));
    assert_eq!(contents(&place.home), before);
}
