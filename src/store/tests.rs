//! What the store promises, by theme; here are the values that the themes share.

mod account;
mod crash;
mod damage;
mod facts;
mod migrating;
mod opening;
mod projects;
mod questions;
mod records;
mod rehearsal;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::Store;
use crate::base::{HarnessName, Outcome, RunId, Trigger, Wall};
use crate::wire::{Run, RunSkill};

/// A state directory that goes with its test.
struct State {
    _temp: TempDir,
    dir: Utf8PathBuf,
}

impl State {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(temp.path()).unwrap().join("state");
        Self { _temp: temp, dir }
    }

    fn open(&self) -> Store {
        Store::open(&self.dir).unwrap()
    }

    fn file(&self) -> Utf8PathBuf {
        self.dir.join("state.db")
    }

    /// The names of all files in it.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The database as SQLite itself sees it.
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

fn name(text: &str) -> HarnessName {
    HarnessName::parse(text).unwrap()
}

/// The `n`th id; ids rise with `n`.
fn id(n: u32) -> RunId {
    format!("0192a000-{:04x}-7{:03x}-8000-{n:012x}", n >> 12, n & 0xfff).parse().unwrap()
}

/// A run that was decided `n` seconds after the epoch and nothing more.
fn started(n: u32, harness: &str) -> Run {
    let run = Run::new(id(n), name(harness), Trigger::Manual, "generic".into(), "d0".into());
    Run { started_at: Some(Wall(i64::from(n) * 1_000_000)), ..run }
}

/// The same run, ended half a second later.
fn ended(n: u32, harness: &str, outcome: Outcome) -> Run {
    let run = started(n, harness);
    Run { ended_at: run.started_at.map(|at| Wall(at.0 + 500_000)), outcome: Some(outcome), ..run }
}

/// A slot that was not run.
fn skipped(n: u32, harness: &str) -> Run {
    let at = Some(Wall(i64::from(n) * 1_000_000));
    Run {
        trigger: Trigger::Schedule,
        planned_at: at,
        started_at: None,
        outcome: Some(Outcome::Skipped),
        cause: Some("still running".into()),
        ended_at: at,
        ..started(n, harness)
    }
}

fn skills(names: &[&str]) -> Vec<RunSkill> {
    let skill = |name: &&str| RunSkill {
        name: (*name).into(),
        source: format!("/roots/a/{name}"),
        hash: format!("hash-of-{name}"),
    };
    names.iter().map(skill).collect()
}
