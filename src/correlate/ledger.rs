//! The facts, arranged so that one session costs little among many runs.
//!
//! Invariant: what is left out of a lookup cannot matter to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use camino::Utf8Path;

use super::SLACK;
use super::facts::{Facts, Known, Peer, Window};
use crate::base::{HarnessName, RunId, Wall};
use crate::trajectory::Format;
use crate::wire::StorePlace;

/// The adapter whose runs may write any kind of session.
const GENERIC: &str = "generic";

/// The facts, arranged. It is made once for many sessions.
#[derive(Debug)]
pub struct Ledger<'a> {
    runs: HashMap<RunId, Span<'a>>,
    known: HashMap<(Format, &'a str), Vec<&'a Known>>,
    /// The runs of each harness wherever it worked, by their start.
    histories: HashMap<&'a HarnessName, Vec<Span<'a>>>,
    /// Who works in a directory.
    workers: HashMap<&'a str, Lanes<'a>>,
    /// Who works in a directory that nobody knows: in any.
    anywhere: Lanes<'a>,
    /// Who writes to a store that records no directories, and which directories those are.
    sharers: HashMap<&'a str, (Lanes<'a>, BTreeSet<&'a str>)>,
    /// The formats that an adapter is known to write.
    written: HashMap<&'a str, BTreeSet<Format>>,
}

/// What belongs to one place, by harness.
pub(super) type Lanes<'a> = BTreeMap<&'a HarnessName, Lane<'a>>;

/// One harness in one place.
#[derive(Debug, Clone)]
pub(super) struct Lane<'a> {
    /// Since when its record is whole.
    pub(super) since: Wall,
    /// What it is known to have been in this place, each once.
    pub(super) guises: Vec<Guise<'a>>,
    /// Its runs there, by their start.
    spans: Vec<Span<'a>>,
    /// The latest last instant of the spans up to each.
    latest: Vec<Wall>,
}

/// A harness, as far as it says what it could have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guise<'a> {
    pub(super) adapter: &'a str,
    pub(super) format: Option<Format>,
    pub(super) stores: &'a [StorePlace],
}

/// A run with its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) window: &'a Window,
    /// The end of what it is credited with.
    pub(super) to: Wall,
    /// Until when it can have written.
    pub(super) until: Wall,
}

impl Facts {
    /// Arranges the facts for many questions.
    #[must_use]
    pub fn prepare(&self) -> Ledger<'_> {
        Ledger::new(self)
    }
}

impl<'a> Ledger<'a> {
    fn new(facts: &'a Facts) -> Self {
        let mut made = Self {
            runs: HashMap::new(),
            known: HashMap::new(),
            histories: HashMap::new(),
            workers: HashMap::new(),
            anywhere: Lanes::new(),
            sharers: HashMap::new(),
            written: HashMap::new(),
        };
        for known in &facts.known {
            made.known.entry((known.format, &known.session)).or_default().push(known);
        }
        let mut spans: Vec<Span<'_>> = facts.windows.iter().map(|window| Span::new(window, facts)).collect();
        spans.sort_by_key(|span| (span.window.from, span.window.run));
        for span in &spans {
            made.runs.insert(span.window.run, *span);
            made.histories.entry(&span.window.harness).or_default().push(*span);
        }
        for span in spans {
            let window = span.window;
            let since = made.record_begins(&window.harness, facts);
            made.place(
                &window.harness,
                since,
                span.guise(),
                window.workdir.as_ref().or(facts.home.as_ref()),
                Some(span),
            );
        }
        for peer in &facts.peers {
            let since = made.record_begins(&peer.harness, facts);
            made.place(
                &peer.harness,
                since,
                Guise::from(peer),
                peer.workdir.as_ref().or(facts.home.as_ref()),
                None,
            );
        }
        made
    }

    /// Since when the record of a harness is whole: for all that is known, from its first run on.
    fn record_begins(&self, harness: &HarnessName, facts: &Facts) -> Wall {
        let first = || self.histories.get(harness).and_then(|runs| runs.first()).map(|span| span.window.from);
        facts.since.get(harness).copied().or_else(first).unwrap_or(facts.now)
    }

    fn place(
        &mut self,
        harness: &'a HarnessName,
        since: Wall,
        guise: Guise<'a>,
        directory: Option<&'a String>,
        span: Option<Span<'a>>,
    ) {
        if let Some(format) = guise.format {
            self.written.entry(guise.adapter).or_default().insert(format);
        }
        let lanes = match directory {
            Some(directory) => self.workers.entry(directory).or_default(),
            None => &mut self.anywhere,
        };
        lanes.entry(harness).or_insert_with(|| Lane::new(since)).add(guise, span);
        for store in guise.stores {
            if let Some(cwd) = &store.cwd {
                let (lanes, directories) = self.sharers.entry(&store.path).or_default();
                lanes.entry(harness).or_insert_with(|| Lane::new(since)).add(guise, span);
                directories.insert(cwd);
            }
        }
    }

    /// A run.
    pub(super) fn run(&self, run: RunId) -> Option<&Span<'a>> {
        self.runs.get(&run)
    }

    /// The evidence about a session.
    pub(super) fn known(&self, format: Format, session: &'a str) -> &[&'a Known] {
        self.known.get(&(format, session)).map_or(&[], Vec::as_slice)
    }

    /// Everybody whose place a session fits into, by name; a harness may come more than once. Of a store that
    /// records no directories they are all who write to it, and who works where it is read for or lies.
    pub(super) fn around<'s>(
        &'s self,
        store: &'s str,
        cwd: Option<&'s str>,
    ) -> impl Iterator<Item = (&'a HarnessName, &'s Lane<'a>)> {
        let sharers = self.sharers.get(store);
        let mut directories: BTreeSet<&str> = cwd.into_iter().collect();
        if let Some((_, read_for)) = sharers {
            directories.extend(read_for);
            directories.extend(Utf8Path::new(store).ancestors().map(Utf8Path::as_str));
        }
        let workers = directories.into_iter().filter_map(|directory| self.workers.get(directory));
        let lanes = workers.chain([&self.anywhere]).chain(sharers.map(|(lanes, _)| lanes));
        lanes.flatten().map(|(harness, lane)| (*harness, lane))
    }

    /// Whether something of this kind can write sessions of a format: by its own, or as its adapter is known
    /// to, or because its program may be any.
    pub(super) fn writes(&self, guise: Guise<'_>, format: Format) -> bool {
        let known = || self.written.get(guise.adapter).is_some_and(|formats| formats.contains(&format));
        guise.format == Some(format) || guise.adapter == GENERIC || known()
    }

    /// Whether a run of the harness other than those listed may have been under way.
    pub(super) fn is_of_another_run(&self, harness: &HarnessName, at: Wall, but: &[RunId]) -> bool {
        let spans = self.histories.get(harness).map_or(&[][..], Vec::as_slice);
        let begun = spans.partition_point(|span| span.window.from <= latest_truth(at));
        // Runs of one harness follow one another: the last ones that have begun are all that can matter.
        let near = spans[..begun].iter().rev().take(4);
        near.filter(|span| span.can_hold(at)).any(|span| !but.contains(&span.window.run))
    }
}

impl<'a> Lane<'a> {
    const fn new(since: Wall) -> Self {
        Self { since, guises: Vec::new(), spans: Vec::new(), latest: Vec::new() }
    }

    /// Spans come in the order of their starts.
    fn add(&mut self, guise: Guise<'a>, span: Option<Span<'a>>) {
        if !self.guises.contains(&guise) {
            self.guises.push(guise);
        }
        if let Some(span) = span
            && self.spans.last().is_none_or(|last| last.window.run != span.window.run)
        {
            let latest = self.latest.last().map_or(span.until, |latest| span.until.max(*latest));
            self.spans.push(span);
            self.latest.push(latest);
        }
    }

    /// The runs that can have written something at this time, with the slack.
    pub(super) fn covering(&self, at: Wall) -> impl Iterator<Item = &Span<'a>> {
        let begun = self.spans.partition_point(|span| span.window.from - SLACK <= at);
        let near = (0..begun).rev().take_while(move |place| at <= self.latest[*place] + SLACK);
        near.map(|place| &self.spans[place]).filter(move |span| at <= span.until + SLACK)
    }
}

impl<'a> Span<'a> {
    fn new(window: &'a Window, facts: &Facts) -> Self {
        Self { window, to: facts.closes(window), until: facts.last_instant(window) }
    }

    pub(super) fn guise(&self) -> Guise<'a> {
        let Window { adapter, format, stores, .. } = self.window;
        Guise { adapter, format: *format, stores }
    }

    /// Whether something with this time may lie in the window itself.
    pub(super) fn can_hold(&self, at: Wall) -> bool {
        self.window.from <= latest_truth(at) && at <= self.to
    }

    /// How far an instant is from the window; nothing inside.
    fn distance(&self, at: Wall) -> Duration {
        if at < self.window.from { self.window.from.since(at) } else { at.since(self.to) }
    }

    /// Whether an instant lies in the window or its slack.
    pub(super) fn is_near(&self, at: Wall) -> bool {
        self.distance(at) <= SLACK
    }

    /// Whether two runs were under way at the same time.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.window.from < other.to && other.window.from < self.to
    }
}

impl<'a> From<&'a Peer> for Guise<'a> {
    fn from(peer: &'a Peer) -> Self {
        Self { adapter: &peer.adapter, format: peer.format, stores: &peer.stores }
    }
}

impl Guise<'_> {
    /// Whether it may have its transcripts anywhere, and does not keep them elsewhere by its own
    /// configuration. Of two stores of which one lies inside the other neither is elsewhere.
    pub(super) fn may_use(&self, store: &str) -> bool {
        let store = Utf8Path::new(store);
        let elsewhere = |place: &StorePlace| {
            let path = Utf8Path::new(&place.path);
            place.named && !store.starts_with(path) && !path.starts_with(store)
        };
        self.stores.is_empty() || !self.stores.iter().all(elsewhere)
    }
}

/// The one of several runs whose window can hold something with this time, else the nearest within the slack;
/// none: several can hold it, or none is near.
pub(super) fn holder<'s, 'a: 's>(
    spans: impl Iterator<Item = &'s Span<'a>> + Clone,
    at: Wall,
) -> Option<&'s Span<'a>> {
    let mut holding = spans.clone().filter(|span| span.can_hold(at));
    match (holding.next(), holding.next()) {
        (Some(span), None) => Some(span),
        (Some(_), Some(_)) => None,
        (None, _) => spans
            .filter(|span| span.is_near(at))
            .min_by_key(|span| (span.distance(at), Reverse(span.window.from))),
    }
}

/// Until when something with this time may have happened: a time without a fraction may be cut to the second.
const fn latest_truth(at: Wall) -> Wall {
    const SECOND: i64 = 1_000_000;
    let lost = if at.0 % SECOND == 0 { SECOND - 1 } else { 0 };
    Wall(at.0.saturating_add(lost))
}
