//! A look at a store that is a database.

use std::collections::HashMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::book::Book;
use super::cursors::Cursors;
use super::follow::Subject;
use super::gather::{Gather, Source};
use super::stream::{Quiet, Reading, Stamps};
use crate::base::Wall;
use crate::correlate::SLACK;
use crate::host::sqlite::beside;
use crate::host::transcript::Unreadable;
use crate::host::transcript::database::SessionDatabase;
use crate::host::transcript::places::{self, FileStamp};
use crate::trajectory::{Database, Decoder, Head, Kinship, Row, Session};

/// What tells whether to look into a database.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The file and its log, when everything that mattered was read.
    read: Option<(FileStamp, Option<FileStamp>)>,
    /// When each session was first seen with its present state. Its clock may stand still for a second, so a
    /// session that says that nothing has changed is read once more after that.
    since: HashMap<String, (i64, Wall)>,
}

/// A look at one database.
pub(super) struct Look<'a, 'g, 'w> {
    pub(super) book: &'a mut Book,
    pub(super) layout: &'a Database,
    pub(super) subjects: &'a [&'a Subject],
    pub(super) cursors: &'a dyn Cursors,
    pub(super) gather: &'g mut Gather<'w>,
}

impl Look<'_, '_, '_> {
    /// Looks, and reads on. False: there is more to read.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub(super) fn look(mut self) -> Result<bool, Unreadable> {
        let path = Utf8PathBuf::from(&self.book.place.path);
        let Some(stamp) = places::stamp(&path)? else { return Ok(true) };
        let stamps = (stamp, places::stamp(&beside(&path, "-wal"))?);
        let mut first = false;
        for subject in self.subjects {
            first |= self.book.runs.insert(subject.run) || subject.to.is_some();
        }
        if !first && self.book.tables.read == Some(stamps) {
            return Ok(true);
        }
        self.book.tables.read = None;
        let Some(database) = SessionDatabase::open(&path, self.layout)? else { return Ok(true) };
        let sessions = self.sessions(&database)?;
        let mut quiet = true;
        for (head, row) in sessions {
            if self.gather.is_full() {
                return Ok(false);
            }
            quiet &= self.follow(&path, stamp, &database, &head, &row);
        }
        if quiet {
            self.book.tables.read = Some(stamps);
        }
        Ok(true)
    }

    /// The sessions that may be of one of the runs, older ones first.
    fn sessions(&mut self, database: &SessionDatabase) -> Result<Vec<(Head, Row)>, Unreadable> {
        let mut found = Vec::new();
        let (layout, book) = (self.layout, &mut *self.book);
        let workdirs: Vec<&str> =
            self.subjects.iter().filter_map(|subject| subject.trail.workdir.as_deref()).collect();
        database.sessions(&mut |row| {
            let Some(head) = (layout.head)(row) else { return };
            if book.streams.get(&head.id).is_none_or(|stream| stream.reading.is_none()) {
                book.learn(&head.id, &said(&head));
            }
            // Whose a sub-agent is can be told once all of them are known.
            let sub_agent = head.parent.as_ref().is_some_and(|parent| parent.kinship == Kinship::SubAgent);
            if sub_agent || book.cwd(&head.id).is_some_and(|cwd| workdirs.contains(&cwd)) {
                found.push((head, row.clone()));
            }
        })?;
        found.sort_by_key(|(head, _)| head.started_at);
        Ok(found)
    }

    /// Reads a session on, if it is of one of the runs and may have changed. False: it is to be read once more.
    fn follow(
        &mut self,
        path: &Utf8Path,
        stamp: FileStamp,
        database: &SessionDatabase,
        head: &Head,
        row: &Row,
    ) -> bool {
        let mut owners = self.book.owners(&head.id, self.subjects);
        owners.retain(|owner| match (owner.to, head.started_at) {
            (Some(to), Some(began)) => began <= to + SLACK,
            _ => true,
        });
        if owners.is_empty() {
            return true;
        }
        let now = self.gather.now;
        let since = self.book.tables.since.entry(head.id.clone()).or_insert((head.changed, now));
        if since.0 != head.changed {
            *since = (head.changed, now);
        }
        let ripe = now >= since.1 + SLACK;
        let stream = self.book.streams.get(&head.id);
        let seen = stream.and_then(|stream| stream.seen.clone()).unwrap_or_default();
        let reading = stream.and_then(|stream| stream.reading.as_ref());
        let same_file = reading.is_some_and(|reading| reading.file == stamp.file);
        let finished = reading.is_some_and(|reading| reading.finished);
        let last_at = stream.and_then(|stream| stream.brief.as_ref()).and_then(|brief| brief.session.last_at);
        // What was over before a run began has nothing for it.
        let news = seen.changed != Some(head.changed);
        let recent = |owner: &&Subject| news || last_at.is_none_or(|at| at >= owner.from - SLACK);
        let finish = owners.iter().any(|owner| owner.to.is_some() && recent(owner));
        // `changed` in the stamp stands only where a reading was late enough to have everything.
        if same_file && !news && (finished || !finish) {
            return true;
        }
        let before = reading.map(|reading| reading.offset);
        let decoder = if same_file { self.book.decoder(&head.id, self.cursors, self.gather) } else { None };
        let anew = || Box::new(Decoder::new(self.book.format, &head.id));
        let (mut decoder, from, quiet) = match (decoder, before) {
            (Some(decoder), Some(offset)) => (decoder, offset, None),
            (_, Some(offset)) => (anew(), 0, Some(Quiet { offset, last_at })),
            (_, None) => (anew(), 0, None),
        };
        let state = serde_json::to_string(&decoder).unwrap_or_default();
        let place = self.book.place.path.clone();
        let format = self.book.format;
        let source = Source { format, store: &place, owners: &owners, quiet, written_at: stamp.written_at() };
        let needs = source.needs();
        let (mut told, mut number) = (Vec::new(), from);
        decoder.head(row, needs, &mut |event| told.push(event));
        let after = decoder.watermark();
        let gather = &mut *self.gather;
        let mut take = |told: &mut Vec<_>, session: &Session| {
            for event in told.drain(..) {
                let id = if session.id.is_empty() { &head.id } else { &session.id };
                gather.take(event, id, session, &source);
            }
        };
        take(&mut told, decoder.session());
        let read = database.records(&head.id, &after, &mut |row| {
            decoder.row(row, number, needs, &mut |event| told.push(event));
            number += 1;
            take(&mut told, decoder.session());
        });
        let finished = read.is_ok() && finish;
        if finished {
            decoder.finish(needs, &mut |event| told.push(event));
            take(&mut told, decoder.session());
        }
        // What was read holds, also where the rest could not be.
        let changed = (read.is_ok() && ripe).then_some(head.changed);
        let quiet = quiet.filter(|_| read.is_err());
        let stamps = Stamps { changed, quiet, ..Stamps::default() };
        if let Err(problem) = &read {
            self.gather.warn(path.as_str(), problem.message.clone());
        }
        let reading = Reading { file: stamp.file, offset: number, decoder: None, finished, idle: 0 };
        let grown = serde_json::to_string(&decoder).unwrap_or_default() != state;
        if before.is_none() || grown || changed != seen.changed {
            // It has no more rows than were found, if all were.
            let size = if read.is_ok() { number } else { number.max(before.unwrap_or_default()) };
            self.book.advance(&head.id, reading, decoder, (stamps, size), self.gather);
        } else if let Some(stream) = self.book.streams.get_mut(&head.id) {
            // The rows at the watermark alone have come again.
            stream.seen = Some(stamps);
            stream.reading = Some(Reading { decoder: Some(decoder), offset: from, ..reading });
        }
        changed.is_some()
    }
}

/// What a database says of a session before its records are read.
fn said(head: &Head) -> Session {
    Session {
        id: head.id.clone(),
        parent: head.parent.clone(),
        cwd: head.cwd.clone(),
        started_at: head.started_at,
        ..Session::default()
    }
}
