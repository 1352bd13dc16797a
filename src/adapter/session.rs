//! How an agent is told in which session to work (TRJ-8, COR-8).
//!
//! Invariant: a resident agent that goes on with a session is never given its prompt once more.

use super::error::SynthesisError;
use super::model::{Adapter, Launch};
use super::synthesis::Invocation;
use super::template::{expand, holes};

/// In which session an agent is to work; ids are the agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session<'a> {
    /// A new one, of this id where an agent that is given a prompt can be told one.
    Fresh(&'a str),
    /// This one goes on.
    Resume(&'a str),
    /// A copy of this one.
    Fork {
        /// What is copied.
        of: &'a str,
        /// The id of the copy, where the agent can be told one.
        fresh: &'a str,
    },
}

/// How an agent is told its session.
#[derive(Debug, Default)]
pub(super) struct ToldSession {
    pub(super) words: Vec<String>,
    /// What stands for those words where a command is shown: ids of sessions are withheld unless its harness
    /// lets them be listed (TRJ-6), and a new one is another one each time (RUN-6).
    pub(super) shown: Vec<String>,
    /// The id of the session that it will work in, where it is told one.
    pub(super) id: Option<String>,
}

/// What stands for the id of a session.
const SHOWN_SESSION: &str = "<session>";

impl ToldSession {
    /// A word as it may be shown.
    pub(super) fn masked(&self, word: String) -> String {
        match self.words.iter().position(|told| *told == word) {
            Some(at) => self.shown[at].clone(),
            None => word,
        }
    }
}

impl Invocation<'_> {
    /// Whether it is a resident agent that goes on with what it was doing.
    pub(super) const fn goes_on(&self) -> bool {
        self.resident && matches!(self.session, Some(Session::Resume(_) | Session::Fork { .. }))
    }
}

/// A template without its prompt, and without the flag that stands before that.
pub(super) fn without_prompt(template: &[String]) -> Vec<String> {
    let mut words = template.to_vec();
    let Some(at) = words.iter().position(|word| holes(word).contains(&"prompt")) else { return words };
    let alone = words[at] == "{prompt}";
    words.remove(at);
    if alone && at > 0 && words[at - 1].starts_with('-') {
        words.remove(at - 1);
    }
    words
}

impl Adapter {
    /// Whether this agent can go on with a session, as a one-shot or in its terminal mode.
    #[must_use]
    pub fn resumes(&self, resident: bool) -> bool {
        self.mode(resident).is_some_and(|launch| !launch.resume.is_empty())
    }

    /// Whether it can work in a copy of a session.
    #[must_use]
    pub fn forks(&self, resident: bool) -> bool {
        self.mode(resident).is_some_and(|launch| !launch.fork.is_empty())
    }

    const fn mode(&self, resident: bool) -> Option<&Launch> {
        if resident { self.resident.as_ref() } else { self.oneshot.as_ref() }
    }

    /// How the agent is told its session.
    pub(super) fn session_words(&self, wanted: &Invocation<'_>) -> Result<ToldSession, SynthesisError> {
        let Some(session) = wanted.session else { return Ok(ToldSession::default()) };
        let launch = self.mode(wanted.resident);
        let unable = |verb| SynthesisError::NoSession { adapter: self.id.clone(), verb };
        let template = |pick: fn(&Launch) -> &Vec<String>| {
            launch.map(pick).filter(|words| !words.is_empty()).map(Vec::as_slice)
        };
        let (words, of, fresh, id) = match session {
            // Without a prompt its arguments are the user's own, and may name a session.
            Session::Fresh(_) if wanted.prompt.is_none() => return Ok(ToldSession::default()),
            Session::Fresh(id) => match template(|launch| &launch.session_id) {
                Some(words) => (words, id, id, Some(id)),
                None => return Ok(ToldSession::default()),
            },
            Session::Resume(id) => {
                let words = template(|launch| &launch.resume).ok_or_else(|| unable("go on with"))?;
                (words, id, id, Some(id))
            }
            Session::Fork { of, fresh } => {
                let words = template(|launch| &launch.fork).ok_or_else(|| unable("fork"))?;
                let told = words.iter().any(|word| holes(word).contains(&"fresh"));
                (words, of, fresh, told.then_some(fresh))
            }
        };
        let value = |hole: &str| match hole {
            "session" => Some(of),
            "fresh" => Some(fresh),
            _ => None,
        };
        let hidden = |hole: &str| value(hole).map(|_| SHOWN_SESSION);
        let shown = words.iter().map(|word| expand(word, hidden)).collect();
        let words = words.iter().map(|word| expand(word, value)).collect();
        Ok(ToldSession { words, shown, id: id.map(str::to_owned) })
    }
}
