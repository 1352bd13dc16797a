//! A random fleet: what harnesses did, and of that what a harnessd gets to know.
//!
//! The world is made first, by processes that write sessions; facts are derived from it, losing what a
//! real store loses. So the truth of each session is known without any rule.

use std::collections::BTreeMap;

use harnessd::base::{HarnessName, RunId, Wall};
use harnessd::correlate::{Facts, Found, Known, Peer, Window};
use harnessd::trajectory::Format;
use harnessd::wire::{Evidence, StorePlace};

use crate::dice::Dice;

const MILLISECOND: i64 = 1_000;
const SECOND: i64 = 1_000_000;
/// How long the world lasts.
const END: i64 = 600 * SECOND;
const HOME: &str = "/home/u";
const DIRECTORIES: &[&str] = &["/w", "/v", HOME];
/// Stores that nobody has for himself.
const COMMON: &[&str] = &["/home/u/.agent", "/w/.agent"];

/// What a process is: the same in the world and in the facts.
#[derive(Debug, Clone)]
pub(crate) struct Harness {
    pub(crate) name: HarnessName,
    pub(crate) adapter: &'static str,
    /// None for `generic`, whose program may be any.
    pub(crate) format: Option<Format>,
    pub(crate) workdir: Option<String>,
    pub(crate) stores: Vec<StorePlace>,
    /// When the store first saw it.
    pub(crate) since: i64,
}

impl Harness {
    /// Where its processes really work.
    pub(crate) fn directory(&self) -> &str {
        self.workdir.as_deref().unwrap_or(HOME)
    }

    pub(crate) fn is_named(&self) -> bool {
        self.stores.iter().any(|store| store.named)
    }
}

/// A process that was started for a harness.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) run: RunId,
    pub(crate) harness: Harness,
    pub(crate) from: i64,
    /// When it really ended.
    pub(crate) to: i64,
    /// Whether its start is in the store.
    pub(crate) recorded: bool,
    /// Whether its end is.
    pub(crate) ended: bool,
}

/// A session with its truth.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) found: Found,
    /// Where it really was.
    pub(crate) directory: String,
    /// When it really began, whatever its record says.
    pub(crate) began: i64,
    /// The run that began it; none: nobody whom harnessd started.
    pub(crate) author: Option<RunId>,
    /// All runs that wrote to it.
    pub(crate) writers: Vec<RunId>,
    /// What was written: the time as recorded, and by which run.
    pub(crate) events: Vec<(Wall, Option<RunId>)>,
}

/// The world and what is known of it.
pub(crate) struct Fleet {
    pub(crate) processes: Vec<Process>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) facts: Facts,
    /// Whether the sessions of crush state no directory.
    pub(crate) without_directories: bool,
    dice: Dice,
    known: Vec<Known>,
}

impl Fleet {
    pub(crate) fn new(number: u64) -> Self {
        let mut fleet = Self {
            processes: Vec::new(),
            sessions: Vec::new(),
            facts: Facts::default(),
            without_directories: number.is_multiple_of(3),
            dice: Dice::new(number),
            known: Vec::new(),
        };
        let mut since = BTreeMap::new();
        let mut peers = Vec::new();
        let many = 1 + fleet.dice.below(5);
        for place in 0..many {
            fleet.harness(place, &mut since, &mut peers);
        }
        for place in 0..fleet.processes.len() {
            fleet.work(place);
        }
        for _ in 0..fleet.dice.below(3) {
            fleet.stranger();
        }
        let daemon_started = fleet.dice.percent(70).then(|| Wall(fleet.lost_at()));
        fleet.facts = Facts {
            windows: fleet.processes.iter().filter(|process| process.recorded).map(window).collect(),
            peers,
            since,
            known: std::mem::take(&mut fleet.known),
            home: Some(HOME.to_owned()),
            now: Wall(END),
            daemon_started,
        };
        for window in &mut fleet.facts.windows {
            window.live = window.to.is_none() && daemon_started.is_none_or(|at| window.from >= at);
        }
        fleet
    }

    /// The facts in short, a line each.
    pub(crate) fn told(&self) -> String {
        let stores = |stores: &[StorePlace]| -> Vec<String> {
            let kind = |place: &StorePlace| if place.named { "=" } else { "~" };
            stores.iter().map(|place| format!("{}{}", kind(place), place.path)).collect()
        };
        let mut lines = vec![format!("daemon {:?} {:?}", self.facts.daemon_started, self.facts.since)];
        lines.extend(self.processes.iter().map(|process| {
            let Process { run, harness, from, to, recorded, ended } = process;
            let Harness { name, adapter, workdir, stores: places, .. } = harness;
            let places = stores(places);
            format!(
                "{run} {name} {adapter} {workdir:?} {places:?} {from}..{to} recorded {recorded} ended {ended}"
            )
        }));
        lines.extend(self.facts.peers.iter().map(|peer| {
            format!("{} {} {:?} {:?}", peer.harness, peer.adapter, peer.workdir, stores(&peer.stores))
        }));
        lines.extend(
            self.facts
                .known
                .iter()
                .map(|known| format!("{} {} {}", known.run, known.session, known.evidence)),
        );
        lines.join("\n")
    }

    /// A daemon starts after everything whose end is not recorded has ended.
    fn lost_at(&self) -> i64 {
        let ends = self.processes.iter().filter(|process| !process.ended && process.to < END);
        ends.map(|process| process.to).max().unwrap_or(0) + SECOND
    }

    /// One harness with its life: runs that nobody recorded, then those in the store, perhaps under two names.
    fn harness(&mut self, place: usize, since: &mut BTreeMap<HarnessName, Wall>, peers: &mut Vec<Peer>) {
        let dice = &mut self.dice;
        let (adapter, format) = match dice.below(10) {
            0 => ("generic", None),
            1 | 2 => ("pi", Some(Format::Pi)),
            _ => ("crush", Some(Format::Crush)),
        };
        let workdir = match dice.below(12) {
            0 => None,
            1 => Some(HOME.to_owned()),
            2 | 3 => Some("/v".to_owned()),
            _ => Some("/w".to_owned()),
        };
        let directory = workdir.clone().unwrap_or_else(|| HOME.to_owned());
        let cwd = (self.without_directories && adapter == "crush").then_some(directory);
        let store = |path: &str, named| StorePlace { path: path.to_owned(), named, cwd: cwd.clone() };
        let stores = match dice.below(10) {
            _ if format.is_none() => Vec::new(),
            0..3 => vec![store(&format!("/own/{place}"), true)],
            3 => vec![store("/own/0", true)],
            4 => vec![store("/own/0/below", true)],
            5 => vec![store(COMMON[0], false)],
            // A registry may list what another one names.
            6 => vec![store(COMMON[0], false), store(&format!("/own/{}", dice.below(3)), false)],
            _ => COMMON.iter().map(|path| store(path, false)).collect(),
        };
        let seen = if dice.percent(30) { dice.between(0, END / 2) } else { 0 };
        let name = HarnessName::parse(&format!("h{place}")).unwrap();
        let mut harness = Harness { name, adapter, format, workdir, stores, since: seen };
        let (removed, renamed) = (dice.percent(15), dice.percent(15));
        let mut at = dice.between(-60 * SECOND, 60 * SECOND);
        let mut first = None;
        for turn in 0..dice.below(6) {
            let lasts = if dice.percent(20) {
                dice.between(MILLISECOND, 3 * SECOND)
            } else {
                dice.between(SECOND, 200 * SECOND)
            };
            let (from, to) = (at, at + lasts);
            let rest = if dice.percent(40) {
                dice.between(100 * MILLISECOND, 3 * SECOND)
            } else {
                dice.between(SECOND, 200 * SECOND)
            };
            at = to + rest;
            // What ran when the store first saw it was started by it, and daemons do not change in no time.
            if to >= END || (from < seen && to + 3 * SECOND >= seen) {
                continue;
            }
            let recorded = from >= seen;
            if recorded && renamed && first.is_some() && harness.name.as_str().len() == 2 {
                since.insert(harness.name.clone(), Wall(seen));
                harness.name = HarnessName::parse(&format!("h{place}-new")).unwrap();
                harness.since = from - dice.between(0, 50 * MILLISECOND);
            }
            first = first.or(recorded.then_some(from));
            let run = format!("00000000-0000-7000-8000-{:012}", place * 100 + turn).parse().unwrap();
            self.processes.push(Process { run, harness: harness.clone(), from, to, recorded, ended: true });
        }
        let last = self
            .processes
            .last_mut()
            .filter(|process| process.recorded && process.harness.name == harness.name);
        if let Some(last) = last {
            match dice.below(6) {
                0 => (last.to, last.ended) = (END, false),
                1 => last.ended = false,
                _ => {}
            }
        }
        since.insert(harness.name.clone(), Wall(harness.since));
        // Whom no window tells of, the configuration does.
        if !removed || first.is_none() {
            let Harness { name, adapter, format, workdir, stores, .. } = harness;
            peers.push(Peer { harness: name, adapter: adapter.to_owned(), format, workdir, stores });
        }
    }

    /// What a process writes: sessions of its own, and perhaps to those of others.
    fn work(&mut self, place: usize) {
        let process = self.processes[place].clone();
        for _ in 0..self.dice.below(3) {
            let format = process.harness.format.unwrap_or(*self.dice.of(&[Format::Crush, Format::Pi]));
            let directory = process.harness.directory().to_owned();
            let own = &process.harness.stores;
            // A registry may point anywhere.
            let strays = own.is_empty() || (!process.harness.is_named() && self.dice.percent(15));
            let store = if strays { self.any_store(&directory) } else { self.dice.of(own).path.clone() };
            let began = match self.dice.below(4) {
                0 => process.from + self.dice.between(0, (process.to - process.from).min(SECOND)),
                1 => process.to - self.dice.between(0, (process.to - process.from).min(SECOND)),
                _ => self.dice.between(process.from, process.to),
            };
            self.session(format, &store, &directory, began, Some(&process));
        }
        if self.dice.percent(30) && !self.sessions.is_empty() {
            self.resume(&process);
        }
    }

    /// Any store that is known in a directory: of one that records no directories an agent learns there only.
    fn any_store(&mut self, directory: &str) -> String {
        if !self.without_directories {
            let own = format!("/own/{}", self.dice.below(5));
            return if self.dice.percent(50) { own } else { (*self.dice.of(COMMON)).to_owned() };
        }
        let here = self.processes.iter().filter(|process| process.harness.directory() == directory);
        let places = here.flat_map(|process| &process.harness.stores).filter(|place| place.cwd.is_some());
        let mut stores: Vec<String> = places.map(|place| place.path.clone()).collect();
        stores.push(format!("{directory}/.agent"));
        self.dice.of(&stores).clone()
    }

    /// A process that harnessd did not start.
    fn stranger(&mut self) {
        let format = *self.dice.of(&[Format::Crush, Format::Pi]);
        let directory = *self.dice.of(DIRECTORIES);
        let (store, began) = (self.any_store(directory), self.dice.between(0, END));
        self.session(format, &store, directory, began, None);
    }

    fn session(&mut self, format: Format, store: &str, directory: &str, began: i64, by: Option<&Process>) {
        let id = format!("s{}", self.sessions.len());
        // Who reads a store that records no directory takes it for his own.
        let readers: Vec<&str> = self
            .processes
            .iter()
            .filter(|process| {
                process.harness.stores.iter().any(|place| place.path == store && place.cwd.is_some())
            })
            .map(|process| process.harness.directory())
            .collect();
        let assumed = format == Format::Crush && self.without_directories;
        let cwd = match readers.as_slice() {
            [] if assumed => None,
            readers if assumed => {
                Some(readers[usize::try_from(began.unsigned_abs()).unwrap() % readers.len()].to_owned())
            }
            _ => Some(directory.to_owned()),
        };
        let found =
            Found { format, id, store: store.to_owned(), cwd, started_at: Some(stamp(format, began)) };
        let run = by.map(|process| process.run);
        let mut session = Session {
            found,
            directory: directory.to_owned(),
            began,
            author: run,
            writers: run.into_iter().collect(),
            events: Vec::new(),
        };
        let until = by.map_or(began, |process| process.to);
        for _ in 0..3 {
            let at = self.dice.between(began, until);
            session.events.push((stamp(format, at), run));
        }
        if let Some(process) = by.filter(|process| process.recorded && self.dice.percent(20)) {
            self.tie(process.run, &session.found);
        }
        self.sessions.push(session);
    }

    /// A process goes on with what an earlier one of its harness began, or one that it can find by itself.
    fn resume(&mut self, process: &Process) {
        let candidates: Vec<usize> = (0..self.sessions.len())
            .filter(|place| {
                let session = &self.sessions[*place];
                let found = &session.found;
                let same = process.harness.stores.iter().any(|store| store.path == found.store);
                let author = self.processes.iter().find(|author| Some(author.run) == session.author);
                let here = author.is_some_and(|author| {
                    author.harness.directory() == process.harness.directory() && author.to < process.from
                });
                same && here && process.harness.format == Some(found.format)
            })
            .collect();
        if candidates.is_empty() {
            return;
        }
        let place = *self.dice.of(&candidates);
        let author = self.sessions[place].author;
        let own = self
            .processes
            .iter()
            .any(|one| Some(one.run) == author && one.harness.name == process.harness.name);
        // harnessd names the session, so it knows; the agent's own choice it may not know of.
        let evident = process.recorded && (!own || self.dice.percent(60));
        let busy = self.sessions[place]
            .writers
            .iter()
            .any(|writer| self.processes.iter().any(|one| one.run == *writer && one.to >= process.from));
        // Nobody hands a session over to another harness in no time.
        let ended = self.processes.iter().find(|one| Some(one.run) == author).map_or(0, |one| one.to);
        let hasty = !own && ended + 3 * SECOND > process.from;
        if busy || hasty || !(own || evident) {
            return;
        }
        let format = self.sessions[place].found.format;
        for _ in 0..3 {
            let at = self.dice.between(process.from, process.to);
            self.sessions[place].events.push((stamp(format, at), Some(process.run)));
        }
        self.sessions[place].writers.push(process.run);
        if evident {
            let found = self.sessions[place].found.clone();
            self.tie(process.run, &found);
        }
    }

    fn tie(&mut self, run: RunId, found: &Found) {
        let evidence =
            *self.dice.of(&[Evidence::LaunchId, Evidence::Pid, Evidence::OpenFile, Evidence::Output]);
        self.known.push(Known { run, format: found.format, session: found.id.clone(), evidence });
    }
}

/// How a store writes an instant down: crush to the second, pi to the millisecond.
fn stamp(format: Format, at: i64) -> Wall {
    let unit = if format == Format::Crush { SECOND } else { MILLISECOND };
    Wall(at.div_euclid(unit) * unit)
}

fn window(process: &Process) -> Window {
    let Harness { name, adapter, format, workdir, stores, .. } = process.harness.clone();
    Window {
        run: process.run,
        harness: name,
        adapter: adapter.to_owned(),
        format,
        workdir,
        stores,
        from: Wall(process.from),
        to: process.ended.then_some(Wall(process.to)),
        live: false,
    }
}
