//! Stores of earlier versions.
//!
//! `tests/data/state/vN` holds what the program of that version left: its database, made by a daemon
//! that was killed, and what it printed of it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{State, id, name, started};
use crate::base::Wall;
use crate::store::schema::{self, STEPS, Version};
use crate::store::{RunQuery, Store, StoreProblem};
use crate::trajectory::Format;
use crate::wire::Record;

/// The versions of which there are stores.
const OLD: [usize; 3] = [1, 2, 3];
/// Those without trails.
const TRAILLESS: [usize; 2] = [1, 2];

fn data(version: usize, file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/state/v{version}")).join(file)
}

/// A state directory that holds the store of a version.
fn of_version(version: usize) -> State {
    let state = State::new();
    fs::create_dir(&state.dir).unwrap();
    fs::copy(data(version, "state.db"), state.file()).unwrap();
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

/// Issues C and D: a store of an older version is brought up to date, and every row of it is there, whole.
#[test]
fn an_older_store_is_taken_over_whole() {
    let claims = [1_796_054_093_764_468, 1_796_065_915_310_924, 1_796_079_013_438_254];
    let gone = [
        "01a22d2a-81b4-7000-9fa3-02664e77f4e8",
        "01a22dde-e848-7000-a04c-d51b5716184f",
        "01a22ea6-bb43-7000-ae40-86e8a9c03718",
    ];
    for ((version, claim), gone) in OLD.into_iter().zip(claims).zip(gone) {
        let state = of_version(version);
        let before = rows(&state.raw());
        assert_eq!(Store::open_read(&state.dir).unwrap_err().problem, StoreProblem::Older);
        assert_eq!(rows(&state.raw()), before, "a reader leaves it alone");

        let mut store = state.open();
        assert!(!store.is_new());
        assert_eq!(rows(&state.raw()), before);
        let printed: Value = serde_json::from_slice(&fs::read(data(version, "runs.json")).unwrap()).unwrap();
        let runs = store.runs(&RunQuery::default()).unwrap();
        assert_eq!(serde_json::to_value(&runs).unwrap(), printed["runs"]);
        assert!(
            runs.iter().any(|run| run.outcome.is_none()) && runs.iter().any(|run| !run.skills.is_empty())
        );
        let remembered = store.remembered().unwrap();
        assert_eq!(remembered.intents, [(name("paused"), false), (name("server"), true)].into());
        let claim = ("@every 1s".to_owned(), Wall(claim));
        assert_eq!(remembered.last_firings, [(name("tick"), claim)].into());
        let pruned = store.run(gone).unwrap_err();
        assert_eq!(pruned.to_string(), format!("run {gone} of `short` is pruned"));
        store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
        assert_eq!(store.run(&id(1).to_string()), Ok(started(1, "tick")));
    }
}

/// COR-6: runs of before trails were recorded have windows without a store, and their harnesses are known
/// since their store was made or brought to version 2; there is nothing to be looked for.
#[test]
fn runs_of_older_stores_have_windows_without_stores() {
    for version in TRAILLESS {
        let store = of_version(version).open();
        let facts = store.facts().unwrap();
        let nightly = facts.windows.iter().find(|window| window.harness == name("nightly")).unwrap();
        assert_eq!((nightly.adapter.as_str(), nightly.format), ("claude-code", Some(Format::ClaudeCode)));
        assert_eq!(nightly.workdir.as_deref(), Some("/home/user/app"));
        assert!(facts.windows.iter().all(|window| window.stores.is_empty()));
        let made_at = store.recorded().unwrap().made_at;
        assert!(facts.since.values().all(|since| *since == made_at));
        assert!(facts.since.contains_key(&name("tick")) && facts.since.contains_key(&name("short")));
        assert_eq!((facts.known, store.unsettled().unwrap()), (Vec::new(), Vec::new()));
    }
}

/// Issues C and D: one that was migrated has the same tables and indices as one that was made anew.
#[test]
fn a_migrated_store_has_the_shape_of_a_new_one() {
    let new = State::new();
    drop(new.open());
    for version in OLD {
        let old = of_version(version);
        drop(old.open());
        assert_eq!(shape(&old), shape(&new), "from version {version}");
    }
}

/// Version 3 knew where transcripts lie: so does what it becomes.
#[test]
fn trails_are_taken_over() {
    let state = of_version(3);
    assert_eq!(Store::registered(&state.dir), Ok(Vec::new()), "also for who only looks");
    let store = state.open();
    let facts = store.facts().unwrap();
    let nightly = facts.windows.iter().find(|window| window.harness == name("nightly")).unwrap();
    assert_eq!(nightly.stores.len(), 1);
    assert_eq!(store.projects(), Ok(Vec::new()), "nothing was registered yet");
}

/// Versions 1 to 3 are released: what made their stores stays as it was, to the byte.
#[test]
fn a_released_version_never_changes() {
    let old = of_version(1);
    let made = State::new();
    fs::create_dir(&made.dir).unwrap();
    made.raw().execute_batch(STEPS[0]).unwrap();
    assert_eq!(shape(&made), shape(&old));
    made.raw().execute_batch(STEPS[1]).unwrap();
    assert_eq!(shape(&made), shape(&of_version(2)));
    made.raw().execute_batch(STEPS[2]).unwrap();
    assert_eq!(shape(&made), shape(&of_version(3)));
}

/// Issues C and D: a migration that a full disk stops leaves the older store as it was.
#[test]
fn a_migration_without_room_leaves_the_old_store() {
    for version in OLD {
        let state = of_version(version);
        let mut raw = state.raw();
        let before = rows(&raw);
        let pages: i64 = raw.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        raw.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        assert_eq!(schema::migrate(&mut raw), Err(StoreProblem::Full));
        drop(raw);
        assert_eq!((schema::version(&state.raw()), rows(&state.raw())), (Ok(Version::Older), before));
        assert_eq!(state.open().runs(&RunQuery::default()).unwrap().len(), 15);
    }
}

/// Issues C and D: a migration that is killed leaves the older store as it was, however far it had come.
#[test]
fn a_migration_that_is_killed_leaves_the_old_store() {
    for version in OLD {
        let state = of_version(version);
        let raw = state.raw();
        let before = rows(&raw);
        // One statement more each time; what lies on the disk then is what a killed process leaves.
        let statements: Vec<&str> =
            STEPS[version..].iter().flat_map(|step| step.split_inclusive(';')).collect();
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
}
