//! Which of several runs something in a session belongs to (COR-7).

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
        let mut holding = spans.iter().filter(|span| span.holds(at));
        if let Some(span) = holding.next() {
            // Of two runs that touch, the instant is the later one's start; of two that overlap, nobody's.
            let rest: Vec<_> = holding.chain([span]).collect();
            let last = rest.iter().max_by_key(|span| span.window.from)?;
            let apart =
                rest.iter().all(|span| span.window.run == last.window.run || span.to <= last.window.from);
            return apart.then_some(last.window.run);
        }
        let near = spans.iter().filter(|span| span.distance(at) <= SLACK);
        let nearest = near.min_by_key(|span| (span.distance(at), std::cmp::Reverse(span.window.from)))?;
        // The slack does not reach into another run of the same harness: that one adds to a resumed session.
        let taken = self.is_of_another_run(&nearest.window.harness, at, &runs);
        (!taken).then_some(nearest.window.run)
    }
}
