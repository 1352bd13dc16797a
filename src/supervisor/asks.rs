//! Who waits for which answer.
//!
//! Invariant: each ticket is answered exactly once, when every name that it
//! asked about has its answer; a forgotten one never.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::{Effect, Ticket};
use crate::base::{HarnessName, RunId};
use crate::wire::{Acted, ActedView, ErrorBody, ProfileUsed, Run, json};

/// The answer about one harness.
pub(super) type Answer = Result<Row, ErrorBody>;

/// What became of one harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Row {
    /// In a word.
    Acted(Acted),
    /// The run that somebody has waited for.
    Run(Box<Run>),
}

/// One request that is not answered yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ask {
    /// The answers, in the order of the request.
    rows: Vec<(HarnessName, Option<Answer>)>,
    /// The answer is the only row itself: a foreground run.
    bare: bool,
    /// What else the answer says where a profile was asked for.
    #[serde(default)]
    chosen: Option<Chosen>,
}

/// A profile that is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) profile: String,
    pub(super) warnings: Vec<String>,
}

/// All requests that are not answered yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Asks(BTreeMap<Ticket, Ask>);

impl Asks {
    pub(super) fn open(&mut self, ticket: Ticket, names: &[HarnessName], bare: bool) {
        let rows = names.iter().map(|name| (name.clone(), None)).collect();
        self.0.insert(ticket, Ask { rows, bare, chosen: None });
    }

    /// The same for what the use of a profile starts and stops.
    pub(super) fn open_for(&mut self, ticket: Ticket, names: &[HarnessName], chosen: Chosen) {
        let rows = names.iter().map(|name| (name.clone(), None)).collect();
        self.0.insert(ticket, Ask { rows, bare: false, chosen: Some(chosen) });
    }

    /// Notes an answer; replies when it was the last one that was missing.
    pub(super) fn answer(&mut self, ticket: Ticket, name: &HarnessName, answer: Answer) -> Option<Effect> {
        let ask = self.0.get_mut(&ticket)?;
        if let Some((_, row)) = ask.rows.iter_mut().find(|(known, row)| known == name && row.is_none()) {
            *row = Some(answer);
        }
        self.reply(ticket)
    }

    /// The reply, if nothing is missing.
    pub(super) fn reply(&mut self, ticket: Ticket) -> Option<Effect> {
        if self.0.get(&ticket)?.rows.iter().any(|(_, row)| row.is_none()) {
            return None;
        }
        let ask = self.0.remove(&ticket)?;
        let mut harnesses = Vec::new();
        let mut run = None;
        let mut failure: Option<ErrorBody> = None;
        for answer in ask.rows.into_iter().filter_map(|(_, row)| row) {
            match answer {
                Ok(Row::Acted(acted)) => harnesses.push(acted),
                Ok(Row::Run(ended)) => run = Some(ended),
                Err(error) => failure = Some(ErrorBody::and(failure, error)),
            }
        }
        let result = match (failure, run, ask.chosen) {
            (Some(error), ..) => Err(with_successes(error, &harnesses)),
            (None, Some(run), _) => json(&run),
            (None, None, _) if ask.bare => json(&harnesses.pop()),
            (None, None, Some(Chosen { profile, warnings })) => {
                json(&ProfileUsed { profile, harnesses, warnings })
            }
            (None, None, None) => json(&ActedView { harnesses }),
        };
        Some(Effect::Reply { ticket, result })
    }

    /// Drops a request: the names whose answers were missing, and whether it
    /// was a foreground run.
    pub(super) fn forget(&mut self, ticket: Ticket) -> Option<(Vec<HarnessName>, bool)> {
        let ask = self.0.remove(&ticket)?;
        let open = ask.rows.into_iter().filter(|(_, row)| row.is_none()).map(|(name, _)| name);
        Some((open.collect(), ask.bare))
    }
}

/// What became of the others is told with a failure: `…; started: a, b; already running: c`.
fn with_successes(mut error: ErrorBody, harnesses: &[Acted]) -> ErrorBody {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for Acted { name, result, .. } in harnesses {
        let (word, name) = (result.replace('-', " "), name.as_str());
        match said.iter_mut().find(|(known, _)| *known == word) {
            Some((_, names)) => names.push(name),
            None => said.push((word, vec![name])),
        }
    }
    for (word, names) in said {
        error.message = format!("{}; {word}: {}", error.message, names.join(", "));
    }
    error
}

/// One line of an answer.
pub(super) fn line(name: &HarnessName, result: &str, run: Option<RunId>) -> Row {
    Row::Acted(Acted { name: name.clone(), result: result.to_owned(), run })
}
