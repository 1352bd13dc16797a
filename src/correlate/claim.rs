//! Who can have written a session, for all that is known of runs (COR-1, COR-4).

use std::collections::{BTreeMap, BTreeSet};

use super::SLACK;
use super::facts::Found;
use super::ledger::{Ledger, Span};
use crate::base::{HarnessName, RunId, Wall};

/// Everybody who can have written a session.
#[derive(Debug, Default)]
pub(super) struct Claims<'a> {
    /// The runs that meet the conditions (1) to (3), by harness.
    pub(super) fitting: BTreeMap<&'a HarnessName, BTreeMap<RunId, Span<'a>>>,
    /// Harnesses with a run that covers the session's start; those of the fitting runs are among them.
    pub(super) running: BTreeSet<&'a HarnessName>,
    /// Harnesses of which nothing is recorded so far back.
    pub(super) unrecorded: BTreeSet<&'a HarnessName>,
}

impl<'a> Ledger<'a> {
    /// Everybody who can have written a session that began at this time.
    pub(super) fn claims(&self, session: &Found, start: Wall) -> Claims<'a> {
        let mut claims = Claims::default();
        for (harness, lane) in self.around(&session.store, session.cwd.as_deref()) {
            for span in lane.covering(start) {
                let guise = span.guise();
                if self.writes(guise, session.format) && guise.may_use(&session.store) {
                    claims.running.insert(harness);
                }
                if fits(span, session) && start <= span.to + SLACK {
                    claims.fitting.entry(harness).or_default().insert(span.window.run, *span);
                }
            }
            let mut able = lane.guises.iter().filter(|guise| self.writes(**guise, session.format));
            if start < lane.since + SLACK && able.any(|guise| guise.may_use(&session.store)) {
                claims.unrecorded.insert(harness);
            }
        }
        claims
    }
}

/// Whether a session lies where this run writes, in the run's own directory: the conditions (1) and (2).
pub(super) fn fits(span: &Span<'_>, session: &Found) -> bool {
    let window = span.window;
    let Some(workdir) = &window.workdir else { return false };
    let Some(store) = window.stores.iter().find(|store| store.path == session.store) else { return false };
    window.format == Some(session.format) && store.cwd.as_ref().or(session.cwd.as_ref()) == Some(workdir)
}
