//! A project as people and scripts are shown it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Acted;
use super::view::{ConfigState, HarnessView};

/// A project as `status` and `ps` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    /// Its name; none: its file could not be read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its file.
    pub file: String,
    /// Whether the global file lists it; else `up` has registered it.
    pub listed: bool,
    /// Whether its definition was accepted.
    pub state: ConfigState,
    /// Whether its file says something else than what `up` has accepted.
    pub changed_since_up: bool,
}

/// What `ps` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectsView {
    /// The project that was asked for, else all.
    pub projects: Vec<ProjectView>,
    /// Their harnesses.
    pub harnesses: Vec<HarnessView>,
}

/// What `up` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RaisedView {
    /// The project whose file was accepted.
    pub project: ProjectView,
    /// Its harnesses.
    pub harnesses: Vec<HarnessView>,
    /// What else is to be known, in words.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What `down` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoweredView {
    /// The project that was forgotten.
    pub project: ForgottenView,
    /// What became of each of its harnesses: `stopped`, or `stopping`.
    pub harnesses: Vec<Acted>,
    /// What else is to be known, in words.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A project that is registered no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenView {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
}
