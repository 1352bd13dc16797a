//! What `harnessd skills` shows: SKL-3.

use crate::adapter::Hidden;
use crate::skills::NativeDir;
use std::fs;

use super::place::{Place, contents, write};
use crate::skills::{Bounds, survey, view};
use crate::wire::SkillState;

fn states(place: &Place) -> Vec<(String, SkillState)> {
    let shown = view(&place.job, &survey(&place.job));
    shown.skills.into_iter().map(|skill| (skill.name, skill.state)).collect()
}

/// SKL-3: the state of each skill is what the next projection would find.
#[test]
fn states_tell_what_the_next_start_will_do() {
    let mut place = Place::new();
    for name in ["edited", "large", "same", "stale"] {
        place.skill("global", name, "x");
    }
    place.project();
    write(&place.target().join("edited/SKILL.md"), "work");
    place.skill("global", "stale", "y, and more");
    place.skill("global", "fresh", "");
    write(&place.home.join("global/large/data"), &"x".repeat(1_000));
    place.job.bounds = Bounds { files: 10, bytes: 900 };
    let named = |name: &str, state| (name.to_owned(), state);
    let expected = [
        named("edited", SkillState::Edited),
        named("fresh", SkillState::Pending),
        named("large", SkillState::Skipped),
        named("same", SkillState::Projected),
        named("stale", SkillState::Pending),
    ];
    let before = contents(&place.home);
    assert_eq!(states(&place), expected);
    assert_eq!(contents(&place.home), before, "looking changes nothing");
    place.project();
    assert!(states(&place).iter().all(|(name, state)| (name == "large") == (*state == SkillState::Skipped)));
}

/// SKL-3: the whole object, as `--json` prints it.
#[test]
fn the_view_is_the_documented_object() {
    let mut place = Place::new();
    let alpha = place.skill("global", "alpha", "");
    place.job.native = vec![NativeDir { path: place.home.join("global"), hidden: Hidden::Always }];
    fs::create_dir(place.target()).unwrap();
    let shown = serde_json::to_value(view(&place.job, &survey(&place.job))).unwrap();
    assert_eq!(
        shown,
        serde_json::json!({
            "harness": "tester", "adapter": "claude-code", "target": place.target(), "private": true,
            "roots": [{"path": place.home.join("global"), "rank": "global", "state": "ok"}],
            "skills": [{
                "name": "alpha", "source": alpha, "rank": "global", "shadowed": [],
                "state": "pending", "warnings": [],
            }],
            "native": [{"name": "alpha", "source": alpha, "visible": false, "shadowed": false}],
            "warnings": [],
        })
    );
}
