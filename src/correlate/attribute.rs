//! The rule: evidence first (COR-8), else store, directory, time and the absence of others (COR-1).

use std::collections::{BTreeMap, BTreeSet};

use super::claim::fits;
use super::facts::{Facts, Found};
use super::ledger::{Ledger, Span, holder};
use crate::base::{HarnessName, RunId};
use crate::wire::Evidence;

/// What becomes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribution {
    /// It belongs to these runs, each its part (COR-7), in the order of their starts. At most one is
    /// inferred: the one that it began in. The others have taken it up.
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

/// Whose a session is. For many sessions [`Facts::prepare`] is quicker.
#[must_use]
pub fn attribute(session: &Found, facts: &Facts) -> Attribution {
    facts.prepare().attribute(session)
}

impl Ledger<'_> {
    /// See [`attribute`].
    #[must_use]
    pub fn attribute(&self, session: &Found) -> Attribution {
        let mut evidence: BTreeMap<RunId, Evidence> = BTreeMap::new();
        for known in self.known(session.format, &session.id) {
            let best = evidence.entry(known.run).or_insert(known.evidence);
            *best = known.evidence.min(*best);
        }
        let tied: Vec<&Span<'_>> = evidence.keys().filter_map(|run| self.run(*run)).collect();
        if tied.is_empty() {
            // What a run did that nobody knows of is not to be taken for another's.
            return if evidence.is_empty() { self.infer(session) } else { Attribution::Nobody };
        }
        let own: Vec<&Span<'_>> = tied.iter().copied().filter(|span| fits(span, session)).collect();
        if let Some(contradiction) = contradiction(&own, &tied) {
            return contradiction;
        }
        let mut runs: Vec<(&Span<'_>, Evidence)> =
            own.iter().map(|span| (*span, evidence[&span.window.run])).collect();
        // A session that a run has taken up was begun by another one; by which, only the rule can tell.
        let inferred = self.infer(session);
        if let Some(span) = self.beginner(&inferred)
            && !tied
                .iter()
                .any(|tied| began_within(tied, session) || (!fits(tied, session) && tied.overlaps(span)))
        {
            runs.push((span, Evidence::Inferred));
        }
        if runs.is_empty() {
            return if self.beginner(&inferred).is_some() { elsewhere(&tied) } else { inferred };
        }
        runs.sort_by_key(|(span, _)| (span.window.from, span.window.run));
        Attribution::To(runs.into_iter().map(|(span, how)| (span.window.run, how)).collect())
    }

    /// The run that an attribution without evidence names.
    fn beginner(&self, inferred: &Attribution) -> Option<&Span<'_>> {
        let Attribution::To(runs) = inferred else { return None };
        self.run(runs.first()?.0)
    }

    /// Without evidence.
    fn infer(&self, session: &Found) -> Attribution {
        let Some(start) = session.started_at else { return Attribution::Nobody };
        let claims = self.claims(session, start);
        let Some((harness, runs)) = claims.fitting.first_key_value() else { return Attribution::Nobody };
        let running = &claims.running;
        let unrecorded: BTreeSet<&HarnessName> = claims.unrecorded.difference(running).copied().collect();
        if running.len() + unrecorded.len() > 1 {
            return crowd(running, &unrecorded);
        }
        match holder(runs.values(), start) {
            Some(span) => Attribution::To(vec![(span.window.run, Evidence::Inferred)]),
            None => Attribution::Excluded {
                claimants: vec![(*harness).clone()],
                reason: format!("`{harness}` had more than one run when it began"),
            },
        }
    }
}

/// Whether a session began in a run, as far as times tell.
fn began_within(span: &Span<'_>, session: &Found) -> bool {
    session.started_at.is_some_and(|start| span.is_near(start))
}

/// Evidence that ties a session to two runs at once is no evidence.
fn contradiction(own: &[&Span<'_>], tied: &[&Span<'_>]) -> Option<Attribution> {
    let at_once =
        |one: &Span<'_>, other: &Span<'_>| one.window.run != other.window.run && one.overlaps(other);
    let met = own.iter().flat_map(|one| tied.iter().filter(|other| at_once(one, other)));
    let mut names: BTreeSet<&HarnessName> = met.map(|span| &span.window.harness).collect();
    if names.is_empty() {
        return None;
    }
    names.extend(own.iter().map(|span| &span.window.harness));
    Some(exclude(&names, "there is evidence for runs that were under way at the same time".to_owned()))
}

/// A run wrote it that is not credited with it.
fn elsewhere(tied: &[&Span<'_>]) -> Attribution {
    let names: BTreeSet<&HarnessName> = tied.iter().map(|span| &span.window.harness).collect();
    let reason =
        format!("it is evidently of {}, in a store or directory that is none of its run's", list(&names));
    exclude(&names, reason)
}

/// No evidence, and more than one who can have written it.
fn crowd(running: &BTreeSet<&HarnessName>, unrecorded: &BTreeSet<&HarnessName>) -> Attribution {
    let mut reason = match running.len() {
        0 | 1 => format!("{} was running when it began", list(running)),
        _ => format!("{} were running when it began", list(running)),
    };
    if !unrecorded.is_empty() {
        reason = format!("{reason}, and nothing is recorded of {} so far back", list(unrecorded));
    }
    exclude(&running.union(unrecorded).copied().collect(), reason)
}

fn exclude(names: &BTreeSet<&HarnessName>, reason: String) -> Attribution {
    Attribution::Excluded { claimants: names.iter().copied().cloned().collect(), reason }
}

/// Names in a sentence.
fn list(names: &BTreeSet<&HarnessName>) -> String {
    let words: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
