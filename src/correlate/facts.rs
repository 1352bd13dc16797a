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

/// A session that was found in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its format.
    pub format: Format,
    /// Its native id. Of a sub-agent's session: that of the topmost parent, whose fate it shares.
    pub id: String,
    /// The store that it lies in, as the run's [`StorePlace::path`] spells it.
    pub store: String,
    /// The working directory as recorded, physical as far as it exists.
    pub cwd: Option<String>,
    /// When it began.
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
    /// The harnesses that are configured or have runs, each with the time since which this store has its
    /// whole record (when it first saw it).
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
