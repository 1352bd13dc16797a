//! Stores of earlier versions.
//!
//! `tests/data/state/v1` holds what the program of that version left: its database, made by a daemon
//! that was killed, and what it printed of it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{State, id, name, started};
use crate::base::Wall;
use crate::store::schema::{self, STEPS, Version};
use crate::store::{RunQuery, Store, StoreProblem};
use crate::wire::Record;

fn data(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/state/v1").join(file)
}

/// A state directory that holds the store of version 1.
fn version_1() -> State {
    let state = State::new();
    fs::create_dir(&state.dir).unwrap();
    fs::copy(data("state.db"), state.file()).unwrap();
    state
}

/// The tables and indices as SQLite keeps them.
fn shape(state: &State) -> Vec<(String, String, Option<String>)> {
    let raw = state.raw();
    let mut statement = raw.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Everything in the tables of version 1, row by row.
fn rows(raw: &rusqlite::Connection) -> Vec<Vec<rusqlite::types::Value>> {
    let columns = "id, harness, trigger, attempt, planned_at, started_at, ended_at, outcome, cause, exit_code, \
                   signal, pid, adapter, command, workdir, definition_hash, log, skills";
    let mut all = Vec::new();
    for (table, columns) in
        [("runs", columns), ("skill_sets", "*"), ("firings", "*"), ("intents", "*"), ("windows", "*")]
    {
        let mut statement = raw.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1")).unwrap();
        let count = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            all.push((0..count).map(|at| row.get_unwrap(at)).collect());
        }
    }
    all
}

/// Issue C, item 4: a store of version 1 is brought up to date, and every row of it is there, whole.
#[test]
fn a_store_of_version_1_is_taken_over_whole() {
    let state = version_1();
    let before = rows(&state.raw());
    assert_eq!(Store::open_read(&state.dir).unwrap_err().problem, StoreProblem::Older);
    assert_eq!(rows(&state.raw()), before, "a reader leaves it alone");

    let mut store = state.open();
    assert!(!store.is_new());
    assert_eq!(rows(&state.raw()), before);
    let printed: Value = serde_json::from_slice(&fs::read(data("runs.json")).unwrap()).unwrap();
    let runs = store.runs(&RunQuery::default()).unwrap();
    assert_eq!(serde_json::to_value(&runs).unwrap(), printed["runs"]);
    assert!(runs.iter().any(|run| run.outcome.is_none()) && runs.iter().any(|run| !run.skills.is_empty()));
    let remembered = store.remembered().unwrap();
    assert_eq!(remembered.intents, [(name("paused"), false), (name("server"), true)].into());
    let claim = ("@every 1s".to_owned(), Wall(1_796_054_093_764_468));
    assert_eq!(remembered.last_firings, [(name("tick"), claim)].into());
    let pruned = store.run("01a22d2a-81b4-7000-9fa3-02664e77f4e8").unwrap_err();
    assert_eq!(pruned.to_string(), "run 01a22d2a-81b4-7000-9fa3-02664e77f4e8 of `short` is pruned");
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    assert_eq!(store.run(&id(1).to_string()), Ok(started(1, "tick")));
}

/// Issue C, item 4: one that was migrated has the same tables and indices as one that was made anew.
#[test]
fn a_migrated_store_has_the_shape_of_a_new_one() {
    let (old, new) = (version_1(), State::new());
    drop((old.open(), new.open()));
    assert_eq!(shape(&old), shape(&new));
}

/// Version 1 is released: what made its stores stays as it was, to the byte.
#[test]
fn the_first_version_never_changes() {
    let old = version_1();
    let made = State::new();
    fs::create_dir(&made.dir).unwrap();
    made.raw().execute_batch(STEPS[0]).unwrap();
    assert_eq!(shape(&made), shape(&old));
}

/// Issue C, item 4: a migration that a full disk stops leaves the store of version 1 as it was.
#[test]
fn a_migration_without_room_leaves_the_old_store() {
    let state = version_1();
    let mut raw = state.raw();
    let before = rows(&raw);
    let pages: i64 = raw.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    raw.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    assert_eq!(schema::migrate(&mut raw), Err(StoreProblem::Full));
    drop(raw);
    assert_eq!((schema::version(&state.raw()), rows(&state.raw())), (Ok(Version::Older), before));
    assert_eq!(state.open().runs(&RunQuery::default()).unwrap().len(), 15);
}

/// Issue C, item 4: a migration that is killed leaves the store of version 1 as it was, however far it had come.
#[test]
fn a_migration_that_is_killed_leaves_the_old_store() {
    let state = version_1();
    let raw = state.raw();
    let before = rows(&raw);
    // One statement more each time; what lies on the disk then is what a killed process leaves.
    let statements: Vec<&str> = STEPS[1].split_inclusive(';').collect();
    for done in 0..=statements.len() {
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        raw.execute_batch(&statements[..done].concat()).unwrap();
        raw.cache_flush().unwrap();
        let killed = State::new();
        fs::create_dir(&killed.dir).unwrap();
        for file in state.names() {
            fs::copy(state.dir.join(&file), killed.dir.join(&file)).unwrap();
        }
        raw.execute_batch("ROLLBACK").unwrap();
        assert_eq!(schema::version(&killed.raw()), Ok(Version::Older), "after {done} statements");
        assert_eq!(rows(&killed.raw()), before, "after {done} statements");
        assert_eq!(killed.open().runs(&RunQuery::default()).unwrap().len(), 15);
    }
}
