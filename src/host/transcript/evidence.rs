//! What processes that are alive say of the sessions that they work on (COR-8).
//!
//! Invariant: of a transcript that is held open only its name is read; a process counts only under its own pid
//! and, where that is noted, its own start.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::Unreadable;
use super::lines::document;
use super::places;
use crate::base::Wall;
use crate::host::tree;
use crate::trajectory::{Files, PidFile};
use crate::wire::Evidence;

/// A session that a process works on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trace {
    /// Its native id.
    pub session: String,
    /// How that is known.
    pub evidence: Evidence,
    /// The process.
    pub pid: i32,
}

/// What these processes, which are of one run that started then, say of a store.
pub fn traces(
    store: &Utf8Path,
    layout: &Files,
    processes: &[i32],
    started: Wall,
    problem: &mut dyn FnMut(Unreadable),
) -> BTreeSet<Trace> {
    let mut found = BTreeSet::new();
    for pid in processes {
        if let Some(index) = layout.pid_file {
            match noted(store, index, *pid, started) {
                Ok(session) => {
                    found.extend(session.map(|session| Trace {
                        session,
                        evidence: Evidence::Pid,
                        pid: *pid,
                    }));
                }
                Err(unreadable) => problem(unreadable),
            }
        }
        if let Some(session) = layout.held {
            let sessions = held(store, *pid).filter_map(|stream| session(&stream));
            let trace = |session| Trace { session, evidence: Evidence::OpenFile, pid: *pid };
            found.extend(sessions.map(trace));
        }
    }
    found
}

/// The session that the agent's index of processes has for this one.
fn noted(store: &Utf8Path, index: PidFile, pid: i32, started: Wall) -> Result<Option<String>, Unreadable> {
    let path = store.join(index.directory).join(format!("{pid}.json"));
    let Some(stamp) = places::stamp(&path)? else { return Ok(None) };
    let Some(text) = document(&path)? else { return Ok(None) };
    let Some(note) = (index.read)(&text) else {
        // Whoever writes it may have just begun.
        return if text.is_empty() { Ok(None) } else { Err(no_note(path)) };
    };
    let own = match note.process_start {
        Some(start) => tree::facts(pid).is_some_and(|process| process.start_time == start),
        // A note of an earlier process of this pid is older than the run.
        None => stamp.written_at() >= started,
    };
    Ok((own && note.pid == pid && !note.session.is_empty()).then_some(note.session))
}

fn no_note(path: Utf8PathBuf) -> Unreadable {
    Unreadable { path, message: "it does not say which process works on which session".to_owned() }
}

/// The files below a store that a process may write to, relative to it. Who only reads a transcript is not
/// the one that makes it.
fn held(store: &Utf8Path, pid: i32) -> impl Iterator<Item = String> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let store = store.to_owned();
    descriptors.filter_map(move |descriptor| {
        let path = Utf8PathBuf::from_path_buf(fs::read_link(descriptor.path()).ok()?).ok()?;
        let relative = path.strip_prefix(&store).ok()?;
        let writes = fs::symlink_metadata(descriptor.path()).ok()?.permissions().mode() & 0o200 != 0;
        writes.then(|| relative.to_string())
    })
}

#[cfg(test)]
mod tests;
