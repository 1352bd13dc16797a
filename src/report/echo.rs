//! What a program says as a record, and on standard error once more as plain text.

use serde::{Deserialize, Serialize};

/// The plain text that is still to come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Echo(String);

impl Echo {
    /// Of `text`, which a record told.
    pub(super) const fn of(text: String) -> Self {
        Self(text)
    }

    /// Whether a line that is no record is the next one of it.
    pub(super) fn repeats(&mut self, line: &str) -> bool {
        let (next, rest) = self.0.split_once('\n').unwrap_or((&self.0, ""));
        let known = !self.0.is_empty() && next == line;
        if known {
            self.0 = rest.to_owned();
        }
        known
    }
}
