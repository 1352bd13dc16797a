//! A look at a store of files.
//!
//! Invariants: what has not changed costs a `stat` and no more; a stream whose session was begun elsewhere is
//! opened once, for its beginning.

mod open;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};

use super::book::Book;
use super::cursors::Cursors;
use super::follow::Subject;
use super::gather::Gather;
use super::stream::Stamps;
use crate::base::Wall;
use crate::correlate::SLACK;
use crate::host::transcript::Unreadable;
use crate::host::transcript::places::{self, FileStamp, document_of};
use crate::trajectory::Files;

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
                Err(problem) => {
                    self.gather.unreadable(problem);
                    self.gather.failed = true;
                }
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
                    let steps = hint.split('/').count();
                    let found: Vec<&str> = path.split('/').take(steps).collect();
                    self.gather.warn(self.store().join(found.join("/")), message);
                }
            }
        }
    }
}

fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}
