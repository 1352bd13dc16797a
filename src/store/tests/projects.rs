//! CFG-5: registered projects are kept until they are taken down, also by a store that is made anew.

use super::State;
use crate::base::Wall;
use crate::store::Store;
use crate::wire::{Record, RegisteredProject};

fn project(dir: &str, at: i64, text: &str) -> RegisteredProject {
    RegisteredProject {
        file: format!("/home/u/{dir}/harness.toml").into(),
        name: dir.to_owned(),
        text: text.to_owned(),
        hash: format!("hash of {} bytes", text.len()),
        up_at: Wall(at),
    }
}

/// CFG-5: the oldest comes first, the text that was accepted last counts, and `down` forgets all of it.
#[test]
fn a_project_is_kept_as_it_was_accepted_until_it_is_taken_down() {
    let state = State::new();
    assert_eq!(Store::registered(&state.dir), Ok(Vec::new()), "there is no store");
    let mut store = state.open();
    assert_eq!(store.projects(), Ok(Vec::new()));
    let (b, a) = (project("b", 1, "old one"), project("a", 2, "text"));
    store.commit(&[Record::ProjectUp(b.clone()), Record::ProjectUp(a.clone())]).unwrap();
    drop(store);
    let mut store = state.open();
    assert_eq!(store.projects(), Ok(vec![b.clone(), a.clone()]));
    assert_eq!(Store::registered(&state.dir), store.projects());
    let anew = project("b", 3, "new");
    store.commit(&[Record::ProjectUp(anew.clone())]).unwrap();
    assert_eq!(store.projects(), Ok(vec![a.clone(), anew.clone()]));
    store.commit(&[Record::ProjectDown { file: a.file }]).unwrap();
    assert_eq!(store.projects(), Ok(vec![anew]));
}

/// CTL-12: what a record says of itself holds nothing of the file.
#[test]
fn a_record_never_shows_the_text() {
    let shown = format!("{:?}", Record::ProjectUp(project("a", 1, "prompt = \"secret\"")));
    assert!(shown.contains("/home/u/a/harness.toml") && !shown.contains("prompt = "), "{shown}");
}
