//! Reading one whole session, to show it.

use std::collections::VecDeque;

use camino::Utf8Path;

use super::stream::join;
use crate::base::Wall;
use crate::host::transcript::Unreadable;
use crate::host::transcript::database::SessionDatabase;
use crate::host::transcript::lines::{Line, Lines, document};
use crate::host::transcript::places::document_of;
use crate::trajectory::{Database, Decoder, Event, Files, Format, Layout, Needs, Session, Watermark};

/// Where a session lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlace {
    /// Its format.
    pub format: Format,
    /// Its native id.
    pub id: String,
    /// The store.
    pub store: String,
    /// Its streams, relative to the store.
    pub streams: Vec<String>,
}

/// Why a session cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ReadError {
    /// The file or database.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl ReadError {
    fn missing(path: impl Into<String>, what: &str) -> Self {
        Self { path: path.into(), message: format!("{what} does not exist any more") }
    }
}

impl From<Unreadable> for ReadError {
    fn from(problem: Unreadable) -> Self {
        Self { path: problem.path.into(), message: problem.message }
    }
}

/// Reads a session from its beginning and tells its events in order, in constant memory. Where it lies in
/// several streams their events come by time, and those of one stream in its own order.
///
/// # Errors
/// If a stream of it cannot be read; nothing is told if one cannot even be opened.
pub fn read_session(
    place: &SessionPlace,
    needs: Needs,
    emit: &mut dyn FnMut(Event),
) -> Result<Session, ReadError> {
    match place.format.layout() {
        Layout::Files(layout) => from_files(place, &layout, needs, emit),
        Layout::Database(layout) => from_rows(place, &layout, needs, emit),
    }
}

fn from_files(
    place: &SessionPlace,
    layout: &Files,
    needs: Needs,
    emit: &mut dyn FnMut(Event),
) -> Result<Session, ReadError> {
    let opened = place.streams.iter().map(|path| Stream::open(place, path, layout, needs));
    let mut streams = opened.collect::<Result<Vec<_>, _>>()?;
    loop {
        let mut next: Option<(Option<Wall>, &mut Stream)> = None;
        for stream in &mut streams {
            let Some(at) = stream.next_at(needs)? else { continue };
            if next.as_ref().is_none_or(|(first, _)| at < *first) {
                next = Some((at, stream));
            }
        }
        let Some((at, stream)) = next else { break };
        stream.at = at;
        if let Some(event) = stream.told.pop_front() {
            emit(event);
        }
    }
    let mut whole = Session { id: place.id.clone(), ..Session::default() };
    for session in streams.iter().map(|stream| stream.decoder.session()) {
        join(&mut whole, session, session.cwd.as_deref());
    }
    Ok(whole)
}

/// One stream of a session that is being read.
struct Stream {
    lines: Lines,
    decoder: Decoder,
    /// What its last record told and was not taken yet.
    told: VecDeque<Event>,
    /// The latest time in it so far: what states none, or an earlier one, comes then.
    at: Option<Wall>,
    ended: bool,
}

impl Stream {
    fn open(place: &SessionPlace, path: &str, layout: &Files, needs: Needs) -> Result<Self, ReadError> {
        let store = Utf8Path::new(&place.store);
        let full = store.join(path);
        let Some(lines) = Lines::open(&full)? else { return Err(ReadError::missing(full, "the file")) };
        let mut decoder = Decoder::new(place.format, path);
        let mut told = VecDeque::new();
        for name in layout.documents {
            let Some(relative) = document_of(path, name) else { continue };
            if let Some(text) = document(&store.join(relative))? {
                decoder.document(name, &text, needs, &mut |event| told.push_back(event));
            }
        }
        Ok(Self { lines, decoder, told, at: None, ended: false })
    }

    /// When its next event happened; none: there is none.
    fn next_at(&mut self, needs: Needs) -> Result<Option<Option<Wall>>, Unreadable> {
        let Self { lines, decoder, told, .. } = self;
        while told.is_empty() && !self.ended {
            match lines.next_line()? {
                Some((at, Line::Whole(line))) => {
                    decoder.line(line, at, needs, &mut |event| told.push_back(event));
                }
                Some((_, Line::TooLong)) => decoder.skipped(),
                None => {
                    decoder.finish(needs, &mut |event| told.push_back(event));
                    self.ended = true;
                }
            }
        }
        Ok(self.told.front().map(|event| self.at.max(event.at)))
    }
}

fn from_rows(
    place: &SessionPlace,
    layout: &Database,
    needs: Needs,
    emit: &mut dyn FnMut(Event),
) -> Result<Session, ReadError> {
    let Some(database) = SessionDatabase::open(Utf8Path::new(&place.store), layout)? else {
        return Err(ReadError::missing(&place.store, "the database"));
    };
    let mut decoder = Decoder::new(place.format, &place.id);
    let mut found = None;
    database.sessions(&mut |row| {
        if found.is_none() && (layout.head)(row).is_some_and(|head| head.id == place.id) {
            found = Some(row.clone());
        }
    })?;
    let Some(row) = found else {
        return Err(ReadError::missing(&place.store, &format!("its session `{}`", place.id)));
    };
    decoder.head(&row, needs, emit);
    let mut number = 0;
    database.records(&place.id, &Watermark::default(), &mut |row| {
        decoder.row(row, number, needs, emit);
        number += 1;
    })?;
    decoder.finish(needs, emit);
    Ok(decoder.session().clone())
}
