//! What subscribers are told (LIF-10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trail::Usage;
use super::view::Run;
use crate::base::{HarnessName, RunId, State, Wall};

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A harness went from one state to another.
    StateChanged {
        /// Which.
        harness: HarnessName,
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// A run began.
    RunStarted {
        /// The run.
        run: Run,
    },
    /// A run ended; nothing of it is alive.
    RunEnded {
        /// The run.
        run: Run,
    },
    /// A slot fell due and was not run.
    FiringSkipped {
        /// Its record.
        run: Run,
    },
    /// A configuration is in force.
    ConfigReloaded {
        /// Harnesses that are new.
        added: Vec<HarnessName>,
        /// Harnesses that are gone.
        removed: Vec<HarnessName>,
        /// Harnesses that differ.
        changed: Vec<HarnessName>,
    },
    /// A configuration was refused; the last good one stays.
    ConfigRejected {
        /// How many errors it has.
        errors: usize,
    },
    /// A harness is in a crash loop.
    Flapping {
        /// Which.
        harness: HarnessName,
        /// Exits inside the window.
        exits: u32,
    },
    /// The agent of a run did something; told where its harness lets its trajectories be read (TRJ-9).
    TrajectoryEvent(Box<TrajectoryEvent>),
}

/// What an agent did, without what was said: no text, no arguments, no targets (CTL-12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryEvent {
    /// The harness.
    pub harness: HarnessName,
    /// The run.
    pub run: RunId,
    /// The opaque id of the session.
    pub session: String,
    /// What it is: `user`, `assistant`, `tool-call`, `usage` and so on.
    pub kind: String,
    /// The agent's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<String>,
    /// The tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the tool does: `search`, `read`, `edit`, `exec`, `verify` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a model call used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The prompt side of the latest call, when the context changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// The size of the context's window, where the agent states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// One event: a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Rises by one with each event of a daemon.
    pub seq: u64,
    /// When; of a [`EventKind::TrajectoryEvent`] the time that the agent states.
    pub at: Wall,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}
