//! A target that is shared with other harnesses and with people: SKL-8.

use crate::adapter::Hidden;
use crate::skills::NativeDir;
use std::fs;
use std::thread;

use super::place::{Place, contents, link, messages, write};
use crate::skills::{Job, Merged, Root, SkillError, WarningKind, project, survey, view};
use crate::wire::{SkillRank, SkillState};

fn with_root(mut job: Job, place: &Place, root: &str) -> Job {
    job.roots.push(Root { path: place.home.join(root), rank: SkillRank::Project });
    job
}

fn run(job: &Job) -> crate::skills::Projection {
    project(job, &survey(job)).unwrap()
}

/// SKL-8: a name that somebody holds is reported `occupied` and left alone, and so is everything else.
#[test]
fn what_is_not_ours_is_left_alone() {
    let place = Place::shared();
    place.skill("global", "alpha", "ours");
    place.skill("global", "beta", "ours");
    link(&place.home, &place.target().join("link"));
    write(&place.target().join("alpha/SKILL.md"), "somebody's");
    write(&place.target().join("mine/SKILL.md"), "somebody's");
    let done = place.project();
    assert_eq!(
        (&done.changes.occupied, &done.changes.written),
        (&vec!["alpha".to_owned()], &vec!["beta".to_owned()])
    );
    assert_eq!(
        messages(&done.warnings, WarningKind::Occupied),
        [format!(
            "skill `alpha`: its name is taken in {} by something that is not harnessd's",
            place.target()
        )]
    );
    assert_eq!(done.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["beta"]);
    let found = place.found();
    assert_eq!(found["alpha/SKILL.md"], "somebody's");
    assert_eq!(found["mine/SKILL.md"], "somebody's");
    assert!(found["link"].starts_with("->"));
    let shown = view(&place.job, &survey(&place.job));
    assert_eq!(shown.skills[0].state, SkillState::Occupied);
}

/// SKL-8: the manifest names skill, source, contents and owners.
#[test]
fn the_manifest_lists_what_is_ours() {
    let place = Place::shared();
    let alpha = place.skill("global", "alpha", "");
    let done = place.project();
    let text = fs::read_to_string(place.target().join(".harnessd.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = &manifest["skills"]["alpha"];
    assert_eq!(entry["source"], alpha.as_str());
    assert_eq!(entry["hash"], done.skills[0].hash);
    assert_eq!(entry["owners"], serde_json::json!(["tester"]));
}

/// SKL-8: a copy that two harnesses want is theirs both, and goes with its last owner.
#[test]
fn a_copy_goes_with_its_last_owner() {
    let place = Place::shared();
    place.skill("global", "alpha", "");
    let other = with_root(place.other("other"), &place, "global");
    assert_eq!(place.project().changes.written, ["alpha"]);
    assert_eq!(run(&other).changes.kept, ["alpha"]);
    let nothing = Merged::default();
    assert_eq!(project(&place.job, &nothing).unwrap().changes.removed, Vec::<String>::new());
    assert!(place.target().join("alpha/SKILL.md").exists());
    assert_eq!(project(&other, &nothing).unwrap().changes.removed, ["alpha"]);
    assert!(!place.target().join("alpha").exists());
}

/// SKL-8: another harness's different contents occupy the name; equal ones are shared.
#[test]
fn different_contents_of_another_harness_occupy_the_name() {
    let place = Place::shared();
    place.skill("global", "alpha", "one");
    place.skill("global", "beta", "same");
    place.skill("theirs", "alpha", "two");
    place.skill("theirs", "beta", "same");
    let other = with_root(place.other("other"), &place, "theirs");
    place.project();
    let done = run(&other);
    assert_eq!(
        (&done.changes.occupied, &done.changes.kept),
        (&vec!["alpha".to_owned()], &vec!["beta".to_owned()])
    );
    assert_eq!(
        messages(&done.warnings, WarningKind::Occupied),
        [format!("skill `alpha`: its name is taken in {} by different contents of `tester`", place.target())]
    );
    assert_eq!(place.text("alpha").unwrap(), "one");
    // Once the first drops it, the second has it.
    project(&place.job, &Merged::default()).unwrap();
    assert_eq!(run(&other).changes.written, ["alpha"]);
    assert_eq!(place.text("alpha").unwrap(), "two");
}

/// SKL-8: the new contents of a source that two harnesses share replace the copy of both.
#[test]
fn a_shared_source_is_renewed_for_both() {
    let place = Place::shared();
    place.skill("global", "alpha", "one");
    let other = with_root(place.other("other"), &place, "global");
    place.project();
    run(&other);
    place.skill("global", "alpha", "second");
    assert_eq!(run(&other).changes.written, ["alpha"]);
    assert_eq!(place.project().changes.kept, ["alpha"]);
    assert_eq!(place.text("alpha").unwrap(), "second");
}

/// SKL-8: a manifest that cannot be read owns nothing: copies become somebody's, and nothing is lost.
#[test]
fn a_broken_manifest_owns_nothing() {
    let place = Place::shared();
    place.skill("global", "alpha", "ours");
    place.project();
    write(&place.target().join(".harnessd.json"), "{");
    let done = place.project();
    assert_eq!(done.changes.occupied, ["alpha"]);
    let said = messages(&done.warnings, WarningKind::Target);
    let start =
        format!("{}/.harnessd.json is unusable, no copy beside it is taken for ours: ", place.target());
    assert!(said[0].starts_with(&start), "{said:?}");
    assert_eq!(place.text("alpha").unwrap(), "ours");
}

/// SKL-8: what somebody puts where we were about to write, after we were cut off, is theirs.
#[test]
fn a_name_taken_after_a_crash_is_not_ours() {
    let place = Place::shared();
    place.skill("global", "alpha", "ours");
    let tuning = crate::skills::execute::Tuning { exchange: true, steps: Some(2) };
    crate::skills::execute::perform(&place.job, &survey(&place.job), tuning).unwrap();
    write(&place.target().join("alpha/SKILL.md"), "somebody's");
    assert_eq!(place.project().changes.occupied, ["alpha"]);
    assert_eq!(place.found().get("alpha/SKILL.md").unwrap(), "somebody's");
}

/// SKL-12: nothing is left in somebody's directory for nothing.
#[test]
fn nothing_to_write_leaves_nothing() {
    let place = Place::shared();
    assert_eq!(place.project(), crate::skills::Projection::default());
    assert!(!place.target().exists());
    place.skill("target", "mine", "");
    assert_eq!(place.project(), crate::skills::Projection::default());
    assert_eq!(contents(&place.target()).len(), 1);
}

/// SKL-8: projections of several harnesses into one target at once do not disturb each other.
#[test]
fn concurrent_projections_take_turns() {
    let place = Place::shared();
    let jobs: Vec<_> = (0..4)
        .map(|number| {
            let root = format!("root{number}");
            for skill in 0..10 {
                place.skill(&root, &format!("own-{number}-{skill}"), "x");
                place.skill(&root, &format!("common-{skill}"), "x");
            }
            with_root(place.other(&format!("h{number}")), &place, &root)
        })
        .collect();
    thread::scope(|scope| {
        for job in &jobs {
            scope.spawn(|| {
                for _ in 0..5 {
                    let done = run(job);
                    assert_eq!((done.skills.len(), done.changes.occupied.len()), (20, 0));
                    assert_eq!(done.warnings, []);
                }
            });
        }
    });
    assert_eq!(place.found().len(), 50);
    for job in &jobs {
        project(job, &Merged::default()).unwrap();
    }
    assert_eq!(contents(&place.target()).len(), 2);
    assert!(!place.home.join("displaced").exists());
}

/// SKL-8: a lock that is no file is an error, not a wait.
#[test]
fn a_lock_that_is_no_file_is_an_error() {
    let place = Place::shared();
    place.skill("global", "alpha", "");
    fs::create_dir(place.target()).unwrap();
    link(place.home.join("elsewhere"), &place.target().join(".harnessd.lock"));
    let error = project(&place.job, &survey(&place.job)).unwrap_err();
    assert!(matches!(error, SkillError::TargetNotWritable { .. }), "{error}");
    assert!(!place.home.join("elsewhere").exists());
}

/// SKL-14: in a shared target what is not ours is what the agent finds by itself.
#[test]
fn the_rest_of_a_shared_target_is_native() {
    let mut place = Place::shared();
    place.skill("global", "alpha", "");
    let mine = place.skill("target", "mine", "");
    place.job.native = vec![NativeDir { path: place.target(), hidden: Hidden::Never }];
    place.project();
    let native: Vec<_> =
        survey(&place.job).native.into_iter().map(|copy| (copy.source, copy.shadowed)).collect();
    assert_eq!(native, [(mine, false)]);
}
