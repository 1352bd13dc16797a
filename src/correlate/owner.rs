//! Which of several runs something in a session belongs to (COR-7).

use std::cmp::Reverse;

use super::SLACK;
use super::facts::Facts;
use super::ledger::{Ledger, Span};
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
        let spans: Vec<&Span<'_>> = runs.iter().filter_map(|run| self.run(*run)).collect();
        let mut holding = spans.iter().filter(|span| span.can_hold(at));
        let span = match (holding.next(), holding.next()) {
            (Some(span), None) => span,
            (Some(_), Some(_)) => return None,
            (None, _) => {
                let near = spans.iter().filter(|span| span.distance(at) <= SLACK);
                near.min_by_key(|span| (span.distance(at), Reverse(span.window.from)))?
            }
        };
        // Another run of the same harness has taken the session up then, without evidence: nobody's.
        let taken = self.is_of_another_run(&span.window.harness, at, &runs);
        (!taken).then_some(span.window.run)
    }
}
