//! A project as people and scripts are shown it.

use serde::{Deserialize, Serialize};

use super::view::ConfigState;

/// A project as `status` and `ps` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
