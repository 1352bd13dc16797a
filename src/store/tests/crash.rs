//! A writer that is killed.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{State, account, started};
use crate::base::Wall;
use crate::store::{AccountQuery, Progress, RunQuery, SessionRow, Store};
use crate::trajectory::Format;
use crate::wire::Record;

/// Where the child finds its state directory; in no other process it is set.
const CHILD: &str = "HARNESSD_TEST_STORE_CRASH_DIR";

/// The same for progress of readers.
const READER: &str = "HARNESSD_TEST_STORE_CRASH_READER_DIR";

/// Runs per turn of the child.
const TURN: u32 = 3;

/// The child of the test below: commits turns for ever, and says each number once it is committed.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Ok(dir) = env::var(CHILD) else { return };
    let mut store = Store::open(dir.as_str().into()).unwrap();
    let done = store.runs(&RunQuery { limit: usize::MAX, ..RunQuery::default() }).unwrap().len();
    let first = u32::try_from(done).unwrap() / TURN;
    for turn in first.. {
        let mut records: Vec<Record> =
            (0..TURN).map(|n| Record::RunStarted(started(turn * TURN + n, "tick"))).collect();
        // Every other turn holds a claim, so that both kinds of commits are killed.
        if turn % 2 == 0 {
            records.push(Record::Fired {
                harness: super::name("tick"),
                expression: "@every 1s".into(),
                at: Wall(turn.into()),
            });
        }
        store.commit(&records).unwrap();
        println!("\ncommitted {turn}");
    }
}

/// LIF-9: losing the process loses no record that was committed, and leaves none half.
#[test]
fn a_killed_writer_loses_nothing() {
    let state = State::new();
    let mut last = 0;
    for round in 1..=6_u32 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "store::tests::crash::child_that_commits_until_it_is_killed", "--nocapture"])
            .env(CHILD, &state.dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut committed = || -> Option<u32> {
            let line = said.find_map(|line| line.ok().filter(|line| line.starts_with("committed ")))?;
            line.split(' ').nth(1)?.parse().ok()
        };
        for _ in 0..40 * round {
            last = committed().expect("the child commits");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had said before it died is committed too.
        last = std::iter::from_fn(committed).last().unwrap_or(last);

        let runs = |store: &Store| {
            let all = RunQuery { limit: usize::MAX, ..RunQuery::default() };
            store.runs(&all).unwrap().into_iter().rev().collect::<Vec<_>>()
        };
        let seen = runs(&Store::open_read(&state.dir).unwrap().unwrap());
        let store = state.open();
        let found = runs(&store);
        assert_eq!(seen, found, "a reader recovers the same");
        let count = u32::try_from(found.len()).unwrap();
        assert_eq!(count % TURN, 0, "no turn is half");
        assert!(count / TURN > last, "turn {last} was committed, {count} runs are there");
        assert!(found.iter().zip(0..).all(|(run, n)| *run == started(n, "tick")));
        let turn = i64::from(count / TURN) - 1;
        let (_, claim) = &store.remembered().unwrap().last_firings[&super::name("tick")];
        assert_eq!(*claim, Wall(turn - turn % 2), "the claim belongs to its turn");
        let health: String = state.raw().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(health, "ok");
    }
}

/// What reading on gives: the cursor, and a call for each step that it has made.
fn read_on(step: u32) -> Progress {
    Progress {
        sessions: vec![SessionRow { last_at: Some(Wall(step.into())), ..account::session("s") }],
        cursors: vec![account::cursor("stream", step.into())],
        calls: (0..TURN).map(|n| account::call(&format!("{step}-{n}"), "s", step.into(), 1)).collect(),
        ..Progress::default()
    }
}

/// The child of the test below: reads on from where its cursor stands, for ever.
#[test]
fn child_that_reads_on_until_it_is_killed() {
    let Ok(dir) = env::var(READER) else { return };
    let mut store = Store::open(dir.as_str().into()).unwrap();
    let cursors = store.cursors(Format::ClaudeCode, &account::place("/s")).unwrap();
    let stands = cursors.first().map_or(0, |cursor| u32::try_from(cursor.offset).unwrap());
    for step in stands + 1.. {
        store.commit_progress(&read_on(step)).unwrap();
        println!("\ncommitted {step}");
    }
}

/// USE-2: a cursor and what was read up to it are there together or not at all, at whatever instant the reader
/// is killed; so nothing is counted twice and nothing is left out.
#[test]
fn a_killed_reader_neither_loses_nor_repeats() {
    let state = State::new();
    for round in 1..=6_u32 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "store::tests::crash::child_that_reads_on_until_it_is_killed", "--nocapture"])
            .env(READER, &state.dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("committed ").and_then(|step| step.parse::<u32>().ok()));
        let mut last = said.nth(usize::try_from(30 * round).unwrap()).expect("the child commits");
        child.kill().unwrap();
        child.wait().unwrap();
        last = said.last().unwrap_or(last);

        let store = state.open();
        let cursors = store.cursors(Format::ClaudeCode, &account::place("/s")).unwrap();
        let stands = u32::try_from(cursors[0].offset).unwrap();
        assert!(stands >= last, "step {last} was committed, the cursor stands at {stands}");
        let expected: Vec<Progress> = (1..=stands).map(read_on).collect();
        let calls: Vec<_> = expected.iter().flat_map(|brought| brought.calls.clone()).collect();
        assert_eq!(store.calls(&AccountQuery::default()).unwrap(), calls);
        let sessions = &expected.last().unwrap().sessions;
        assert_eq!(store.sessions(&AccountQuery::default()).unwrap(), *sessions);
    }
}
