//! From an agent's output to what it states about its own end (RUN-0).
//!
//! Invariant: only a terminal record states anything; the memory that is held is bounded by one line.

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::format::{Format, Reader};
use super::lines::{Line, Lines};
use super::statement::Statement;
use super::told::Told;
use crate::base::{ExitStatus, Outcome, Report, Wall};

/// Reads the output of one run as it comes. It can be written down and read back (CTL-11): what is added
/// to any state in here needs a `#[serde(default)]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decoder {
    format: Format,
    lines: Lines,
    reader: Reader,
    stated: Option<Statement>,
    /// The last error that it told and did not go on after.
    trouble: Option<String>,
    /// The id of its session.
    #[serde(default)]
    session: Option<String>,
}

impl Decoder {
    /// Reads this format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let (lines, reader) = (Lines::default(), Reader::new(format));
        Self { format, lines, reader, stated: None, trouble: None, session: None }
    }

    /// Takes the next bytes, however they are cut.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { lines, reader, stated, trouble, session, .. } = self;
        lines.feed(bytes, |line| take(line, reader, stated, trouble, session));
    }

    /// Takes the last line, which may lack its line break: nothing follows.
    pub fn finish(&mut self) {
        let Self { lines, reader, stated, trouble, session, .. } = self;
        lines.finish(|line| take(line, reader, stated, trouble, session));
    }

    /// What the last terminal record states, while nothing came after it that goes on.
    #[must_use]
    pub const fn stated(&self) -> Option<&Statement> {
        self.stated.as_ref()
    }

    /// The id that the agent gave the session that it is in now.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// What is stated so far, as it is understood at `now`.
    #[must_use]
    pub fn so_far(&self, now: Wall, zone: Tz) -> Option<Report> {
        self.stated.as_ref().map(|stated| stated.report(now, zone))
    }

    /// What the output and the end of the main process come to; none: the end alone decides.
    #[must_use]
    pub fn report(&self, status: Option<ExitStatus>, now: Wall, zone: Tz) -> Option<Report> {
        let failed =
            |cause: String| Some(Report { outcome: Outcome::Failed, cause: Some(cause), until: None });
        let by_itself = match status {
            Some(ExitStatus::Code(code)) if !by_signal(code) => Some(code),
            _ => None,
        };
        let stated = self.stated.as_ref().or_else(|| self.reader.held(by_itself));
        match (stated, status) {
            (Some(stated), Some(ExitStatus::Code(code)))
                if stated.outcome() == Outcome::Ok && code != 0 && !by_signal(code) =>
            {
                failed(format!("exit status {code} after it stated success"))
            }
            (Some(stated), _) => Some(stated.report(now, zone)),
            (None, Some(ExitStatus::Code(0))) if !self.format.states_results() => None,
            (None, Some(ExitStatus::Code(0))) => failed("ended without stating a result".to_owned()),
            (None, Some(ExitStatus::Code(code))) => self.by_itself(code, now, zone),
            (None, Some(ExitStatus::Signal(_)) | None) => None,
        }
    }

    /// It ended by itself and stated nothing: a known exit status, or the error that it told last.
    fn by_itself(&self, code: i32, now: Wall, zone: Tz) -> Option<Report> {
        if let Some((outcome, meaning)) = self.format.exit(code) {
            let cause = Some(format!("exit status {code}: {meaning}"));
            return Some(Report { outcome, cause, until: None });
        }
        let words = self.trouble.as_deref().filter(|_| !by_signal(code))?;
        Some(self.format.error(words).report(now, zone))
    }
}

/// A program that catches a signal to tidy up exits with 128 and its number.
const fn by_signal(code: i32) -> bool {
    code > 128 && code <= 128 + 31
}

fn take(
    line: Line<'_>,
    reader: &mut Reader,
    stated: &mut Option<Statement>,
    trouble: &mut Option<String>,
    session: &mut Option<String>,
) {
    let Line::Whole(line) = line else { return };
    reader.read(line, &mut |told| match told {
        Told::End(statement) => *stated = Some(statement),
        Told::Trouble(words) | Told::Perhaps(words) => *trouble = Some(words),
        Told::Resumed | Told::Text(_) | Told::Piece(_) | Told::Tool(..) => {
            *stated = None;
            *trouble = None;
        }
        Told::Session(id) => *session = Some(id),
        Told::Answer(_) => {}
    });
}
