//! Crush's database.

use serde::{Deserialize, Serialize};

use super::layout::{Database, Layout};
use super::told::Read;

pub(super) const LAYOUT: Layout =
    Layout::Database(Database { needs: &[], sessions: "", head: |_| None, records: "" });

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {}

impl Read for Reader {}
