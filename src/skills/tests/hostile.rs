//! Names, sizes and files that nobody expects.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::place::{Place, contents, link, messages, set_mode, tick, write};
use crate::skills::{WarningKind, project, survey, view};

/// SKL-6: FIFOs and sockets are left out with a warning, and nobody waits for them.
#[test]
fn pipes_and_sockets_are_left_out() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    mkfifo(alpha.join("pipe").as_std_path(), Mode::from_bits_truncate(0o644)).unwrap();
    link("pipe", &alpha.join("to-pipe"));
    let _listener = UnixListener::bind(alpha.join("socket")).unwrap();
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::EntryLeftOut),
        [
            "skill `alpha`: not copied: `pipe`: neither a file, a directory nor a link",
            "skill `alpha`: not copied: `socket`: neither a file, a directory nor a link",
            "skill `alpha`: not copied: `to-pipe`: a symlink to neither a file nor a directory",
        ]
    );
    assert_eq!(place.found().keys().collect::<Vec<_>>(), ["alpha/SKILL.md"]);
}

/// SKL-1: a `SKILL.md` that is a pipe, or a link to nothing, makes no skill, and says so.
#[test]
fn a_skill_file_that_is_no_file_makes_no_skill() {
    let place = Place::new();
    fs::create_dir_all(place.home.join("global/pipe")).unwrap();
    mkfifo(place.home.join("global/pipe/SKILL.md").as_std_path(), Mode::from_bits_truncate(0o644)).unwrap();
    link("nowhere", &place.home.join("global/dangling/SKILL.md"));
    link("nowhere", &place.home.join("global/gone"));
    let merged = survey(&place.job);
    assert!(merged.skills.is_empty());
    let at = |name: &str, reason: &str| format!("{}/global/{name} is no skill: {reason}", place.home);
    assert_eq!(
        messages(&merged.warnings, WarningKind::NoSkill),
        [
            at("dangling", "its `SKILL.md` is a symlink to nothing"),
            at("gone", "a symlink to nothing"),
            at("pipe", "its `SKILL.md` is no regular file"),
        ]
    );
}

/// SKL-6: a `SKILL.md` that is a link out of the skill leaves nothing to project.
#[test]
fn a_skill_file_from_elsewhere_leaves_the_skill_out() {
    let place = Place::new();
    write(&place.home.join("elsewhere.md"), "---\nname: alpha\n---\n");
    link("../../elsewhere.md", &place.home.join("global/alpha/SKILL.md"));
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::SkillUnreadable),
        [format!(
            "skill `alpha` at {}/global/alpha is left out: its `SKILL.md` cannot be copied",
            place.home
        )]
    );
    assert!(place.found().is_empty());
}

/// SKL-1: odd names are projected as they are, and no control character reaches a message.
#[test]
fn odd_names_are_harmless() {
    let place = Place::new();
    let odd = ["new\nline", "a b", "ünï", "-rf", "$(x)", "\u{1b}[31m", "con"];
    for name in odd {
        write(&place.home.join("global").join(name).join("SKILL.md"), "---\nname: other\n---\n");
    }
    let done = place.project();
    assert_eq!(done.changes.written.len(), odd.len());
    assert_eq!(contents(&place.home.join("global")), place.found());
    assert_eq!(done.warnings.len(), odd.len());
    assert!(done.warnings.iter().all(|warning| !warning.message.contains(char::is_control)));
    assert_eq!(place.project().changes.kept.len(), odd.len());
}

/// SKL-1: names that are not UTF-8 are skipped with a warning, as skills and inside them.
#[test]
fn names_that_are_not_utf8_are_skipped() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    let bad = OsStr::from_bytes(b"b\xffd");
    fs::create_dir(place.home.join("global").as_std_path().join(bad)).unwrap();
    fs::write(alpha.as_std_path().join(bad), "").unwrap();
    let done = place.project();
    let said = |kind| messages(&done.warnings, kind);
    assert_eq!(
        said(WarningKind::NoSkill),
        [format!("{}/global/b\u{fffd}d is no skill: its name is not UTF-8", place.home)]
    );
    assert_eq!(
        said(WarningKind::EntryLeftOut),
        ["skill `alpha`: not copied: `b\u{fffd}d`: its name is not UTF-8"]
    );
    fs::write(place.target().as_std_path().join(bad), "agent's").unwrap();
    place.project();
    assert_eq!(place.found().keys().collect::<Vec<_>>(), ["alpha/SKILL.md"]);
    assert_eq!(contents(&place.home.join("displaced")).into_values().collect::<Vec<_>>(), ["agent's"]);
}

/// SKL-1: a skill that bears a name of ours cannot take our place.
#[test]
fn our_own_names_are_reserved() {
    let place = Place::new();
    for name in [".harnessd.json", ".harnessd-tmp-0"] {
        place.skill("global", name, "");
    }
    assert_eq!(messages(&place.project().warnings, WarningKind::NoSkill).len(), 2);
    assert!(place.found().is_empty());
}

/// SKL-8: a forged manifest moves nothing outside the target.
#[test]
fn a_forged_manifest_reaches_nothing_outside() {
    let place = Place::new();
    place.skill("global", "alpha", "");
    place.project();
    write(&place.home.join("victim/SKILL.md"), "precious");
    let path = place.target().join(".harnessd.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"alpha\"", "\"../victim\"");
    fs::write(&path, text).unwrap();
    place.project();
    assert_eq!(fs::read_to_string(place.home.join("victim/SKILL.md")).unwrap(), "precious");
}

/// SKL-8: a copy that the agent turned into something else is kept aside like any edit.
#[test]
fn a_copy_that_is_no_directory_any_more_is_replaced() {
    let place = Place::new();
    for name in ["file", "link", "pipe"] {
        place.skill("global", name, "x");
    }
    place.project();
    for name in ["file", "link"] {
        fs::remove_dir_all(place.target().join(name)).unwrap();
    }
    fs::write(place.target().join("file"), "work").unwrap();
    link(place.home.join("global/link"), &place.target().join("link"));
    mkfifo(place.target().join("pipe/pipe").as_std_path(), Mode::from_bits_truncate(0o644)).unwrap();
    let before = contents(&place.home.join("global"));
    assert_eq!(place.project().changes.written, ["file", "link", "pipe"]);
    assert_eq!(contents(&place.home.join("global")), before);
    assert_eq!(place.found(), before);
}

/// SKL-9: a copy that the agent made read-only is replaced all the same.
#[test]
fn a_read_only_copy_is_replaced() {
    let place = Place::new();
    place.skill("global", "alpha", "old");
    place.skill("global", "beta", "old");
    place.project();
    for name in ["alpha", "beta"] {
        set_mode(&place.target().join(name), 0o555);
    }
    place.skill("global", "alpha", "new one");
    fs::remove_dir_all(place.home.join("global/beta")).unwrap();
    place.project();
    assert_eq!(place.text("alpha").unwrap(), "new one");
    assert_eq!(place.found(), contents(&place.home.join("global")));
}

/// SKL-6: a skill full of links to nothing does not flood anybody with warnings.
#[test]
fn warnings_of_one_skill_are_bounded() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    for number in 0..100 {
        link("/nowhere", &alpha.join(number.to_string()));
    }
    let said = messages(&place.project().warnings, WarningKind::EntryLeftOut);
    assert_eq!(said.len(), 21);
    assert_eq!(said[20], "skill `alpha`: not copied: and more");
}

/// SKL-10: links that multiply end at a bound.
#[test]
fn a_bomb_of_links_ends_at_a_bound() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    for level in 0..12 {
        for copy in ["a", "b", "c", "d"] {
            link(format!("../l{}", level + 1), &alpha.join(format!("l{level}")).join(copy));
        }
    }
    write(&alpha.join("l12/end"), "");
    assert_eq!(messages(&place.project().warnings, WarningKind::TooLarge).len(), 1);
}

/// SKL-6: a file that cannot be read is left out with its cause, where permissions mean something.
#[test]
fn an_unreadable_file_is_left_out() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    write(&alpha.join("closed"), "x");
    set_mode(&alpha.join("closed"), 0);
    let done = place.project();
    assert_eq!(
        messages(&done.warnings, WarningKind::EntryLeftOut),
        ["skill `alpha`: not copied: `closed`: permission denied"]
    );
    set_mode(&alpha.join("closed"), 0o644);
    assert_eq!(place.project().changes.written, ["alpha"]);
}

/// SKL-6: a source that changes between the survey and the projection is copied as it is then.
#[test]
fn the_projection_sees_what_changed_since_the_survey() {
    let place = Place::new();
    let alpha = place.skill("global", "alpha", "one");
    place.skill("global", "beta", "one");
    let merged = survey(&place.job);
    tick();
    write(&alpha.join("late"), "x");
    fs::remove_dir_all(place.home.join("global/beta")).unwrap();
    let done = project(&place.job, &merged).unwrap();
    assert_eq!(place.found(), contents(&place.home.join("global")));
    assert_eq!(
        messages(&done.warnings, WarningKind::SkillUnreadable),
        [format!(
            "skill `beta` at {0}/global/beta is left out: {0}/global/beta: no such file or directory",
            place.home
        )]
    );
}

/// SKL-3: thousands of skills are many, not too many.
#[test]
fn thousands_of_skills_are_merged() {
    let place = Place::new();
    for number in 0..4_000 {
        let dir = place.home.join("global").join(format!("s{number}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("SKILL.md"), "").unwrap();
    }
    let merged = survey(&place.job);
    assert_eq!(view(&place.job, &merged).skills.len(), 4_000);
}
