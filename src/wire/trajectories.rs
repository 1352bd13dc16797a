//! What is told of trajectories and of what they used (TRJ-7, USE-5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trail::{Evidence, RunSession, Usage};
use super::view::Run;
use crate::base::{HarnessName, RunId, Wall, words};

words! {
    /// Where what is shown of a run comes from.
    Origin as "source of a trajectory" {
        /// The agent's own files.
        Native = "native",
        /// The log of the run: its agent keeps nothing that is understood.
        Scrollback = "scrollback",
    }
}

words! {
    /// What usage is summed by.
    By as "sum" {
        /// One row a run.
        Run = "run",
        /// One row a day, in the harness's time zone.
        Day = "day",
        /// One row a model.
        Model = "model",
        /// One row a project.
        Project = "project",
    }
}

/// The session that a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentView {
    /// Its opaque id.
    pub id: String,
    /// The agent's own id of it.
    pub native_id: String,
    /// How: `resumed`, `forked`, `sub-agent` or `reset`.
    pub kinship: String,
}

/// A session of a run, or the log of a run whose agent keeps no sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryView {
    /// What `trajectory` takes.
    pub id: String,
    /// The harness.
    pub harness: HarnessName,
    /// The agent: the format of its transcripts, or the adapter.
    pub agent: String,
    /// The agent's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<String>,
    /// Where it is read.
    pub source: Origin,
    /// The run that it belongs to; one that belongs to several is listed once for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Wall>,
    /// The latest time in it, once its run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Wall>,
    /// The working directory as recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// The models that it used.
    pub models: Vec<String>,
}

/// A session that several can have written: it is nobody's (COR-5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedView {
    /// The agent's own id.
    pub native_id: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Wall>,
    /// Who can have written it.
    pub claimants: Vec<HarnessName>,
    /// Why nobody is credited.
    pub reason: String,
}

/// What `trajectories` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoriesView {
    /// The newest first.
    pub trajectories: Vec<TrajectoryView>,
    /// What is nobody's.
    pub excluded: Vec<ExcludedView>,
    /// What could not be read, or was odd.
    pub warnings: Vec<String>,
}

/// What a row of usage is the sum of; what does not apply, or is not known, is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct UsageKey {
    /// The harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessName>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The day, as `2026-11-30`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// A row of usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRow {
    /// Of what.
    pub key: UsageKey,
    /// How much.
    #[serde(flatten)]
    pub usage: Usage,
}

/// What `usage` shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    /// In the order of their keys.
    pub rows: Vec<UsageRow>,
    /// All of them.
    pub total: Usage,
}

/// A run with what its agent's transcripts tell of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// Its record.
    #[serde(flatten)]
    pub run: Run,
    /// Its sessions; none: its harness does not let them be listed (`harvest`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<RunSession>>,
    /// What it used; none: nothing is known of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Usage {
    /// Adds another sum. Dollars are kept to a billionth, so that sums read as what was added.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.calls = self.calls.saturating_add(other.calls);
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(other)) => Some(((one + other) * 1e9).round() / 1e9),
            (one, other) => one.or(other),
        };
    }
}
