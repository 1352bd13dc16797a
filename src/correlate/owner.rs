//! Which of several runs something in a session belongs to (COR-7).

use super::facts::Facts;
use super::ledger::{Ledger, holder};
use crate::base::{RunId, Wall};
use crate::wire::Evidence;

/// The run among those of an attribution that something of this instant belongs to (COR-7); none: it lies
/// in the window of none of them, or of more than one. For many instants [`Ledger::owner`] is quicker.
#[must_use]
pub fn owner(at: Wall, of: &[(RunId, Evidence)], facts: &Facts) -> Option<RunId> {
    facts.prepare().owner(at, of)
}

impl Ledger<'_> {
    /// See [`owner`].
    #[must_use]
    pub fn owner(&self, at: Wall, of: &[(RunId, Evidence)]) -> Option<RunId> {
        let runs: Vec<RunId> = of.iter().map(|(run, _)| *run).collect();
        let span = holder(runs.iter().filter_map(|run| self.run(*run)), at)?;
        // Another run of the same harness has taken the session up then, without evidence: nobody's.
        let taken = self.is_of_another_run(&span.window.harness, at, &runs);
        (!taken).then_some(span.window.run)
    }
}
