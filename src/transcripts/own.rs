//! The sessions that a harness may go on with: its own by the rules of attribution, and no others (TRJ-8).
//!
//! Invariant: the newest session of a directory is nobody's because of that.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::follow::{Follower, Subject};
use super::survey::opaque_id;
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::{Attribution, Facts, Found};
use crate::host::files::physical;
use crate::host::transcript::database::SessionDatabase;
use crate::store::{AccountQuery, SessionRow, Store, StoreError};
use crate::trajectory::{Database, Format, Kinship, Layout};

/// The fewest characters of a session's id that name it.
const LEAST_PART: usize = 4;

/// So often what a run has left is read on; what is beyond is read by the follower in its own time.
const LOOKS: usize = 64;

/// What a harness may go on with.
#[derive(Debug, Default)]
pub struct Own {
    /// Its sessions, the one that was in use last first.
    pub sessions: Vec<OwnSession>,
    /// Its runs as far as they are known, pruned ones too.
    pub runs: Vec<RunId>,
}

/// A session of a harness's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSession {
    /// The agent's own id of it.
    pub id: String,
    /// Its id in all output.
    pub opaque: String,
    /// Why its agent cannot go on with it.
    pub unfit: Option<&'static str>,
}

impl OwnSession {
    /// Whether somebody means it who says this.
    #[must_use]
    pub fn is(&self, said: &str) -> bool {
        said == self.id || (said.len() >= LEAST_PART && self.opaque.starts_with(said))
    }
}

/// The sessions of a harness, by the account and by what its last runs have written since that was kept.
///
/// # Errors
/// If the account cannot be read.
pub fn own_sessions(
    state: &Utf8Path,
    harness: &HarnessName,
    home: &Utf8Path,
    now: Wall,
) -> Result<Own, StoreError> {
    let Some(store) = Store::open_read(state)? else { return Ok(Own::default()) };
    // First of all: a run that is settled from here on has its sessions in what is read below, and one that was
    // settled between two reads the other way round would have them in neither.
    let unsettled = store.unsettled()?.into_iter().filter(|run| run.harness == *harness);
    let subjects: Vec<Subject> = unsettled.map(Subject::left).collect();
    let mut facts = Facts { home: Some(physical(home).into_string()), now, ..store.facts()? };
    let mut rows = BTreeMap::new();
    let mut take = |sessions: Vec<SessionRow>| {
        rows.extend(sessions.into_iter().map(|row| ((row.format, row.store.clone(), row.id.clone()), row)));
    };
    take(store.sessions(&AccountQuery::default())?);
    if !subjects.is_empty() {
        let mut follower = Follower::new(state);
        for _ in 0..LOOKS {
            let look = follower.look(&subjects, now);
            take(look.progress.sessions);
            facts.known.extend(look.progress.known);
            if !look.more {
                break;
            }
        }
    }
    let starts: BTreeMap<RunId, Wall> = facts
        .windows
        .iter()
        .filter(|window| window.harness == *harness)
        .map(|window| (window.run, window.from))
        .collect();
    let ledger = facts.prepare();
    // A sub-agent's session is a part of its parent's.
    let whole = rows
        .into_values()
        .filter(|row| row.parent.as_ref().is_none_or(|parent| parent.kinship != Kinship::SubAgent));
    let mut own = Vec::new();
    for row in whole {
        if let Attribution::To(runs) = ledger.attribute(&found(&row)) {
            let last = runs.iter().filter_map(|(run, _)| starts.get(run)).max();
            own.extend(last.map(|last| ((*last, row.last_at.or(row.started_at)), row)));
        }
    }
    own.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut kept = BTreeMap::new();
    let sessions = own.into_iter().map(|(_, row)| told(&row, &mut kept)).collect();
    Ok(Own { sessions, runs: starts.into_keys().collect() })
}

fn found(row: &SessionRow) -> Found {
    Found {
        format: row.format,
        id: row.id.clone(),
        store: row.store.clone(),
        cwd: row.cwd.clone(),
        started_at: row.started_at,
    }
}

/// The sessions of databases, each database read once; none: it cannot be read, so nobody knows.
type Kept = BTreeMap<(Format, String), Option<BTreeSet<String>>>;

fn told(row: &SessionRow, kept: &mut Kept) -> OwnSession {
    let store = Utf8Path::new(&row.store);
    let gone = match row.format.layout() {
        Layout::Files(_) => !row.streams.iter().any(|stream| store.join(stream).exists()),
        Layout::Database(layout) => {
            let key = (row.format, row.store.clone());
            let ids = kept.entry(key).or_insert_with(|| ids_of(store, &layout));
            ids.as_ref().is_some_and(|ids| !ids.contains(&row.id))
        }
    };
    let unfit = match (is_plain(&row.id), gone) {
        (false, _) => Some("its id is none that an agent can be told"),
        (true, true) => Some("what its agent kept of it is not there"),
        (true, false) => None,
    };
    OwnSession { id: row.id.clone(), opaque: opaque_id(row.format, &row.store, &row.id), unfit }
}

/// An id is an argument of the agent, and it was the agent that wrote it: it is to be no option and no path.
fn is_plain(id: &str) -> bool {
    let within = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.chars().all(within)
}

fn ids_of(store: &Utf8Path, layout: &Database) -> Option<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    match SessionDatabase::open(store, layout) {
        Ok(None) => Some(ids),
        Ok(Some(database)) => {
            let read = database.sessions(&mut |row| ids.extend((layout.head)(row).map(|head| head.id)));
            read.is_ok().then_some(ids)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    /// TRJ-8: what an agent wrote into its own transcript becomes no option of its next start.
    #[test]
    fn an_id_is_no_option_and_no_path() {
        for id in ["0190c3f1-7a3c-4f5e-9d2b-000000000001", "ses_01J", "20261130_1", "a.b:c"] {
            assert!(is_plain(id), "{id}");
        }
        for id in
            ["", "--dangerously-skip-permissions", "../x", "/etc/passwd", "a b", "a\u{1b}[2J", ".hidden"]
        {
            assert!(!is_plain(id), "{id}");
        }
    }
}
