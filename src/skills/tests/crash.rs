//! SKL-9: being cut off between any two steps.

use std::collections::BTreeMap;
use std::fs;

use super::place::{Place, contents, messages, write};
use crate::skills::execute::{Tuning, perform};
use crate::skills::{WarningKind, survey};

/// A place whose next projection writes, replaces, replaces what was edited,
/// removes, removes what was edited, and displaces what is foreign.
fn busy() -> Place {
    let place = Place::new();
    for name in ["changed", "edited", "gone", "gone-edited", "same"] {
        let dir = place.skill("global", name, "old");
        write(&dir.join("more"), "old");
    }
    place.project();
    for name in ["edited", "gone-edited"] {
        write(&place.target().join(name).join("SKILL.md"), "work");
    }
    write(&place.target().join("foreign/SKILL.md"), "work");
    for name in ["changed", "edited", "new"] {
        let dir = place.skill("global", name, "new");
        write(&dir.join("more"), "new");
    }
    for name in ["gone", "gone-edited"] {
        fs::remove_dir_all(place.home.join("global").join(name)).unwrap();
    }
    place
}

/// The contents of each directory in the target, without what is ours.
fn copies(place: &Place) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut copies = BTreeMap::new();
    for entry in place.target().read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        if !entry.file_name().starts_with(".harnessd") {
            copies.insert(entry.file_name().to_owned(), contents(entry.path()));
        }
    }
    copies
}

/// Cuts a projection off after each number of steps, and hands what is there to `check`.
fn at_each_step(exchange: bool, check: impl Fn(&Place, &BTreeMap<String, BTreeMap<String, String>>)) {
    let mut previous = BTreeMap::new();
    for steps in 0..100 {
        let place = busy();
        let before = copies(&place);
        let tuning = Tuning { exchange, steps: Some(steps) };
        let done = perform(&place.job, &survey(&place.job), tuning).unwrap();
        check(&place, &before);
        let after = copies(&place);
        let ended = !done.skills.is_empty();
        // The next start puts everything right, whatever it finds.
        let repaired = place.project();
        assert_eq!(place.found(), contents(&place.home.join("global")), "after {steps} steps");
        assert_eq!(repaired.skills.len(), 4);
        let entries: Vec<_> =
            fs::read_dir(place.target()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !entries.iter().any(|name| name.to_string_lossy().starts_with(".harnessd-tmp-")),
            "{entries:?}"
        );
        // Work is kept, once; what was ours is not.
        let kept = contents(&place.home.join("displaced/tester"));
        let kept: Vec<_> = kept
            .iter()
            .filter(|(path, _)| path.ends_with("SKILL.md"))
            .map(|(path, text)| (path.split('/').next().unwrap(), text.as_str()))
            .collect();
        assert_eq!(
            kept,
            [("edited", "work"), ("foreign", "work"), ("gone-edited", "work")],
            "after {steps} steps"
        );
        assert_eq!(place.project().changes.kept, ["changed", "edited", "new", "same"]);
        if ended {
            assert!(steps > 8, "too few steps to tell anything");
            return;
        }
        previous = after;
    }
    panic!("no end: {previous:?}");
}

/// SKL-9: after a crash at any step each skill is whole, old or new, and the next start repairs the rest.
#[test]
fn a_crash_at_any_step_leaves_each_skill_old_or_new() {
    at_each_step(true, |place, before| {
        let now = copies(place);
        for (name, old) in before {
            let new = place.home.join("global").join(name);
            let new = new.exists().then(|| contents(&new));
            assert!(
                now.get(name) == Some(old) || now.get(name) == new.as_ref(),
                "{name}: {:?}",
                now.get(name)
            );
        }
    });
}

/// SKL-9: where names cannot be exchanged a skill may be missing for an instant, but is never half.
#[test]
fn without_exchange_a_crash_leaves_nothing_half() {
    at_each_step(false, |place, before| {
        for (name, copy) in &copies(place) {
            let new = place.home.join("global").join(name);
            let is_new = new.exists() && contents(&new) == *copy;
            assert!(before.get(name) == Some(copy) || is_new, "{name}: {copy:?}");
        }
    });
}

/// SKL-9: what a killed projection left is removed by the next, whatever it is.
#[test]
fn left_over_scratch_is_removed() {
    let place = Place::new();
    place.skill("global", "alpha", "");
    place.project();
    write(&place.target().join(".harnessd-tmp-0/new/alpha/SKILL.md"), "half");
    write(&place.target().join(".harnessd-tmp-7"), "a file");
    write(&place.target().join(".harnessd-tmp-3/keep/alpha/SKILL.md"), "work");
    let done = place.project();
    assert_eq!(place.found(), contents(&place.home.join("global")));
    assert_eq!(messages(&done.warnings, WarningKind::Displaced).len(), 1);
    assert_eq!(contents(&place.home.join("displaced")).into_values().collect::<Vec<_>>(), ["work"]);
}

/// SKL-9: a projection that fails half-way leaves the old copies, and says which target it was.
#[test]
fn a_failure_leaves_the_old_copies() {
    let place = Place::new();
    place.skill("global", "alpha", "old");
    place.project();
    place.skill("global", "alpha", "new one");
    // As a full disk would, but for root too: the manifest's place cannot be renamed to.
    fs::remove_file(place.target().join(".harnessd.json")).unwrap();
    fs::remove_dir_all(place.home.join("displaced")).ok();
    write(&place.home.join("displaced"), "a file where the directory should be");
    write(&place.target().join(".harnessd.json/inside"), "");
    let error = perform(&place.job, &survey(&place.job), Tuning { exchange: true, steps: None }).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("adapter claude-code: project skills: write {}: is a directory", place.target())
    );
    assert_eq!(place.text("alpha").unwrap(), "old");
    assert!(!place.target().join(".harnessd-tmp-0").exists());
}

/// SKL-8, SKL-9: work that cannot be moved away stays where it is, said so, and is moved later.
#[test]
fn work_that_cannot_be_moved_is_not_lost() {
    let place = Place::new();
    place.skill("global", "alpha", "source");
    place.project();
    write(&place.target().join("alpha/SKILL.md"), "work");
    write(&place.home.join("displaced"), "a file where the directory should be");
    let done = place.project();
    let kept = place.target().join(".harnessd-tmp-0/keep/alpha");
    assert_eq!(
        messages(&done.warnings, WarningKind::Displaced),
        [format!(
            "`alpha` in the target was not as harnessd wrote it: it stays at {kept}, \
             for it cannot be moved to {}/displaced/tester: not a directory",
            place.home
        )]
    );
    assert_eq!(fs::read_to_string(kept.join("SKILL.md")).unwrap(), "work");
    assert_eq!(place.text("alpha").unwrap(), "source");
    fs::remove_file(place.home.join("displaced")).unwrap();
    place.project();
    assert!(!kept.exists());
    assert_eq!(contents(&place.home.join("displaced")).into_values().collect::<Vec<_>>(), ["work"]);
}
