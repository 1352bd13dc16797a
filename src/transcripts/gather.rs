//! What a look brings, as it comes.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::follow::{Look, Subject, Warning};
use super::stream::Quiet;
use crate::base::Wall;
use crate::host::transcript::Unreadable;
use crate::store::CallRow;
use crate::trajectory::{Event, Format, Needs, Session, What};

/// After so many calls and events a look is over, and says that there is more.
const ROOM: usize = 4096;
/// So many different warnings are told by one follower.
const MOST_WARNINGS: usize = 10_000;

/// A look in the making.
#[derive(Debug)]
pub(super) struct Gather<'a> {
    pub(super) look: Look,
    pub(super) now: Wall,
    /// The store that is looked at.
    pub(super) store: Option<String>,
    /// Something of it that may be a run's could not be read.
    pub(super) failed: bool,
    warned: &'a mut BTreeSet<Warning>,
    /// Where the calls of this look stand, by a digest of session and key: of one that is told again only the
    /// last form counts.
    calls: HashMap<u64, usize>,
    digests: RandomState,
    room: usize,
}

/// Whose events they are, and what is to be known for telling them.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) format: Format,
    pub(super) store: &'a str,
    /// Runs whose session it may be.
    pub(super) owners: &'a [&'a Subject],
    /// What was told before.
    pub(super) quiet: Option<Quiet>,
    /// The time of what has none.
    pub(super) written_at: Wall,
}

impl Source<'_> {
    /// How much a reader is to tell.
    pub(super) fn needs(&self) -> Needs {
        let all = self.owners.iter().any(|owner| owner.needs == Needs::Everything);
        if all { Needs::Everything } else { Needs::Usage }
    }
}

impl<'a> Gather<'a> {
    pub(super) fn new(now: Wall, warned: &'a mut BTreeSet<Warning>) -> Self {
        Self {
            look: Look::default(),
            now,
            store: None,
            failed: false,
            warned,
            calls: HashMap::new(),
            digests: RandomState::new(),
            room: ROOM,
        }
    }

    /// Says something odd, once a follower.
    pub(super) fn warn(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let store = self.store.clone();
        let warning = Warning { path: path.into(), message: message.into(), store };
        if self.warned.len() < MOST_WARNINGS && self.warned.insert(warning.clone()) {
            self.look.warnings.push(warning);
        }
    }

    /// Says what cannot be read.
    pub(super) fn unreadable(&mut self, problem: Unreadable) {
        self.warn(problem.path, problem.message);
    }

    /// Whether this look is to end, so that memory stays bounded whatever there is to read.
    pub(super) const fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Takes what a record told. `id` is the session's.
    pub(super) fn take(&mut self, event: Event, id: &str, session: &Session, source: &Source<'_>) {
        let Source { format, store, owners, quiet, written_at } = source;
        if let What::Usage(call) = &event.what {
            self.room = self.room.saturating_sub(1);
            let row = CallRow {
                format: *format,
                key: call.key.clone(),
                store: (*store).to_owned(),
                session: id.to_owned(),
                at: event.at.or(session.started_at).unwrap_or(*written_at),
                model: call.model.clone(),
                tokens: call.tokens,
                cost_usd: call.cost_usd,
            };
            let same = |known: &CallRow| {
                known.key == row.key && known.session == row.session && known.format == row.format
            };
            let calls = &mut self.look.progress.calls;
            // Mostly it is the one that was told last.
            if let Some(last) = calls.last_mut().filter(|last| same(last)) {
                *last = row;
            } else {
                let digest = self.digests.hash_one((row.format.as_str(), &row.session, &row.key));
                let at = *self.calls.entry(digest).or_insert(calls.len());
                match calls.get_mut(at) {
                    Some(known) if same(known) => *known = row,
                    // Where two digests are the same both stand there, and the later one is written later.
                    _ => calls.push(row),
                }
            }
        }
        let told = quiet.is_some_and(|quiet| quiet.has(event.at, event.place.0));
        if told || !owners.iter().any(|owner| owner.needs == Needs::Everything) {
            return;
        }
        // What says no time happened with what was written last.
        let at = event.at.or(session.last_at).or(session.started_at).unwrap_or(*written_at);
        let own = |owner: &&&Subject| owner.needs == Needs::Everything && owner.covers(at, self.now);
        let runs: Vec<_> = owners.iter().filter(own).map(|owner| owner.run).collect();
        let event = without_contents(event);
        for run in runs {
            self.room = self.room.saturating_sub(1);
            self.look.events.push((run, id.to_owned(), event.clone()));
        }
    }
}

/// An event without what was said, thought, given or answered: so many of them stay small, and nothing of
/// a transcript's contents can get into a log or a push (CTL-12).
fn without_contents(mut event: Event) -> Event {
    match &mut event.what {
        What::User { text }
        | What::Assistant { text }
        | What::Reasoning { text }
        | What::ToolResult { text, .. }
        | What::Output { text }
        | What::Error { message: text } => *text = String::new(),
        What::ToolCall { targets, input, .. } => {
            targets.clear();
            *input = Value::Null;
        }
        What::Model { .. }
        | What::Effort { .. }
        | What::Usage(_)
        | What::Context { .. }
        | What::Compaction
        | What::SubAgent { .. }
        | What::Other { .. } => {}
    }
    event
}
