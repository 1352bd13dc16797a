//! Whether a store could be taken over is told without touching it.

use super::State;
use crate::store::{Store, StoreProblem, schema};

/// CTL-11: an older schema is migrated on a copy; the original stays as it is, and no copy is left.
#[test]
fn an_older_store_is_migrated_on_a_copy() {
    let state = State::new();
    std::fs::create_dir_all(&state.dir).unwrap();
    schema::make(&state.raw(), 2);
    let version =
        || -> i64 { state.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap() };
    // One that was killed in the middle of it is in nobody's way.
    std::fs::create_dir(state.dir.join("rehearsal")).unwrap();
    std::fs::write(state.dir.join("rehearsal/state.db"), "half").unwrap();
    Store::rehearse(&state.dir).unwrap();
    assert_eq!((version(), state.names()), (2, vec!["state.db".to_owned()]));
    // What cannot be migrated is told.
    state.raw().execute_batch("ALTER TABLE runs RENAME TO ran").unwrap();
    assert!(Store::rehearse(&state.dir).is_err());
    assert_eq!((version(), state.names()), (2, vec!["state.db".to_owned()]));
}

/// CTL-11: a present one is taken as it is, beside its writer; a newer one is refused.
#[test]
fn a_present_store_is_read_beside_its_writer() {
    let state = State::new();
    let writer = state.open();
    Store::rehearse(&state.dir).unwrap();
    assert!(!writer.is_read_only());
    drop(writer);
    state.raw().execute_batch("PRAGMA user_version = 77").unwrap();
    let refused = Store::rehearse(&state.dir).unwrap_err();
    assert!(matches!(refused.problem, StoreProblem::Newer { found: 77, .. }), "{refused}");
}
