//! Antigravity's transcripts.

use serde::{Deserialize, Serialize};

use super::layout::{Files, Layout};
use super::told::Read;

pub(super) const LAYOUT: Layout =
    Layout::Files(Files { streams: &[], documents: &[], directory: None, held: None, pid_file: None });

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {}

impl Read for Reader {}
