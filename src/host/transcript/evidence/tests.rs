//! What processes say of the sessions that they work on.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Trace, traces};
use crate::base::Wall;
use crate::host::tree;
use crate::trajectory::{Files, PidFile, PidNote};
use crate::wire::Evidence;

/// `PID START SESSION`, the start `-` where it is not stated.
fn note(text: &[u8]) -> Option<PidNote> {
    let mut words = std::str::from_utf8(text).ok()?.split(' ');
    let pid = words.next()?.parse().ok()?;
    let process_start = words.next()?.parse().ok();
    Some(PidNote { pid, process_start, session: words.next()?.to_owned() })
}

const LAYOUT: Files = Files {
    streams: &[],
    documents: &[],
    directory: None,
    held: Some(|path| path.strip_suffix(".jsonl").map(str::to_owned)),
    pid_file: Some(PidFile { directory: "sessions", read: note }),
};

struct Store {
    _dir: tempfile::TempDir,
    path: Utf8PathBuf,
    pid: i32,
}

fn store() -> Store {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
    fs::create_dir(path.join("sessions")).unwrap();
    Store { _dir: dir, path, pid: i32::try_from(std::process::id()).unwrap() }
}

impl Store {
    fn note(&self, text: &str) {
        fs::write(self.path.join(format!("sessions/{}.json", self.pid)), text).unwrap();
    }

    fn traces(&self, started: i64) -> (BTreeSet<Trace>, Vec<String>) {
        let mut problems = Vec::new();
        let mut problem = |one: super::Unreadable| problems.push(one.to_string());
        let found = traces(&self.path, &LAYOUT, &[self.pid, i32::MAX], Wall(started), &mut problem);
        (found, problems)
    }
}

fn of(session: &str, evidence: Evidence) -> BTreeSet<Trace> {
    let pid = i32::try_from(std::process::id()).unwrap();
    BTreeSet::from([Trace { session: session.to_owned(), evidence, pid }])
}

/// COR-8: a note of an earlier process that had the same pid is no evidence.
#[test]
fn a_pid_counts_with_the_start_of_its_process_only() {
    let store = store();
    let (pid, start) = (store.pid, tree::facts(store.pid).unwrap().start_time);
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![]));
    store.note(&format!("{pid} {start} mine"));
    assert_eq!(store.traces(0), (of("mine", Evidence::Pid), vec![]));
    store.note(&format!("{pid} {} stale", start - 1));
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![]));
    store.note(&format!("{} {start} another", pid + 1));
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![]));
}

/// COR-8: where a note has no start of the process, it is at least younger than the run.
#[test]
fn a_note_without_a_start_counts_if_it_is_younger_than_the_run() {
    let store = store();
    store.note(&format!("{} - mine", store.pid));
    assert_eq!(store.traces(0), (of("mine", Evidence::Pid), vec![]));
    assert_eq!(store.traces(i64::MAX), (BTreeSet::new(), vec![]));
}

/// Bad input: an index of processes that is corrupt is named.
#[test]
fn a_corrupt_note_is_named() {
    let store = store();
    store.note("{");
    let path = store.path.join(format!("sessions/{}.json", store.pid));
    let message = format!("{path}: it does not say which process works on which session");
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![message]));
    store.note("");
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![]));
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(path.as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let message = format!("{path}: it is a FIFO, not a regular file");
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![message]));
}

/// COR-8: a transcript that a process holds open for writing is its own; who reads one may be anybody.
#[test]
fn a_transcript_held_open_for_writing_is_evidence() {
    let store = store();
    fs::write(store.path.join("read.jsonl"), "").unwrap();
    fs::write(store.path.join("other.txt"), "").unwrap();
    let _reads = File::open(store.path.join("read.jsonl")).unwrap();
    let _other = OpenOptions::new().append(true).open(store.path.join("other.txt")).unwrap();
    assert_eq!(store.traces(0), (BTreeSet::new(), vec![]));
    let _writes = File::create(store.path.join("mine.jsonl")).unwrap();
    assert_eq!(store.traces(0), (of("mine", Evidence::OpenFile), vec![]));
}
