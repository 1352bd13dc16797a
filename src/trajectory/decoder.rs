//! One stream or one session of a database, read from its beginning or from where a reading stopped.
//!
//! Invariant: reading on from a state that was written down after any whole line or row gives what one
//! reading of all would have given.

use serde::{Deserialize, Serialize};

use super::format::{Format, Reader};
use super::layout::{Row, Watermark};
use super::model::{Event, Needs, Oddities, Session};
use super::record::short;
use super::told::Told;

/// Reads the records of one stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decoder {
    format: Format,
    #[serde(default)]
    session: Session,
    #[serde(default)]
    oddities: Oddities,
    reader: Reader,
}

impl Decoder {
    /// Begins with a stream (its path relative to the store), or with a session of a database (its native id).
    #[must_use]
    pub fn new(format: Format, path: &str) -> Self {
        let mut decoder = Self {
            format,
            session: Session::default(),
            oddities: Oddities::default(),
            reader: Reader::new(format),
        };
        decoder.with(0, Needs::Usage, &mut |_| (), |reader, told| reader.begin(path, told));
        decoder
    }

    /// Takes a whole line without its line break, which begins at this byte of the stream.
    pub fn line(&mut self, line: &[u8], offset: u64, needs: Needs, emit: &mut dyn FnMut(Event)) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.trim_ascii().is_empty() {
            self.with(offset, needs, emit, |reader, told| reader.line(line, told));
        }
    }

    /// A line was too long to be read.
    pub fn skipped(&mut self) {
        self.oddities.too_long += 1;
    }

    /// Takes a whole document of [`super::Files::documents`], by its name there.
    pub fn document(&mut self, name: &str, text: &[u8], needs: Needs, emit: &mut dyn FnMut(Event)) {
        self.with(0, needs, emit, |reader, told| reader.document(name, text, told));
    }

    /// Takes the row that a database has of the session itself.
    pub fn head(&mut self, row: &Row, needs: Needs, emit: &mut dyn FnMut(Event)) {
        self.with(0, needs, emit, |reader, told| reader.head(row, told));
    }

    /// Takes one row of its records; `number` counts them from 0.
    pub fn row(&mut self, row: &Row, number: u64, needs: Needs, emit: &mut dyn FnMut(Event)) {
        self.with(number, needs, emit, |reader, told| reader.row(row, told));
    }

    /// Nothing follows for now: tells what is held back.
    pub fn finish(&mut self, needs: Needs, emit: &mut dyn FnMut(Event)) {
        self.with(u64::MAX, needs, emit, |reader, told| reader.finish(told));
    }

    /// Which rows are to be given next.
    #[must_use]
    pub fn watermark(&mut self) -> Watermark {
        self.reader.get().watermark()
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// What is known of the session so far.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What made no sense so far.
    #[must_use]
    pub const fn oddities(&self) -> &Oddities {
        &self.oddities
    }

    fn with(
        &mut self,
        place: u64,
        needs: Needs,
        emit: &mut dyn FnMut(Event),
        work: impl FnOnce(&mut dyn super::told::Read, &mut Told<'_>),
    ) {
        let Self { session, oddities, reader, .. } = self;
        let mut told = Told { session, needs, oddities, place, rank: 0, emit };
        work(reader.get(), &mut told);
        // What is that long is no id, and would be written down at each commit.
        if short(&session.id).is_none() {
            session.id.clear();
        }
        session.parent.take_if(|parent| short(&parent.id).is_none());
    }
}
