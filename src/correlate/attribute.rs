//! The rule.

use super::facts::{Facts, Found};
use crate::base::{HarnessName, RunId, Wall};
use crate::wire::Evidence;

/// What becomes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribution {
    /// It belongs to these runs, each its part (COR-7), in the order of their starts. An inferred one is alone.
    To(Vec<(RunId, Evidence)>),
    /// Several can have written it (COR-5).
    Excluded {
        /// They, by name.
        claimants: Vec<HarnessName>,
        /// Why, in words.
        reason: String,
    },
    /// It is nobody's here.
    Nobody,
}

/// Whose a session is.
#[must_use]
pub fn attribute(_session: &Found, _facts: &Facts) -> Attribution {
    Attribution::Nobody
}

/// The run among those of an attribution that something of this instant belongs to (COR-7); none: it lies
/// in the window of none of them.
#[must_use]
pub fn owner(_at: Wall, _of: &[(RunId, Evidence)], _facts: &Facts) -> Option<RunId> {
    None
}
