//! What an agent states about the end of its own run.
//!
//! Invariant: it is taken from the agent's terminal record, never from a text that it quotes.

use serde::{Deserialize, Serialize};

use super::run::Outcome;
use super::time::Wall;

/// What an agent states about the end of its own run (RUN-0).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in words; present for every outcome but `ok`.
    pub cause: Option<String>,
    /// Until when the limit lasts that it met, where it says so.
    pub until: Option<Wall>,
}
