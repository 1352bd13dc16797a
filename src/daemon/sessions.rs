//! In which session a run works: what a client asks for, and what `resume = true` means (TRJ-8).
//!
//! Invariant: a session is gone on with only if it is the harness's own by the rules of attribution, whatever
//! else lies in the directory.

use camino::Utf8Path;

use super::state::Daemon;
use crate::base::{HarnessName, RunId, RunIds};
use crate::config::Harness;
use crate::host::{clock, entropy};
use crate::launch::{Chosen, LaunchError, Prepared, Surroundings, draft, plan, prepare};
use crate::store::StoreError;
use crate::supervisor::{Event, Ticket, Wish};
use crate::transcripts::{Own, OwnSession, own_sessions};
use crate::wire::{ErrorBody, ErrorCode, PlannedStart, Which};

/// A start in a session that is still to be found.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) ticket: Ticket,
    pub(super) harness: HarnessName,
    pub(super) wait: bool,
    pub(super) which: Which,
    /// In a copy of it.
    pub(super) fork: bool,
}

/// Prepares a start in the session that it is to work in.
pub(super) fn prepare_in(
    wish: Option<&Wish>,
    harness: &Harness,
    run: RunId,
    around: &Surroundings,
) -> Result<Prepared, LaunchError> {
    let (session, odd) = chosen(wish, harness, run, around);
    let mut prepared = prepare(harness, run, around, session)?;
    prepared.warnings.extend(odd);
    Ok(prepared)
}

/// What the next start that nobody asks for by hand would do (RUN-6).
pub(super) fn plan_next(harness: &Harness, around: &Surroundings) -> PlannedStart {
    let run = RunIds::new(entropy::seed()).next(clock::now().wall);
    let wish = harness.resume.then_some(Wish::GoOn);
    let (session, odd) = chosen(wish.as_ref(), harness, run, around);
    plan(draft(harness, run, around, session), odd)
}

fn chosen(
    wish: Option<&Wish>,
    harness: &Harness,
    run: RunId,
    around: &Surroundings,
) -> (Chosen, Option<String>) {
    match wish {
        None => (Chosen::Fresh, None),
        Some(Wish::Resume(id)) => (Chosen::Resume(id.clone()), None),
        Some(Wish::Fork(id)) => (Chosen::Fork(id.clone()), None),
        Some(Wish::GoOn) => last(harness, run, around),
    }
}

/// The harness's own last session, or why a new one is begun. A first start is no exception worth a word.
fn last(harness: &Harness, run: RunId, around: &Surroundings) -> (Chosen, Option<String>) {
    let afresh = |why: String| (Chosen::Fresh, Some(format!("{why}: a new session is begun")));
    match own(&harness.name, around) {
        Err(cause) => afresh(format!("its last session cannot be told ({cause})")),
        Ok(Own { sessions, runs }) => match sessions.into_iter().next() {
            Some(OwnSession { opaque, unfit: Some(why), .. }) => {
                afresh(format!("session `{opaque}`, its last one, cannot go on ({why})"))
            }
            Some(session) => (Chosen::Resume(session.id), None),
            None if runs.iter().all(|earlier| *earlier == run) => (Chosen::Fresh, None),
            None => afresh("no session of an earlier run is known to be its own".to_owned()),
        },
    }
}

fn own(harness: &HarnessName, around: &Surroundings) -> Result<Own, StoreError> {
    own_sessions(&around.state, harness, &around.home, clock::now().wall)
}

/// Finds the session that a client asks for; for a worker.
pub(super) fn find(sought: &Sought, state: &Utf8Path, home: &Utf8Path) -> Result<Wish, ErrorBody> {
    let Sought { harness, which, fork, .. } = sought;
    let own = own_sessions(state, harness, home, clock::now().wall).map_err(|cause| cause.body())?;
    let unknown = |message: String| ErrorBody::new(ErrorCode::UnknownSession, message);
    let found = match which {
        Which::Last => own.sessions.into_iter().next().ok_or_else(|| {
            unknown(format!("no session of `{harness}` is known"))
                .help("start it without `--resume` or `--fork`, which begins one")
        })?,
        Which::Session(id) => {
            let newest = own.sessions.first().map(|session| session.opaque.clone());
            let fits = own.sessions.into_iter().filter(|session| session.is(id));
            let mut fits = fits.collect::<Vec<_>>();
            let named = id.escape_debug();
            match (fits.pop(), fits.is_empty()) {
                (Some(session), true) => session,
                (Some(_), false) => {
                    return Err(unknown(format!("`{named}` may be several sessions of `{harness}`"))
                        .help("name more of its id"));
                }
                (None, _) => {
                    let help = match newest {
                        Some(newest) => format!("its last one is `{newest}`"),
                        None => "none of its sessions is known: start it without one".to_owned(),
                    };
                    return Err(unknown(format!("`{harness}` has no session `{named}`")).help(help));
                }
            }
        }
    };
    if let Some(why) = found.unfit {
        let message = format!("session `{}` of `{harness}` cannot go on: {why}", found.opaque);
        return Err(unknown(message).help("start it without it"));
    }
    Ok(if *fork { Wish::Fork(found.id) } else { Wish::Resume(found.id) })
}

impl Daemon {
    /// Starts a harness in the session that was found, if anybody still wants that.
    pub(super) fn found(&mut self, sought: Sought, found: Result<Wish, ErrorBody>) {
        let Sought { ticket, harness, wait, .. } = sought;
        match found {
            Err(error) => self.reply(ticket, Err(error)),
            Ok(session) if self.tickets.contains_key(&ticket.0) => {
                self.feed(Event::Start { ticket, names: vec![harness], wait, session: Some(session) });
            }
            Ok(_) => {}
        }
    }
}
