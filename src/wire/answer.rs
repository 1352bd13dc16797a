//! How answers are written, and those that hold nothing but a list or a word or two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::{ErrorBody, ErrorCode};
use super::trajectories::{RunView, TrajectoryView};
use super::view::{ConfigState, HarnessView};
use crate::base::{HarnessName, RunId};

/// An answer, which always can be written as JSON, or a defect that is said.
///
/// # Errors
/// The defect.
pub fn json(answer: &impl Serialize) -> Result<Value, ErrorBody> {
    serde_json::to_value(answer).map_err(|cause| ErrorBody::new(ErrorCode::Internal, cause.to_string()))
}

/// What `list` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HarnessesView {
    /// In the order of their names.
    pub harnesses: Vec<HarnessView>,
}

/// What `runs` answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsView {
    /// The newest first.
    pub runs: Vec<RunView>,
}

/// What `start`, `stop` and `restart` answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActedView {
    /// In the order in which they were named.
    pub harnesses: Vec<Acted>,
}

/// What `use-profile` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileUsed {
    /// The profile that is in use from now on.
    pub profile: String,
    /// Its members, then what was stopped for it.
    pub harnesses: Vec<Acted>,
    /// What else is to be known, in words.
    pub warnings: Vec<String>,
}

/// What became of one harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    /// Full name.
    pub name: HarnessName,
    /// `started`, `starting`, `already-running` and so on.
    pub result: String,
    /// The run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// What `reload` answers when the configuration is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadView {
    /// `ok`: what is refused is answered with an error.
    pub state: ConfigState,
    /// Warnings, as `validate --format json` prints them.
    pub diagnostics: Vec<Value>,
}

/// What the successor of a daemon answers `reexec` with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuccessorView {
    /// Its version.
    pub version: String,
    /// The version of the daemon that it replaced.
    pub before: String,
}

/// What `trajectory` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageView {
    /// The session.
    pub session: TrajectoryView,
    /// Some of its events.
    pub events: Vec<Value>,
    /// Whether others follow.
    pub more: bool,
}

/// What `subscribe` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscribedView {
    /// Events follow.
    pub subscribed: bool,
}
