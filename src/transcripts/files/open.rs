//! Opening one stream: to find out whose it is, and to read it on.

use super::{Gather, Look, Subject};
use crate::host::transcript::Unreadable;
use crate::host::transcript::lines::{Line, Lines, document};
use crate::host::transcript::places::document_of;
use crate::trajectory::{Decoder, Event, Needs};
use crate::transcripts::book::Book;
use crate::transcripts::gather::Source;
use crate::transcripts::stream::{Quiet, Reading, Stamps};

/// So much of a stream's beginning is read in one look to find out whose it is.
const HEAD: u64 = 1 << 20;

impl Look<'_, '_, '_> {
    /// Finds out whose session a stream is of, if that is not known.
    pub(super) fn judge(&mut self, path: &str, stamps: &Stamps) -> Result<(), Unreadable> {
        let stream = self.book.streams.entry(path.to_owned()).or_default();
        if stream.reading.is_some() {
            return Ok(());
        }
        let file = |stamps: &Stamps| stamps.stream.map(|stamp| stamp.file);
        let size = |stamps: &Stamps| stamps.stream.map(|stamp| stamp.size);
        if stream.seen.as_ref().is_some_and(|seen| file(seen) != file(stamps) || size(seen) > size(stamps)) {
            (stream.brief, stream.search) = (None, None);
        }
        if stream.brief.is_some() || stream.seen.as_ref().is_some_and(|seen| seen.same_files(stamps)) {
            return Ok(());
        }
        let search = stream.search.take();
        let full = self.store().join(path);
        let Some(mut lines) = Lines::open(&full)? else {
            self.gather.warn(full, "it vanished before it was read");
            return Ok(());
        };
        let (mut decoder, from) = match search {
            Some(search) => *search,
            None => (Decoder::new(self.book.format, path), 0),
        };
        self.documents(path, stamps, None, &mut decoder, Needs::Usage, &mut |_| ());
        lines.seek(from);
        let mut ended = false;
        let plain = |book: &Book, decoder: &Decoder| {
            book.is_plain(decoder.session()) && decoder.session().started_at.is_some()
        };
        while !plain(self.book, &decoder) && lines.offset() - from < HEAD {
            match lines.next_line()? {
                Some((at, Line::Whole(line))) => decoder.line(line, at, Needs::Usage, &mut |_| ()),
                Some((_, Line::TooLong)) => decoder.skipped(),
                None => {
                    ended = true;
                    break;
                }
            }
        }
        // A beginning that says no time is enough once there is nothing else.
        if self.book.is_plain(decoder.session()) {
            self.book.learn(path, decoder.session());
        } else if let Some(stream) = self.book.streams.get_mut(path) {
            stream.search = Some(Box::new((decoder, lines.offset())));
            stream.seen = ended.then(|| stamps.clone());
        }
        Ok(())
    }

    /// Gives a decoder those documents that are not as they were.
    fn documents(
        &mut self,
        path: &str,
        stamps: &Stamps,
        before: Option<&Stamps>,
        decoder: &mut Decoder,
        needs: Needs,
        each: &mut dyn FnMut(Event),
    ) -> bool {
        let mut changed = false;
        for (place, name) in self.layout.documents.iter().enumerate() {
            let now = stamps.documents.get(place).copied().flatten();
            let then = before.and_then(|before| before.documents.get(place).copied().flatten());
            let Some(relative) = document_of(path, name).filter(|_| now.is_some() && now != then) else {
                continue;
            };
            let full = self.store().join(relative);
            match document(&full) {
                // Whoever writes it anew may have just emptied it.
                Ok(text) => {
                    let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
                    changed = true;
                    let malformed = decoder.oddities().malformed;
                    decoder.document(name, &text, needs, each);
                    if decoder.oddities().malformed > malformed {
                        self.gather.warn(full, "it is malformed");
                    }
                }
                Err(problem) => self.gather.unreadable(problem),
            }
        }
        changed
    }

    /// Reads a stream on. False: there is more of it.
    pub(super) fn read_on(
        &mut self,
        path: &str,
        stamps: &Stamps,
        owners: &[&Subject],
        finish: bool,
    ) -> Result<bool, Unreadable> {
        let full = self.store().join(path);
        let Some(mut lines) = Lines::open(&full)? else {
            self.gather.warn(full, "it vanished before it was read");
            return Ok(true);
        };
        let (file, size) = (lines.stamp().file, lines.stamp().size);
        let stream = self.book.streams.get(path);
        let seen = stream.and_then(|stream| stream.seen.clone()).unwrap_or_default();
        let before =
            stream.and_then(|stream| stream.reading.as_ref()).map(|reading| (reading.file, reading.offset));
        let last_at = stream.and_then(|stream| stream.brief.as_ref()).and_then(|brief| brief.session.last_at);
        let goes_on = before.filter(|(known, offset)| {
            *known == file && *offset <= size && lines.tail(*offset).is_some_and(|tail| tail == seen.tail)
        });
        let decoder = match goes_on {
            Some(_) => self.book.decoder(path, self.cursors, self.gather),
            None => None,
        };
        let (mut decoder, from, known, quiet) = match (decoder, before) {
            (Some(decoder), Some((_, offset))) => (decoder, offset, Some(&seen), seen.quiet),
            // Written anew, or its state is lost: what was told is not told again.
            (_, Some((_, offset))) => {
                let quiet = Quiet { offset, last_at }.and(seen.quiet);
                (Box::new(Decoder::new(self.book.format, path)), 0, None, Some(quiet))
            }
            (_, None) => (Box::new(Decoder::new(self.book.format, path)), 0, None, None),
        };
        let place = self.book.place.path.clone();
        let format = self.book.format;
        let source = Source { format, store: &place, owners, quiet, written_at: self.written_at(stamps) };
        let needs = source.needs();
        let id = self.id(path);
        let mut told = Vec::new();
        let mut changed =
            self.documents(path, stamps, known, &mut decoder, needs, &mut |event| told.push(event));
        let malformed = decoder.oddities().malformed;
        let take = |told: &mut Vec<_>, decoder: &Decoder, gather: &mut Gather<'_>| {
            for event in told.drain(..) {
                let session = decoder.session();
                gather.take(event, if session.id.is_empty() { &id } else { &session.id }, session, &source);
            }
        };
        take(&mut told, &decoder, self.gather);
        lines.seek(from);
        let (mut ended, mut failed) = (false, None);
        while !self.gather.is_full() {
            match lines.next_line() {
                Ok(Some((at, Line::Whole(line)))) => {
                    decoder.line(line, at, needs, &mut |event| told.push(event))
                }
                Ok(Some((at, Line::TooLong))) => {
                    decoder.skipped();
                    self.gather
                        .warn(full.clone(), format!("the line at byte {at} is too long and was passed over"));
                }
                Ok(None) => {
                    ended = true;
                    break;
                }
                Err(problem) => {
                    failed = Some(problem);
                    break;
                }
            }
            if !told.is_empty() {
                take(&mut told, &decoder, self.gather);
            }
        }
        let offset = lines.offset();
        if !self.book.is_plain(decoder.session()) {
            // It is being written anew, and does not say yet whose it is: the account stays as it is.
            if let Some(stream) = self.book.streams.get_mut(path) {
                stream.seen = Some(Stamps { tail: seen.tail, quiet: seen.quiet, ..stamps.clone() });
            }
            return Ok(true);
        }
        changed |= before.is_none() || offset != from || known.is_none();
        if decoder.oddities().malformed > malformed {
            self.gather.warn(full, "some of its lines are malformed and were passed over");
        }
        if ended && finish {
            decoder.finish(needs, &mut |event| told.push(event));
            take(&mut told, &decoder, self.gather);
        }
        // What was opened may be newer than what was found; what was read holds all of it.
        let stamps = Stamps {
            stream: ended.then(|| lines.stamp()),
            tail: lines.tail(offset).unwrap_or_default(),
            quiet: quiet.filter(|quiet| !ended || offset < quiet.offset),
            ..stamps.clone()
        };
        let reading = Reading { file, offset, decoder: None, finished: ended && finish, idle: 0 };
        if changed || finish || seen.quiet != stamps.quiet {
            self.book.advance(path, reading, decoder, (stamps, size.max(offset)), self.gather);
        } else if let Some(stream) = self.book.streams.get_mut(path) {
            // Nothing whole has come: the account need not know.
            stream.seen = Some(stamps);
            stream.reading = Some(Reading { decoder: Some(decoder), ..reading });
        }
        match failed {
            Some(problem) => Err(problem),
            None => Ok(ended),
        }
    }

    /// The session's id as its beginning says it.
    fn id(&self, path: &str) -> String {
        let brief = self.book.streams.get(path).and_then(|stream| stream.brief.as_ref());
        brief.map(|brief| brief.session.id.clone()).unwrap_or_default()
    }
}
