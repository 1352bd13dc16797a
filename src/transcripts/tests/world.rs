//! A store, an account and a clock.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::stat::utimes;
use nix::sys::time::{TimeVal, TimeValLike};
use serde_json::json;

use crate::base::{HarnessName, RunId, RunIds, Wall};
use crate::correlate::Known;
use crate::store::{CallRow, Cursor, SessionRow};
use crate::trajectory::{Event, Format, Layout, Needs, Tokens};
use crate::transcripts::cursors::Cursors;
use crate::transcripts::follow::{Follower, Look, Subject, Warning};
use crate::wire::{StorePlace, Trail};

/// How an agent writes.
#[derive(Clone, Copy)]
pub(super) struct Agent {
    pub(super) format: Format,
    /// The first record of a session: its id, its directory and the time.
    first: fn(&str, &str, Wall) -> String,
    /// A model call: the session, the directory, the time, and a number that tells calls apart.
    call: fn(&str, &str, Wall, u64) -> String,
}

pub(super) const AGENTS: [Agent; 2] = [
    Agent {
        format: Format::ClaudeCode,
        first: |id, cwd, at| {
            json!({"type": "user", "sessionId": id, "cwd": cwd, "timestamp": at, "uuid": format!("{id}-u"),
                "message": {"role": "user", "content": "what is this?"}})
            .to_string()
        },
        call: |id, cwd, at, number| {
            json!({"type": "assistant", "sessionId": id, "cwd": cwd, "timestamp": at,
                "uuid": format!("{id}-{number}"), "requestId": format!("req_{number}"),
                "message": {"id": format!("msg_{id}_{number}"), "type": "message", "role": "assistant",
                    "model": "claude-x", "content": [{"type": "text", "text": "ünï日本, a crate"}],
                    "stop_reason": "end_turn", "usage": {"input_tokens": number, "output_tokens": 3,
                        "cache_read_input_tokens": 20, "cache_creation_input_tokens": 1}}})
            .to_string()
        },
    },
    Agent {
        format: Format::Pi,
        first: |id, cwd, at| {
            json!({"type": "session", "version": 3, "id": id, "timestamp": at, "cwd": cwd}).to_string()
        },
        call: |id, _, at, number| {
            json!({"type": "message", "id": format!("{id}-{number}"), "parentId": null, "timestamp": at,
                "message": {"role": "assistant", "content": [{"type": "text", "text": "ünï日本, a crate"}],
                    "provider": "x", "model": "claude-x", "stopReason": "stop",
                    "usage": {"input": number, "output": 3, "cacheRead": 20, "cacheWrite": 1,
                        "totalTokens": number + 24}}})
            .to_string()
        },
    },
];

/// What the account would hold, and what subscribers would have been told.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Ledger {
    pub(super) cursors: BTreeMap<(Format, String, String), Cursor>,
    pub(super) sessions: BTreeMap<(Format, String, String), SessionRow>,
    pub(super) calls: BTreeMap<(Format, String), CallRow>,
    pub(super) known: Vec<Known>,
    pub(super) settled: Vec<RunId>,
    pub(super) events: Vec<(RunId, String, Event)>,
}

impl Ledger {
    pub(super) fn commit(&mut self, look: &Look) {
        let progress = &look.progress;
        for cursor in &progress.cursors {
            let key = (cursor.format, cursor.store.clone(), cursor.stream.clone());
            self.cursors.insert(key, cursor.clone());
        }
        for session in &progress.sessions {
            let key = (session.format, session.store.clone(), session.id.clone());
            self.sessions.insert(key, session.clone());
        }
        for call in &progress.calls {
            self.calls.insert((call.format, call.key.clone()), call.clone());
        }
        self.known.extend(progress.known.iter().cloned());
        self.settled.extend(&progress.settled);
        self.events.extend(look.events.iter().cloned());
    }

    /// What two ways of reading the same must have in common: all but the times of files.
    pub(super) fn facts(&self) -> LedgerFacts {
        let cursors = self.cursors.values().map(|cursor| (cursor.stream.clone(), cursor.offset));
        let events = self.events.iter().map(|(_, session, event)| (session.clone(), event.clone()));
        (
            cursors.collect(),
            self.sessions.values().cloned().collect(),
            self.calls.values().cloned().collect(),
            events.collect(),
        )
    }

    /// The input tokens of all calls, the fewest first.
    pub(super) fn input(&self) -> Vec<u64> {
        let tokens = self.calls.values().filter_map(|call| call.tokens);
        let mut input: Vec<u64> = tokens.map(|Tokens { input, .. }| input).collect();
        input.sort_unstable();
        input
    }

    /// The native ids of the sessions that are known.
    pub(super) fn ids(&self) -> Vec<String> {
        self.sessions.values().map(|session| session.id.clone()).collect()
    }
}

/// Offsets by stream, sessions, calls, and events by session.
pub(super) type LedgerFacts = (Vec<(String, u64)>, Vec<SessionRow>, Vec<CallRow>, Vec<(String, Event)>);

/// The account of a test.
#[derive(Debug)]
struct Shared(Arc<Mutex<Ledger>>);

impl Cursors for Shared {
    fn of(&self, format: Format, store: &StorePlace) -> Result<Vec<Cursor>, Warning> {
        let ledger = self.0.lock().unwrap();
        let own = |cursor: &&Cursor| cursor.format == format && cursor.store == store.path;
        Ok(ledger.cursors.values().filter(own).cloned().collect())
    }
}

/// A machine with one agent, one workdir and one store.
pub(super) struct World {
    _dir: tempfile::TempDir,
    pub(super) agent: Agent,
    pub(super) root: Utf8PathBuf,
    pub(super) store: Utf8PathBuf,
    pub(super) work: Utf8PathBuf,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) follower: Follower,
    /// When the run began.
    pub(super) from: Wall,
    ids: RunIds,
}

pub(super) fn now() -> Wall {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Wall(i64::try_from(since.as_micros()).unwrap())
}

impl World {
    pub(super) fn new(agent: Agent) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
        let (store, work) = (root.join("store"), root.join("work"));
        fs::create_dir(&store).unwrap();
        fs::create_dir(&work).unwrap();
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let follower = Follower::over(Box::new(Shared(ledger.clone())));
        // A minute ago, so that what is some seconds later is not in the future.
        let from = Wall(now().0 / 1_000_000 * 1_000_000) - Duration::from_secs(60);
        Self { _dir: dir, agent, root, store, work, ledger, follower, from, ids: RunIds::new(7) }
    }

    /// The daemon is another one now: what it knows is in the account.
    pub(super) fn restart(&mut self) {
        self.follower = Follower::over(Box::new(Shared(self.ledger.clone())));
    }

    /// A run of this agent in the workdir.
    pub(super) fn run(&mut self, needs: Needs) -> Subject {
        Subject {
            run: self.ids.next(self.from),
            harness: HarnessName::parse("sweep").unwrap(),
            trail: Trail {
                format: Some(self.agent.format.as_str().to_owned()),
                workdir: Some(self.work.to_string()),
                stores: vec![StorePlace { path: self.store.to_string(), named: true, cwd: None }],
                session: None,
            },
            from: self.from,
            to: None,
            processes: Vec::new(),
            needs,
        }
    }

    /// So many milliseconds after the run began.
    pub(super) fn at(&self, milliseconds: u64) -> Wall {
        self.from + Duration::from_millis(milliseconds)
    }

    /// The lines of a session in a directory: its first record and so many calls.
    pub(super) fn session(&self, id: &str, cwd: &Utf8Path, calls: u64) -> String {
        let mut text = (self.agent.first)(id, cwd.as_str(), self.at(1)) + "\n";
        for number in 1..=calls {
            text += &self.call(id, cwd, number);
        }
        text
    }

    pub(super) fn call(&self, id: &str, cwd: &Utf8Path, number: u64) -> String {
        (self.agent.call)(id, cwd.as_str(), self.at(number + 1), number) + "\n"
    }

    /// Where the agent puts a session of a directory.
    pub(super) fn place(&self, cwd: &Utf8Path, id: &str) -> String {
        let Layout::Files(layout) = self.agent.format.layout() else { unreachable!("files") };
        format!("{}/{id}.jsonl", (layout.directory.unwrap())(cwd.as_str()))
    }

    /// Writes a stream of the store, and says its path there.
    pub(super) fn write(&self, stream: &str, text: &str) -> Utf8PathBuf {
        let path = self.store.join(stream);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The session `one` of the run, with so many calls.
    pub(super) fn write_own(&self, calls: u64) -> Utf8PathBuf {
        self.write(&self.place(&self.work, "one"), &self.session("one", &self.work, calls))
    }

    /// Looks, and commits what that brings.
    pub(super) fn look(&mut self, subjects: &[Subject]) -> Look {
        let look = self.follower.look(subjects, now());
        self.ledger.lock().unwrap().commit(&look);
        look
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.ledger.lock().unwrap().clone()
    }

    /// Every file and directory of the store with what a writer would change of it.
    pub(super) fn listing(&self) -> Vec<String> {
        let (mut found, mut rest) = (Vec::new(), vec![self.root.clone()]);
        while let Some(path) = rest.pop() {
            let seen = path.symlink_metadata().unwrap();
            let times = (seen.mtime(), seen.mtime_nsec(), seen.ctime(), seen.ctime_nsec());
            found.push(format!("{path} {} {} {:o} {times:?}", seen.ino(), seen.len(), seen.mode()));
            if seen.is_dir() {
                rest.extend(path.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path()));
            }
        }
        found.sort();
        found
    }

    /// A path without the place of this test.
    pub(super) fn short(&self, path: &str) -> String {
        path.replace(self.root.as_str(), "")
    }

    /// The warnings of a look, as somebody reads them.
    pub(super) fn warnings(&self, look: &Look) -> Vec<String> {
        let warnings = look.warnings.iter().map(|one| self.short(&format!("{}: {}", one.path, one.message)));
        let mut warnings: Vec<String> = warnings.collect();
        warnings.sort();
        warnings
    }
}

pub(super) fn append(path: &Utf8Path, text: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text).unwrap();
}

/// Sets when a file was last written, as so many seconds before now.
pub(super) fn age(path: &Utf8Path, seconds: i64) {
    let at = TimeVal::seconds(now().0 / 1_000_000 - seconds);
    utimes(path.as_std_path(), &at, &at).unwrap();
}
