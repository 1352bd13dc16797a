//! What is known of a store: its streams, and which session each is of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cursors::Cursors;
use super::files::Hints;
use super::follow::{Subject, Warning};
use super::gather::Gather;
use super::rows::Tables;
use super::stream::{Brief, Reading, Stamps, Stream, join};
use crate::base::{RunId, Wall};
use crate::correlate::Known;
use crate::host::files::physical;
use crate::store::{Cursor, SessionRow};
use crate::trajectory::{Decoder, Format, Kinship, Parent, Session};
use crate::wire::{Evidence, StorePlace};

/// Sub-agents start sub-agents at most so deep.
const DEEPEST: usize = 16;

/// One store.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) format: Format,
    pub(super) place: StorePlace,
    pub(super) streams: BTreeMap<String, Stream>,
    /// The runs that it was looked at for.
    pub(super) runs: BTreeSet<RunId>,
    /// Of a store of files: where to look first.
    pub(super) hints: Hints,
    /// Of a database: what tells whether to look into it.
    pub(super) tables: Tables,
    /// A stream of each session.
    sessions: HashMap<String, String>,
    /// Sessions that have grown in this look.
    grown: BTreeSet<String>,
    /// What the account has, fetched in this look.
    fetched: Option<HashMap<String, Cursor>>,
    known: BTreeSet<(RunId, String, Evidence)>,
    /// By run and process: the session that the agent's own index had for it, and when that was.
    noted: HashMap<(RunId, i32), (String, Wall)>,
    /// Sessions to which a process has gone over from another one, and when it was still at that.
    left: HashMap<String, (String, Wall)>,
    /// Sub-agents' sessions whose parents alone say that they are: with those.
    adopted: HashMap<String, String>,
}

impl Book {
    /// Takes up where the account says that reading stopped.
    pub(super) fn open(format: Format, place: &StorePlace, cursors: &dyn Cursors) -> Result<Self, Warning> {
        let mut book = Self {
            format,
            place: place.clone(),
            streams: BTreeMap::new(),
            runs: BTreeSet::new(),
            hints: Hints::default(),
            tables: Tables::default(),
            sessions: HashMap::new(),
            grown: BTreeSet::new(),
            fetched: None,
            known: BTreeSet::new(),
            noted: HashMap::new(),
            left: HashMap::new(),
            adopted: HashMap::new(),
        };
        let mut real = HashMap::new();
        for cursor in cursors.of(format, place)? {
            // What cannot be understood any more is read again: no row is counted twice for it.
            let Ok(decoder) = serde_json::from_str::<Decoder>(&cursor.decoder) else { continue };
            if decoder.format() != format {
                continue;
            }
            let session = decoder.session().clone();
            let cwd = book.cwd_of(&session).map(|cwd| {
                real.entry(cwd).or_insert_with_key(|cwd| physical(cwd.as_str().into()).into_string()).clone()
            });
            for id in std::iter::once(&session.id).chain(&session.launched_as) {
                book.sessions.entry(id.clone()).or_insert_with(|| cursor.stream.clone());
            }
            book.adopt(&session);
            let stream = Stream {
                seen: Some(Stamps::kept(&cursor.stamp)),
                brief: Some(Brief { session, cwd }),
                search: None,
                reading: Some(Reading {
                    file: cursor.file,
                    offset: cursor.offset,
                    decoder: None,
                    finished: false,
                    idle: 0,
                }),
            };
            book.streams.insert(cursor.stream, stream);
        }
        Ok(book)
    }

    /// Remembers whose the sub-agents are that a session has started.
    fn adopt(&mut self, session: &Session) {
        for child in session.children.iter().filter(|child| **child != session.id) {
            if !self.adopted.contains_key(child) {
                self.adopted.insert(child.clone(), session.id.clone());
                self.grown.insert(child.clone());
            }
        }
    }

    /// Where a session comes from, by its own records or by those of its parent.
    fn parent(&self, session: &Session) -> Option<Parent> {
        let adopted = || {
            let id = self.adopted.get(&session.id)?.clone();
            Some(Parent { id, kinship: Kinship::SubAgent })
        };
        session.parent.clone().or_else(adopted)
    }

    fn cwd_of(&self, session: &Session) -> Option<String> {
        session.cwd.clone().or_else(|| self.place.cwd.clone())
    }

    /// Whether the records say enough to tell whose a session is.
    pub(super) fn is_plain(&self, session: &Session) -> bool {
        !session.id.is_empty() && self.cwd_of(session).is_some()
    }

    /// Remembers what the records of a stream say of its session.
    pub(super) fn learn(&mut self, path: &str, session: &Session) {
        let cwd = self.cwd_of(session);
        let stream = self.streams.entry(path.to_owned()).or_default();
        let known = stream.brief.take();
        let cwd = match known {
            Some(known) if known.session.cwd == session.cwd && known.cwd.is_some() => known.cwd,
            _ => cwd.map(|cwd| physical(cwd.as_str().into()).into_string()),
        };
        if !session.id.is_empty() {
            for id in std::iter::once(&session.id).chain(&session.launched_as) {
                self.sessions.entry(id.clone()).or_insert_with(|| path.to_owned());
            }
        }
        stream.brief = Some(Brief { session: session.clone(), cwd });
        self.adopt(session);
    }

    /// The working directory by which it is told whose a session is: of a sub-agent that of the topmost parent.
    pub(super) fn cwd(&self, path: &str) -> Option<&str> {
        let mut brief = self.streams.get(path)?.brief.as_ref()?;
        for _ in 0..DEEPEST {
            let parent = self.parent(&brief.session).filter(|parent| parent.kinship == Kinship::SubAgent);
            let above = parent.and_then(|parent| self.sessions.get(&parent.id));
            match above.and_then(|stream| self.streams.get(stream)?.brief.as_ref()) {
                Some(above) => brief = above,
                None => break,
            }
        }
        brief.cwd.as_deref()
    }

    /// Whether a session was started by another one as its sub-agent.
    pub(super) fn is_sub_agent(&self, path: &str) -> bool {
        let brief = self.streams.get(path).and_then(|stream| stream.brief.as_ref());
        let parent = brief.and_then(|brief| self.parent(&brief.session));
        parent.is_some_and(|parent| parent.kinship == Kinship::SubAgent)
    }

    /// The runs that a stream may be of, by where they work.
    pub(super) fn owners<'s>(&self, path: &str, subjects: &[&'s Subject]) -> Vec<&'s Subject> {
        let Some(cwd) = self.cwd(path) else { return Vec::new() };
        let own = |subject: &&&Subject| subject.trail.workdir.as_deref() == Some(cwd);
        subjects.iter().filter(own).copied().collect()
    }

    /// The decoder of a stream at its cursor; none: it is to be read from its beginning.
    pub(super) fn decoder(
        &mut self,
        path: &str,
        cursors: &dyn Cursors,
        gather: &mut Gather<'_>,
    ) -> Option<Box<Decoder>> {
        let reading = self.streams.get_mut(path)?.reading.as_mut()?;
        if let Some(decoder) = reading.decoder.take() {
            return Some(decoder);
        }
        if self.fetched.is_none() {
            let all = cursors.of(self.format, &self.place).unwrap_or_else(|warning| {
                gather.warn(warning.path, warning.message);
                Vec::new()
            });
            self.fetched = Some(all.into_iter().map(|cursor| (cursor.stream.clone(), cursor)).collect());
        }
        let cursor = self.fetched.as_ref()?.get(path)?;
        let same = (cursor.file, cursor.offset) == (reading.file, reading.offset);
        same.then(|| serde_json::from_str(&cursor.decoder).ok()).flatten().map(Box::new)
    }

    /// Remembers how far a stream of this size, in bytes or rows, is read, and puts it into the progress.
    pub(super) fn advance(
        &mut self,
        path: &str,
        mut reading: Reading,
        decoder: Box<Decoder>,
        (stamps, size): (Stamps, u64),
        gather: &mut Gather<'_>,
    ) {
        self.learn(path, decoder.session());
        let written = stamps.written(size).and_then(|stamp| Ok((stamp, serde_json::to_string(&decoder)?)));
        match written {
            Ok((stamp, decoder)) => gather.look.progress.cursors.push(Cursor {
                format: self.format,
                store: self.place.path.clone(),
                stream: path.to_owned(),
                file: reading.file,
                offset: reading.offset,
                stamp,
                decoder,
            }),
            Err(error) => gather.warn(path, format!("where reading stopped cannot be written down: {error}")),
        }
        self.grown.insert(decoder.session().id.clone());
        reading.idle = 0;
        reading.decoder = Some(decoder);
        if let Some(stream) = self.streams.get_mut(path) {
            stream.seen = Some(stamps);
            stream.search = None;
            stream.reading = Some(reading);
        }
    }

    /// Remembers what ties a session to a run, once.
    pub(super) fn tie(&mut self, run: RunId, session: String, evidence: Evidence, gather: &mut Gather<'_>) {
        if self.known.insert((run, session.clone(), evidence)) {
            gather.look.progress.known.push(Known { run, format: self.format, session, evidence });
        }
    }

    /// Remembers which session a process is at.
    pub(super) fn noted(&mut self, subject: &Subject, pid: i32, session: &str, now: Wall) {
        let run = subject.run;
        self.noted.retain(|(of, one), _| *of != run || subject.processes.contains(one));
        let before = self.noted.insert((run, pid), (session.to_owned(), now));
        if let Some((before, at)) = before.filter(|(before, _)| before != session) {
            self.left.entry(session.to_owned()).or_insert((before, at));
            self.grown.insert(session.to_owned());
        }
    }

    /// A run is over, and none of its processes is at anything.
    pub(super) fn over(&mut self, run: RunId) {
        self.noted.retain(|(of, _), _| *of != run);
    }

    /// TRJ-8: the session that ended in this one, for all that is known of their process: this one names no
    /// other, and did not exist yet when the process was still at that one.
    fn reset_of(&self, session: &Session) -> Option<Parent> {
        let (before, at) = self.left.get(&session.id)?;
        let new = session.parent.is_none() && session.started_at.is_some_and(|began| began >= *at);
        let parent = Parent { id: before.clone(), kinship: Kinship::Reset };
        (new && self.sessions.contains_key(before)).then_some(parent)
    }

    /// A session that harnessd chose at a launch is tied to its run as soon as it is there.
    pub(super) fn tie_launched(&mut self, subjects: &[&Subject], gather: &mut Gather<'_>) {
        for subject in subjects {
            let Some(id) = &subject.trail.session else { continue };
            let stream = self.sessions.get(id).and_then(|path| self.streams.get(path));
            let read = stream.filter(|stream| stream.reading.is_some());
            if let Some(brief) = read.and_then(|stream| stream.brief.as_ref()) {
                self.tie(subject.run, brief.session.id.clone(), Evidence::LaunchId, gather);
            }
        }
    }

    /// A run is settled.
    pub(super) fn forget(&mut self, run: RunId) {
        self.runs.remove(&run);
        self.known.retain(|(of, _, _)| *of != run);
    }

    /// A look is over: tells the sessions that have grown, and lets go of what has not.
    pub(super) fn close(&mut self, gather: &mut Gather<'_>) {
        self.fetched = None;
        let grown = std::mem::take(&mut self.grown);
        let mut sessions: BTreeMap<String, (Session, Vec<String>)> = BTreeMap::new();
        for (path, stream) in &mut self.streams {
            let (Some(reading), Some(brief)) = (&mut stream.reading, &stream.brief) else { continue };
            let id = &brief.session.id;
            if !grown.contains(id) {
                reading.rest();
                continue;
            }
            let (whole, streams) = sessions.entry(id.clone()).or_default();
            id.clone_into(&mut whole.id);
            join(whole, &brief.session, brief.cwd.as_deref());
            streams.push(path.clone());
        }
        let rows = sessions.into_values().map(|(session, streams)| SessionRow {
            format: self.format,
            store: self.place.path.clone(),
            streams,
            parent: self.parent(&session).or_else(|| self.reset_of(&session)),
            id: session.id,
            cwd: session.cwd,
            started_at: session.started_at,
            last_at: session.last_at,
            models: session.models,
        });
        gather.look.progress.sessions.extend(rows);
    }
}
