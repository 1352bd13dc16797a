//! Where a run's transcripts lie, which of them are its own, and what they cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::words;

words! {
    /// How it is known that a session belongs to a run (COR-8).
    Evidence as "evidence" {
        /// harnessd chose the session's id when it started the run.
        LaunchId = "exact: launch-id",
        /// A process of the run stands in the agent's own index of processes.
        Pid = "exact: pid",
        /// A process of the run holds the transcript open.
        OpenFile = "exact: open-file",
        /// The run's own machine-readable output names it.
        Output = "exact: output",
        /// It made a request through the run's own gateway.
        Gateway = "exact: gateway",
        /// Store, directory and time fit, and nobody else can have written it.
        Inferred = "inferred",
    }
}

/// A place that an agent keeps its transcripts in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StorePlace {
    /// The directory or database, absolute; as far as it exists without symbolic links.
    pub path: String,
    /// Whether the harness names it, by a variable or an argument of its own. An inferred one rules nothing
    /// out (COR-4).
    pub named: bool,
    /// The working directory that all its sessions have, where the agent records none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Where the transcripts of a run are to be found: what is known when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trail {
    /// The format of its transcripts; none: the adapter knows none (`generic` may write any).
    pub format: Option<String>,
    /// The physical working directory, where the harness has one of its own (COR-1).
    pub workdir: Option<String>,
    /// The stores that this instance of the agent writes to.
    pub stores: Vec<StorePlace>,
    /// The native id of the session that it was told to work in: a new one, one to go on with, or a copy whose
    /// id it was told too.
    pub session: Option<String>,
}

/// A session of a run, as `show` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSession {
    /// The opaque id that `trajectory` takes.
    pub id: String,
    /// How it is known to be the run's.
    pub evidence: Evidence,
}

/// A sum of model calls (USE-1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the whole prompt side.
    pub input: u64,
    /// The cache reads among them.
    pub cached: u64,
    /// Tokens of the completions.
    pub output: u64,
    /// US dollars, as far as agents state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Model calls.
    pub calls: u64,
    /// Those of them whose cost nobody states.
    pub unpriced_calls: u64,
}
