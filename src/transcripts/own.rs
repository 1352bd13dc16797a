//! The sessions that a harness may go on with: its own by the rules of attribution, and no others (TRJ-8).
//!
//! Invariant: the newest session of a directory is nobody's because of that.

use std::collections::BTreeMap;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use super::follow::{Follower, Subject};
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::{Attribution, Facts, Found};
use crate::store::{AccountQuery, SessionRow, Store, StoreError};
use crate::trajectory::{Format, Kinship, Layout, Needs};

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
    /// Its files are not there any more.
    pub gone: bool,
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
    let home = home.canonicalize_utf8().unwrap_or_else(|_| home.to_owned()).into_string();
    let mut facts = Facts { home: Some(home), now, ..store.facts()? };
    let mut rows = BTreeMap::new();
    let mut take = |sessions: Vec<SessionRow>| {
        rows.extend(sessions.into_iter().map(|row| ((row.format, row.store.clone(), row.id.clone()), row)));
    };
    take(store.sessions(&AccountQuery::default())?);
    let unsettled = store.unsettled()?.into_iter().filter(|run| run.harness == *harness);
    let subject = |run: crate::store::Unsettled| Subject {
        run: run.run,
        harness: run.harness,
        trail: run.trail,
        from: run.from,
        to: run.to,
        processes: Vec::new(),
        needs: Needs::Usage,
    };
    let subjects: Vec<Subject> = unsettled.map(subject).collect();
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
    let sessions = own.into_iter().map(|(_, row)| told(&row)).collect();
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

fn told(row: &SessionRow) -> OwnSession {
    let store = Utf8Path::new(&row.store);
    let gone = match row.format.layout() {
        Layout::Files(_) => !row.streams.iter().any(|stream| store.join(stream).exists()),
        Layout::Database(_) => !store.exists(),
    };
    OwnSession { id: row.id.clone(), opaque: opaque(row.format, &row.store, &row.id), gone }
}

/// The id of a session in all output: it tells nothing of where the session lies (MCP-4).
fn opaque(format: Format, store: &str, id: &str) -> String {
    let digest = Sha256::digest(format!("{format}\0{store}\0{id}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
