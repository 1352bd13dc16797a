//! The follower on a database, of which OpenCode's is taken.

use std::fs;
use std::time::Duration;

use camino::Utf8Path;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rusqlite::Connection;
use serde_json::json;

use super::world::{AGENTS, Ledger, World, now};
use crate::base::{Random, Wall};
use crate::store::{CallRow, SessionRow};
use crate::trajectory::{Event, Format, Needs};
use crate::transcripts::follow::{Look, Subject};
use crate::transcripts::read::{SessionPlace, read_session};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
        time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,
        data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);";

struct Database {
    world: World,
    agent: Connection,
}

impl Database {
    fn new() -> (Self, Subject) {
        let mut world = World::new(AGENTS[0]);
        let path = world.store.join("opencode.db");
        let mut run = world.run(Needs::Everything);
        run.trail.format = Some(Format::OpenCode.as_str().to_owned());
        run.trail.stores[0].path = path.to_string();
        let agent = Connection::open(path).unwrap();
        agent.execute_batch(SCHEMA).unwrap();
        (Self { world, agent }, run)
    }

    /// What an agent executes, in order, for a session with so many answers.
    fn steps(&self, id: &str, parent: Option<&str>, cwd: &Utf8Path, answers: u64) -> Vec<String> {
        let ms = |number: u64| self.world.at(number * 10).0 / 1000;
        let parent = parent.map_or("NULL".to_owned(), |parent| format!("'{parent}'"));
        let mut steps =
            vec![format!("INSERT INTO session VALUES ('{id}', {parent}, '{cwd}', 'title', {0}, {0})", ms(0))];
        for number in 1..=answers {
            let tokens =
                json!({"input": number, "output": 3, "reasoning": 0, "cache": {"read": 20, "write": 1}});
            let (at, later) = (ms(number), ms(number) + 5);
            let message = |completed: Option<i64>| {
                let mut time = json!({"created": at});
                if let Some(completed) = completed {
                    time["completed"] = completed.into();
                }
                json!({"role": "assistant", "modelID": "x", "providerID": "y", "time": time, "cost": 0,
                    "tokens": tokens})
            };
            let part = |kind: &str, data: serde_json::Value, at: i64| {
                format!(
                    "INSERT INTO part VALUES ('{id}-{number}-{kind}', '{id}-{number}', '{id}', {at}, {at}, '{data}')"
                )
            };
            steps.extend([
                format!(
                    "INSERT INTO message VALUES ('{id}-{number}', '{id}', {at}, {at}, '{}')",
                    message(None)
                ),
                part("1", json!({"type": "text", "text": "yes"}), at),
                part("2", json!({"type": "step-finish", "tokens": tokens, "cost": 0}), later),
                format!(
                    "UPDATE message SET time_updated = {later}, data = '{}' WHERE id = '{id}-{number}'",
                    message(Some(later))
                ),
            ]);
        }
        steps
    }

    fn apply(&self, steps: &[String]) {
        for step in steps {
            self.agent.execute(step, []).unwrap();
        }
    }

    /// Looks as if it were so many seconds later.
    fn look(&mut self, run: &Subject, seconds: u64) -> Look {
        let at = now() + Duration::from_secs(seconds);
        let look = self.world.follower.look(std::slice::from_ref(run), at);
        self.world.ledger.lock().unwrap().commit(&look);
        look
    }

    fn facts(&self) -> (Vec<SessionRow>, Vec<CallRow>, Vec<(String, Event)>) {
        let (_, sessions, calls, mut events) = self.world.ledger().facts();
        events.sort_by(|(one, first), (other, second)| (one, first.at).cmp(&(other, second.at)));
        (sessions, calls, events)
    }
}

fn over(run: &Subject, at: Wall) -> Subject {
    Subject { to: Some(at), ..run.clone() }
}

/// USE-2: what an agent writes row by row is read as what lies there whole, whenever the daemon is killed.
#[test]
fn a_database_that_grows_row_by_row_gives_what_one_reading_gives() {
    let (mut whole, run) = Database::new();
    whole.apply(&whole.steps("one", None, &whole.world.work.clone(), 5));
    whole.look(&run, 0);
    let end = whole.world.at(1000);
    whole.look(&over(&run, end), 10);
    assert_eq!(whole.world.ledger().input(), [22, 23, 24, 25, 26]);
    let expected = format!("{:#?}", whole.facts()).replace(whole.world.root.as_str(), "");
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let (mut database, run) = Database::new();
        database.world.from = whole.world.from;
        let run = Subject { from: whole.world.from, ..run };
        for step in database.steps("one", None, &database.world.work.clone(), 5) {
            database.apply(&[step]);
            let look = database.world.follower.look(std::slice::from_ref(&run), now());
            if random.next().is_multiple_of(4) {
                database.world.restart();
                continue;
            }
            database.world.ledger.lock().unwrap().commit(&look);
            if random.next().is_multiple_of(4) {
                database.world.restart();
            }
        }
        database.look(&over(&run, end), 10);
        let found = format!("{:#?}", database.facts()).replace(database.world.root.as_str(), "");
        assert_eq!(found, expected, "{seed}");
    }
}

/// COR-1 (2): sessions of other directories are not read; a sub-agent's is where its parent is.
#[test]
fn sessions_of_other_directories_are_not_read() {
    let (mut database, run) = Database::new();
    let (work, root) = (database.world.work.clone(), database.world.root.clone());
    database.apply(&database.steps("child", Some("one"), &root, 1));
    database.apply(&database.steps("one", None, &work, 1));
    database.apply(&database.steps("other", None, &root, 1));
    database.apply(&database.steps("stray", Some("other"), &work, 1));
    database.look(&run, 0);
    assert_eq!(database.world.ledger().ids(), ["child", "one"]);
}

/// An unchanged database is not even opened, and one that changed elsewhere brings nothing.
#[test]
fn an_unchanged_database_brings_nothing() {
    let (mut database, run) = Database::new();
    let (work, root) = (database.world.work.clone(), database.world.root.clone());
    database.apply(&database.steps("one", None, &work, 2));
    database.look(&run, 0);
    // Its clock might have stood still: it is read once more.
    database.look(&run, 3);
    assert_eq!(database.look(&run, 6), Look::default());
    database.apply(&database.steps("other", None, &root, 1));
    assert_eq!(database.look(&run, 9), Look::default());
    database.world.restart();
    assert_eq!(database.look(&run, 12), Look::default());
}

/// TRJ-1: a database that an agent is writing is left as it was, its log and its index too.
#[test]
fn a_database_is_left_as_it_was() {
    let (mut database, run) = Database::new();
    database.apply(&database.steps("one", None, &database.world.work.clone(), 2));
    let names = |world: &World| {
        let mut names: Vec<_> =
            world.store.read_dir_utf8().unwrap().map(|one| one.unwrap().into_path()).collect();
        names.sort();
        names.into_iter().map(|path| (fs::read(&path).unwrap_or_default(), path)).collect::<Vec<_>>()
    };
    let before = names(&database.world);
    assert_eq!(before.len(), 3);
    database.look(&run, 0);
    let end = database.world.at(1000);
    database.look(&over(&run, end), 10);
    let after = names(&database.world);
    for ((contents, path), (known, _)) in after.iter().zip(&before) {
        // Readers note in the shared index up to where they read.
        assert!(contents == known || path.as_str().ends_with("-shm"), "{path}");
    }
    assert_eq!(after.len(), 3);
}

/// Bad input: what is no database, or one of an unknown schema, is named, and the run is settled when nobody
/// waits for it any more.
#[test]
fn what_is_no_database_of_the_agent_is_said() {
    let (mut database, run) = Database::new();
    let path = database.world.store.join("other.db");
    let hour = Duration::from_secs(3600);
    let run = Subject { from: run.from - hour, to: Some(database.world.at(1000) - hour), ..run };
    let said = |database: &mut Database| {
        let mut run = run.clone();
        run.trail.stores[0].path = path.to_string();
        database.world.restart();
        let look = database.look(&run, 0);
        assert_eq!(look.progress.settled, [run.run]);
        look.warnings.into_iter().map(|one| (one.path == path, one.message)).collect::<Vec<_>>()
    };
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE session (id TEXT)").unwrap();
    let unknown = said(&mut database);
    assert!(matches!(unknown.as_slice(), [(true, message)] if message.contains("`session`")), "{unknown:?}");
    fs::write(&path, "no database at all, but long enough to have a header of one hundred bytes").unwrap();
    assert!(matches!(said(&mut database).as_slice(), [(true, _)]));
    fs::remove_file(&path).unwrap();
    mkfifo(path.as_std_path(), Mode::S_IRWXU).unwrap();
    assert_eq!(said(&mut database), [(true, "it is a FIFO, not a regular file".to_owned())]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(said(&mut database), [(true, "it is a directory, not a regular file".to_owned())]);
    assert_eq!(database.world.ledger().calls, Ledger::default().calls);
}

/// TRJ-3: a whole session of a database is told in its order.
#[test]
fn a_session_of_a_database_is_read_whole() {
    let (database, run) = Database::new();
    let world = &database.world;
    database.apply(&database.steps("one", None, &world.work, 3));
    database.apply(&database.steps("two", None, &world.work, 1));
    let place = |id: &str| SessionPlace {
        format: Format::OpenCode,
        id: id.to_owned(),
        store: run.trail.stores[0].path.clone(),
        streams: vec![id.to_owned()],
    };
    let mut events = Vec::new();
    let session = read_session(&place("one"), Needs::Usage, &mut |event| events.push(event)).unwrap();
    assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("one", Some(world.work.as_str())));
    assert_eq!(events.len(), 3);
    let error = read_session(&place("gone"), Needs::Usage, &mut |_| ()).unwrap_err();
    assert_eq!(
        world.short(&error.to_string()),
        "/store/opencode.db: its session `gone` does not exist any more"
    );
}
