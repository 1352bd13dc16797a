//! The account read as a whole: sessions, each with whose it is, and the calls that count for runs.
//!
//! Invariants: a sub-agent's session shares the fate of its topmost parent; a call counts for one run at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use crate::base::{RunId, Wall};
use crate::correlate::{Attribution, Facts, Found, Ledger, Peer, SLACK, Window};
use crate::host::clock;
use crate::host::files::physical;
use crate::store::{AccountQuery, CallRow, SessionRow, Store, StoreError};
use crate::trajectory::{Format, Kinship};
use crate::wire::{Evidence, Usage};

/// Sub-agents of sub-agents are followed up so far; a chain that is longer, or a circle, ends there.
const DEEPEST: usize = 32;

/// The digits of an opaque id.
const OPAQUE: usize = 16;

/// What the account cannot know of the present.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// The physical home directory.
    pub home: Option<String>,
    /// Now.
    pub now: Wall,
    /// When the present daemon started, if one runs.
    pub daemon_started: Option<Wall>,
    /// The runs that go on.
    pub live: BTreeSet<RunId>,
}

/// A session and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Credited {
    pub(super) row: SessionRow,
    /// The native id of its topmost parent; its own where it is no sub-agent's.
    pub(super) top: String,
    pub(super) whose: Attribution,
}

/// A call of a run.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    pub(super) call: &'a CallRow,
    pub(super) window: &'a Window,
    /// It alone, as a sum.
    pub(super) usage: Usage,
}

impl Circumstances {
    /// As they are now.
    #[must_use]
    pub fn present(home: &Utf8Path, daemon_started: Option<Wall>, live: BTreeSet<RunId>) -> Self {
        Self { home: Some(physical(home).into_string()), now: clock::now().wall, daemon_started, live }
    }
}

type Key = (Format, String, String);

/// Sessions, windows and evidence as they are now.
#[derive(Debug, Default)]
pub(super) struct Survey {
    facts: Facts,
    sessions: Vec<Credited>,
    index: HashMap<Key, usize>,
    windows: HashMap<RunId, usize>,
}

/// The id of a session in all output: it tells nothing of where the session lies (MCP-4).
#[must_use]
pub fn opaque_id(format: Format, store: &str, native: &str) -> String {
    let mut hash = Sha256::new();
    for part in [format.as_str(), "\0", store, "\0", native] {
        hash.update(part.as_bytes());
    }
    let mut digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.truncate(OPAQUE);
    digits
}

impl Survey {
    /// Reads the sessions that are asked for, and says whose they are.
    pub(super) fn read(
        store: &Store,
        around: &Circumstances,
        peers: Vec<Peer>,
        query: &AccountQuery,
    ) -> Result<Self, StoreError> {
        let mut facts = Facts {
            peers,
            home: around.home.clone(),
            now: around.now,
            daemon_started: around.daemon_started,
            ..store.facts()?
        };
        for window in facts.windows.iter_mut().filter(|window| window.to.is_none()) {
            window.live = around.live.contains(&window.run);
        }
        let rows = store.sessions(query)?;
        let mut known = by_key(&rows);
        // A sub-agent may have gone on when its parent did not.
        let orphan = |row: &SessionRow| parent(row).is_some_and(|up| !known.contains_key(&up));
        let all =
            if rows.iter().any(orphan) { store.sessions(&AccountQuery::default())? } else { Vec::new() };
        known.extend(by_key(&all));
        let ledger = facts.prepare();
        let sessions: Vec<Credited> = rows.iter().map(|row| credit(row, &known, &ledger)).collect();
        drop(ledger);
        let index = sessions.iter().enumerate().map(|(at, one)| (key(&one.row), at)).collect();
        let windows = facts.windows.iter().enumerate().map(|(at, window)| (window.run, at)).collect();
        Ok(Self { facts, sessions, index, windows })
    }

    pub(super) fn sessions(&self) -> &[Credited] {
        &self.sessions
    }

    pub(super) const fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) fn window(&self, run: RunId) -> Option<&Window> {
        self.windows.get(&run).map(|at| &self.facts.windows[*at])
    }

    /// The runs that a session has a part in. What is known of a sub-agent's is its topmost parent's: of the
    /// runs of that, it went on in those that its own times lie in.
    pub(super) fn parts(&self, one: &Credited) -> Vec<(RunId, Evidence)> {
        let Attribution::To(of) = &one.whose else { return Vec::new() };
        let row = &one.row;
        let during = |run: RunId| {
            let Some(window) = self.window(run) else { return false };
            let closed = self.facts.closes(window) + SLACK;
            row.last_at.or(row.started_at).is_none_or(|last| last >= window.from - SLACK)
                && row.started_at.is_none_or(|start| start <= closed)
        };
        of.iter().filter(|(run, _)| one.top == row.id || during(*run)).copied().collect()
    }

    /// Goes through the calls that belong to runs.
    pub(super) fn count(&self, calls: &[CallRow], mut take: impl FnMut(Counted<'_>)) {
        let priced = self.priced(calls);
        let ledger = self.facts.prepare();
        for call in calls {
            let Some((top, of)) = self.whose(call) else { continue };
            let Some(run) = ledger.owner(call.at, of) else { continue };
            let Some(window) = self.window(run) else { continue };
            let covered =
                priced.get(&(call.format, call.store.as_str(), top)).is_some_and(|at| call.at <= *at);
            take(Counted { call, window, usage: usage_of(call, covered) });
        }
    }

    fn whose(&self, call: &CallRow) -> Option<(&str, &[(RunId, Evidence)])> {
        let at = self.index.get(&(call.format, call.store.clone(), call.session.clone()))?;
        let session = &self.sessions[*at];
        match &session.whose {
            Attribution::To(of) => Some((&session.top, of)),
            Attribution::Excluded { .. } | Attribution::Nobody => None,
        }
    }

    /// Until when the calls of a session, its sub-agents' too, are covered by a cost that was stated for several.
    fn priced<'a>(&'a self, calls: &'a [CallRow]) -> BTreeMap<(Format, &'a str, &'a str), Wall> {
        let mut until = BTreeMap::new();
        for call in calls.iter().filter(|call| call.tokens.is_none() && call.cost_usd.is_some()) {
            if let Some((top, _)) = self.whose(call) {
                let at = until.entry((call.format, call.store.as_str(), top)).or_insert(call.at);
                *at = call.at.max(*at);
            }
        }
        until
    }
}

fn usage_of(call: &CallRow, covered: bool) -> Usage {
    let Some(tokens) = call.tokens else { return Usage { cost_usd: call.cost_usd, ..Usage::default() } };
    Usage {
        input: tokens.input,
        cached: tokens.cached,
        output: tokens.output,
        cost_usd: call.cost_usd,
        calls: 1,
        unpriced_calls: u64::from(call.cost_usd.is_none() && !covered),
    }
}

fn key(row: &SessionRow) -> Key {
    (row.format, row.store.clone(), row.id.clone())
}

fn by_key(rows: &[SessionRow]) -> HashMap<Key, &SessionRow> {
    rows.iter().map(|row| (key(row), row)).collect()
}

/// The session whose sub-agent wrote this one.
fn parent(row: &SessionRow) -> Option<Key> {
    let up = row.parent.as_ref().filter(|parent| parent.kinship == Kinship::SubAgent)?;
    Some((row.format, row.store.clone(), up.id.clone()))
}

/// The topmost session above a sub-agent's: its id, and its row if that is known.
fn topmost<'a>(
    row: &'a SessionRow,
    known: &HashMap<Key, &'a SessionRow>,
) -> (String, Option<&'a SessionRow>) {
    let mut at = row;
    for _ in 0..DEEPEST {
        let Some(up) = parent(at) else { return (at.id.clone(), Some(at)) };
        match known.get(&up) {
            Some(next) => at = next,
            None => return (up.2, None),
        }
    }
    (at.id.clone(), Some(at))
}

fn credit(row: &SessionRow, known: &HashMap<Key, &SessionRow>, ledger: &Ledger<'_>) -> Credited {
    let (top, above) = topmost(row, known);
    let from = above.unwrap_or(row);
    let found = Found {
        format: row.format,
        id: top.clone(),
        store: row.store.clone(),
        cwd: from.cwd.clone(),
        started_at: from.started_at,
    };
    Credited { row: row.clone(), top, whose: ledger.attribute(&found) }
}

#[cfg(test)]
mod tests;
