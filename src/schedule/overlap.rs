//! What a firing does while the last run is still active (SCH-4).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The rule for a firing that finds its harness active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// The firing is recorded as skipped.
    #[default]
    Skip,
    /// It waits for the run to end; at most one waits.
    Queue,
    /// The run is stopped, then the firing starts.
    Replace,
}

impl Overlap {
    /// Every rule, in the order of declaration.
    pub const ALL: &'static [Self] = &[Self::Skip, Self::Queue, Self::Replace];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Queue => "queue",
            Self::Replace => "replace",
        }
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no overlap rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no overlap: allowed are `skip`, `queue` and `replace`")]
pub struct OverlapError(String);

impl FromStr for Overlap {
    type Err = OverlapError;

    fn from_str(text: &str) -> Result<Self, OverlapError> {
        Self::ALL
            .iter()
            .copied()
            .find(|rule| rule.as_str() == text)
            .ok_or_else(|| OverlapError(text.to_owned()))
    }
}
