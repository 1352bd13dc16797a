//! A look at a store of files.
//!
//! Invariants: what has not changed costs a `stat` and no more; a stream whose session was begun elsewhere is
//! opened once, for its beginning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};

use super::book::Book;
use super::cursors::Cursors;
use super::follow::{SLACK, Subject};
use super::gather::{Gather, Source};
use super::stream::{Quiet, Reading, Stamps};
use crate::base::Wall;
use crate::host::transcript::Unreadable;
use crate::host::transcript::lines::{Line, Lines, document};
use crate::host::transcript::places::{self, FileStamp, document_of};
use crate::trajectory::{Decoder, Event, Files, Needs};

/// So much of a stream's beginning is read in one look to find out whose it is.
const HEAD: u64 = 1 << 20;

/// Where to look first.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Directories in which a session was found that belongs there.
    confirmed: BTreeSet<String>,
    /// The agent names directories in another way than its reader believes.
    wrong: bool,
}

/// A look at one store.
pub(super) struct Look<'a, 'g, 'w> {
    pub(super) book: &'a mut Book,
    pub(super) layout: &'a Files,
    pub(super) subjects: &'a [&'a Subject],
    pub(super) cursors: &'a dyn Cursors,
    pub(super) gather: &'g mut Gather<'w>,
}

impl Look<'_, '_, '_> {
    /// Looks, and reads on. False: there is more to read.
    pub(super) fn look(mut self) -> bool {
        let candidates = self.candidates();
        for (path, stamps) in &candidates {
            if let Err(problem) = self.judge(path, stamps) {
                self.gather.unreadable(problem);
            }
        }
        // Older sessions first: of calls that a later one repeats the earlier one is the owner.
        let began = |path: &String| {
            let brief = self.book.streams.get(path).and_then(|stream| stream.brief.as_ref());
            brief.and_then(|brief| brief.session.started_at)
        };
        let mut order: Vec<(&String, &Stamps)> = candidates.iter().collect();
        order.sort_by_key(|(path, _)| began(path));
        for (path, stamps) in order {
            if self.gather.is_full() {
                return false;
            }
            match self.follow(path, stamps) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(problem) => self.gather.unreadable(problem),
            }
        }
        true
    }

    fn store(&self) -> Utf8PathBuf {
        Utf8PathBuf::from(&self.book.place.path)
    }

    /// Streams that were written since the first of the runs began.
    fn candidates(&mut self) -> BTreeMap<String, Stamps> {
        let store = self.store();
        let Some(first) = self.subjects.iter().map(|subject| subject.from - SLACK).min() else {
            return BTreeMap::new();
        };
        let hints = self.hints();
        let (mut found, mut problems) = (BTreeMap::new(), Vec::new());
        let under = hints.as_deref().unwrap_or_default();
        let mut names = Vec::new();
        places::search(
            &store,
            self.layout.streams,
            under,
            &mut |path, stamp| names.push((path, stamp)),
            &mut |one| {
                problems.push(one);
            },
        );
        if let Some(hints) = &hints {
            // What is read already is followed wherever it lies.
            let elsewhere = |path: &str| {
                hints
                    .iter()
                    .all(|hint| path.strip_prefix(hint.as_str()).is_none_or(|rest| !rest.starts_with('/')))
            };
            for (path, stream) in &self.book.streams {
                if stream.reading.is_some()
                    && elsewhere(path)
                    && !self.book.owners(path, self.subjects).is_empty()
                {
                    match places::stamp(&store.join(path)) {
                        Ok(stamp) => names.extend(stamp.map(|stamp| (path.clone(), stamp))),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
        }
        for (path, stamp) in names {
            let stamps = self.stamps(&store, &path, stamp, &mut problems);
            if self.written_at(&stamps) >= first {
                found.insert(path, stamps);
            }
        }
        problems.into_iter().for_each(|problem| self.gather.unreadable(problem));
        self.without_doubles(found)
    }

    /// The directories to look into; none: the whole store is to be searched.
    fn hints(&mut self) -> Option<Vec<String>> {
        let mut hints = Vec::new();
        let mut all = self.book.hints.wrong;
        for subject in self.subjects {
            let first = self.book.runs.insert(subject.run);
            let hint = self.layout.directory.zip(subject.trail.workdir.as_deref());
            match hint.map(|(directory, workdir)| directory(workdir)) {
                Some(hint) if self.book.hints.confirmed.contains(&hint) => hints.push(hint),
                _ => all = true,
            }
            all |= first || subject.to.is_some();
        }
        (!all).then_some(hints)
    }

    fn stamps(
        &self,
        store: &Utf8Path,
        path: &str,
        stream: FileStamp,
        problems: &mut Vec<Unreadable>,
    ) -> Stamps {
        let mut documents = Vec::with_capacity(self.layout.documents.len());
        for name in self.layout.documents {
            let stamp = document_of(path, name).map(|document| places::stamp(&store.join(document)));
            documents.push(stamp.unwrap_or(Ok(None)).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            }));
        }
        Stamps { stream: Some(stream), documents, ..Stamps::default() }
    }

    /// When a stream or a document of its own was last written; documents above are those of many.
    fn written_at(&self, stamps: &Stamps) -> Wall {
        let own =
            self.layout.documents.iter().zip(&stamps.documents).filter(|(name, _)| !name.starts_with("../"));
        let all = own.filter_map(|(_, stamp)| *stamp).chain(stamps.stream);
        all.map(|stamp| stamp.written_at()).max().unwrap_or_default()
    }

    /// Of several names of one file (by links) the one that is known already, else the first.
    fn without_doubles(&self, found: BTreeMap<String, Stamps>) -> BTreeMap<String, Stamps> {
        let mut by_file: HashMap<(u64, u64), &String> = HashMap::new();
        let is_known =
            |path: &String| self.book.streams.get(path).is_some_and(|stream| stream.reading.is_some());
        for (path, stamps) in &found {
            let Some(stamp) = stamps.stream else { continue };
            let chosen = by_file.entry(stamp.file).or_insert(path);
            if !is_known(chosen) && is_known(path) {
                *chosen = path;
            }
        }
        let chosen: BTreeSet<String> = by_file.into_values().cloned().collect();
        found.into_iter().filter(|(path, _)| chosen.contains(path)).collect()
    }

    /// Finds out whose session a stream is of, if that is not known.
    fn judge(&mut self, path: &str, stamps: &Stamps) -> Result<(), Unreadable> {
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
            match lines.next()? {
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

    /// Reads a stream on, if it is of one of the runs and has changed. False: there is more of it.
    fn follow(&mut self, path: &str, stamps: &Stamps) -> Result<bool, Unreadable> {
        let written_at = self.written_at(stamps);
        let mut owners = self.book.owners(path, self.subjects);
        owners.retain(|owner| written_at >= owner.from - SLACK);
        let Some(stream) = self.book.streams.get_mut(path) else { return Ok(true) };
        if owners.is_empty() {
            if stream.reading.is_none() && stream.brief.is_some() {
                stream.seen = Some(stamps.clone());
            }
            return Ok(true);
        }
        let finish = owners.iter().any(|owner| owner.to.is_some());
        let unchanged = stream.seen.as_ref().is_some_and(|seen| seen.same_files(stamps));
        if stream.reading.as_ref().is_some_and(|reading| unchanged && (reading.finished || !finish)) {
            return Ok(true);
        }
        self.check_hint(path, &owners);
        self.read_on(path, stamps, &owners, finish)
    }

    /// TRJ-5: whether a session of a run lies where its workdir says that it should.
    fn check_hint(&mut self, path: &str, owners: &[&Subject]) {
        let Some(directory) = self.layout.directory else { return };
        let brief = self.book.streams.get(path).and_then(|stream| stream.brief.as_ref());
        let began = brief.and_then(|brief| brief.session.started_at);
        for owner in owners {
            let Some(hint) = owner.trail.workdir.as_deref().map(directory) else { continue };
            if path.split('/').count() <= hint.split('/').count() || self.book.is_sub_agent(path) {
                continue;
            }
            match path.strip_prefix(hint.as_str()) {
                Some(rest) if rest.starts_with('/') => drop(self.book.hints.confirmed.insert(hint)),
                // A number tells directories apart that would have the same name.
                Some(rest) if is_number(rest.strip_prefix('-').and_then(|rest| rest.split('/').next())) => {}
                // One that was begun before may have been moved, or begun under another name of its directory.
                _ if began.is_none_or(|began| began < owner.from - SLACK) => {}
                _ => {
                    self.book.hints.wrong = true;
                    let message =
                        format!("the agent encodes directories in another way: `{hint}` was expected");
                    self.gather.warn(self.store().join(path), message);
                }
            }
        }
    }

    fn read_on(
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
                (Box::new(Decoder::new(self.book.format, path)), 0, None, Some(Quiet { offset, last_at }))
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
            match lines.next() {
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
            quiet: quiet.filter(|_| !ended),
            ..stamps.clone()
        };
        let reading = Reading { file, offset, decoder: None, finished: ended && finish, idle: 0 };
        if changed || finish || seen.quiet != stamps.quiet {
            self.book.advance(path, reading, decoder, stamps, self.gather);
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

fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}
