//! What is known of runs and sessions.

use std::collections::BTreeMap;

use crate::base::{HarnessName, RunId, Wall};
use crate::trajectory::Format;
use crate::wire::{Evidence, StorePlace};

/// One run, as far as it says who can have written a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The run.
    pub run: RunId,
    /// Its harness, under the name that it had.
    pub harness: HarnessName,
    /// The adapter's id; `generic` may write any kind of session.
    pub adapter: String,
    /// The format of its transcripts.
    pub format: Option<Format>,
    /// Its physical working directory; none: it has none of its own, so it is credited with nothing and
    /// works in [`Facts::home`].
    pub workdir: Option<String>,
    /// The stores that it writes to.
    pub stores: Vec<StorePlace>,
    /// Its start.
    pub from: Wall,
    /// Its end; none: it still runs, or nobody knows (see [`Facts::daemon_started`]).
    pub to: Option<Wall>,
    /// Whether a process that the present daemon supervises still runs it.
    pub live: bool,
}

/// A harness as it is configured now. It may have run before the record of it begins (COR-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub harness: HarnessName,
    /// Its adapter's id.
    pub adapter: String,
    /// The format of its transcripts.
    pub format: Option<Format>,
    /// Its physical working directory; none: it works in [`Facts::home`].
    pub workdir: Option<String>,
    /// The stores that it would write to.
    pub stores: Vec<StorePlace>,
}

/// A session that was found in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its format.
    pub format: Format,
    /// Its native id. Of a sub-agent's session: that of the topmost parent, whose fate it shares.
    pub id: String,
    /// The store that it lies in, as the run's [`StorePlace::path`] spells it.
    pub store: String,
    /// The working directory as recorded, physical as far as it exists. Of a sub-agent's: the topmost parent's.
    pub cwd: Option<String>,
    /// When it began. Of a sub-agent's: when the topmost parent did, which decides whose both are.
    pub started_at: Option<Wall>,
}

/// What ties a session to a run beyond doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The run.
    pub run: RunId,
    /// The session's format.
    pub format: Format,
    /// Its native id.
    pub session: String,
    /// How.
    pub evidence: Evidence,
}

/// All that attribution goes by.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The windows of all runs, pruned ones and those of harnesses that are gone too.
    pub windows: Vec<Window>,
    /// The harnesses that are configured, also those that never ran.
    pub peers: Vec<Peer>,
    /// The harnesses that are configured or have runs, each with the time since which this store has its
    /// whole record (when it first saw it). Whoever knows a harness's latest run alone says its start here,
    /// or an exit whose start is not recorded. Without an entry the record begins at the first window.
    pub since: BTreeMap<HarnessName, Wall>,
    /// Evidence.
    pub known: Vec<Known>,
    /// The physical home directory, where harnesses without a `workdir` run.
    pub home: Option<String>,
    /// Now: the end of what still runs.
    pub now: Wall,
    /// When the present daemon started, if one runs: a run without an end from before it ended there at the
    /// latest (COR-6).
    pub daemon_started: Option<Wall>,
}

impl Facts {
    /// When a run's window closes, as far as the run is credited with anything (COR-6).
    #[must_use]
    pub fn closes(&self, window: &Window) -> Wall {
        let until = self.last_instant(window);
        match self.daemon_started {
            Some(at) if Self::is_end_assumed(window) && window.from < at => until.min(at),
            _ => until,
        }
    }

    /// Whether that end is assumed and not recorded: an answer that goes by it says so.
    #[must_use]
    pub const fn is_end_assumed(window: &Window) -> bool {
        window.to.is_none() && !window.live
    }

    /// When a run can have written its last, for all that is known. A process that nobody supervises may go
    /// on (a run in the foreground, say), but not beyond the next run of its harness.
    pub(super) fn last_instant(&self, window: &Window) -> Wall {
        let next = || {
            let later = self.windows.iter().filter(|other| other.harness == window.harness);
            later.map(|other| other.from).filter(|from| *from > window.from).min()
        };
        let bound = if Self::is_end_assumed(window) { next() } else { None };
        window.to.or(bound).unwrap_or(self.now).max(window.from)
    }
}
