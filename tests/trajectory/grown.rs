//! TRJ-3, USE-2: what an agent is still writing gives what one reading of the whole gives, and a kill between
//! any two steps loses and repeats nothing: every format, through the real follower and account.
//!
//! Mostly pieces by default; `HARNESSD_FULL=1` adds each byte by itself and tries many more kills.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::base::{HarnessName, RunIds, Wall};
use harnessd::host::transcript::places::document_of;
use harnessd::store::{AccountQuery, CallRow, SessionRow, Store};
use harnessd::trajectory::{Event, Format, Needs};
use harnessd::transcripts::{Follower, Subject};
use harnessd::wire::{StorePlace, Trail};

use crate::corpus::{self, Case};
use crate::drive::{self, Dice};
use crate::rows;

/// All that was recorded happened between these.
const FROM: Wall = Wall(1_700_000_000_000_000);
const NOW: Wall = Wall(1_900_000_000_000_000);
/// More than the times of files and rows may be coarse.
const LATER: Duration = Duration::from_secs(3);

/// The daemon with a run whose window covers everything.
struct World {
    _dir: tempfile::TempDir,
    state: Utf8PathBuf,
    account: Store,
    follower: Follower,
    subject: Subject,
    told: Vec<(String, Event)>,
}

/// What is to be the same: sessions, calls, and the events of each session.
type Facts = (Vec<SessionRow>, Vec<CallRow>, BTreeMap<String, Vec<Event>>);

impl World {
    fn new(format: Format, store: &Utf8Path, cwd: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = Utf8Path::from_path(dir.path()).unwrap().to_owned();
        let place = StorePlace { path: store.to_string(), named: true, cwd: Some(cwd.to_owned()) };
        let subject = Subject {
            run: RunIds::new(7).next(FROM),
            harness: HarnessName::parse("sweep").unwrap(),
            trail: Trail {
                format: Some(format.to_string()),
                workdir: Some(cwd.to_owned()),
                stores: vec![place],
                session: None,
            },
            from: FROM,
            to: None,
            processes: Vec::new(),
            needs: Needs::Everything,
        };
        let (account, follower) = (Store::open(&state).unwrap(), Follower::new(&state));
        Self { _dir: dir, state, account, follower, subject, told: Vec::new() }
    }

    /// One look. Not committed: the daemon was killed before.
    fn look(&mut self, now: Wall, commit: bool) -> bool {
        let look = self.follower.look(std::slice::from_ref(&self.subject), now);
        if commit {
            self.account.commit_progress(&look.progress).unwrap();
            self.told.extend(look.events.into_iter().map(|(_, session, event)| (session, event)));
        }
        look.more
    }

    /// A look, and perhaps a kill before or after what it brought is committed.
    fn step(&mut self, now: Wall, dice: &mut Dice, kills: bool) {
        let fate = if kills { dice.below(4) } else { 3 };
        self.look(now, fate != 0);
        if fate < 2 {
            self.follower = Follower::new(&self.state);
        }
    }

    /// The run is over; gives all that is known.
    fn end(mut self) -> Facts {
        while self.look(NOW + LATER, true) {}
        self.subject.to = Some(NOW + LATER);
        while self.look(NOW + LATER + LATER, true) {}
        let all = AccountQuery::default();
        let mut told: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        for (session, event) in self.told {
            told.entry(session).or_default().push(event);
        }
        let (mut sessions, mut calls) =
            (self.account.sessions(&all).unwrap(), self.account.calls(&all).unwrap());
        sessions.sort_by(|one, other| one.id.cmp(&other.id));
        calls.sort_by(|one, other| one.key.cmp(&other.key));
        sessions.iter_mut().for_each(|session| session.store.clear());
        calls.iter_mut().for_each(|call| call.store.clear());
        (sessions, calls, told)
    }
}

fn is_full() -> bool {
    env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1")
}

/// The store of a case with its documents and empty streams, and how to go on writing them: older sessions first,
/// as what they hold may be copied into later ones.
fn begin(format: Format, case: &Case) -> (tempfile::TempDir, World, Vec<(Utf8PathBuf, &[u8])>) {
    let dir = tempfile::tempdir().unwrap();
    let store = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
    let mut streams = Vec::new();
    let mut cwd = None;
    for stream in &case.streams {
        let path = store.join(&stream.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for (name, text) in &stream.documents {
            fs::write(store.join(document_of(&stream.path, name).unwrap()), text).unwrap();
        }
        let documents: Vec<(&str, &[u8])> =
            stream.documents.iter().map(|(name, text)| (*name, text.as_slice())).collect();
        let (decoder, _) = drive::whole(format, &stream.path, &documents, &stream.lines, Needs::Usage);
        cwd = cwd.or_else(|| decoder.session().cwd.clone());
        streams.push((decoder.session().started_at, path, stream.lines.as_slice()));
    }
    streams.sort_by_key(|(at, ..)| *at);
    let world = World::new(format, &store, cwd.as_deref().unwrap_or("/home/user/proj"));
    (dir, world, streams.into_iter().map(|(_, path, lines)| (path, lines)).collect())
}

/// What one reading gives once all is written.
fn whole(format: Format, case: &Case) -> Facts {
    let (_dir, world, streams) = begin(format, case);
    streams.iter().for_each(|(path, lines)| append(path, lines));
    world.end()
}

/// What reading gives while pieces are written, of lengths that `length` says.
fn grown(format: Format, case: &Case, seed: u64, kills: bool, length: fn(&mut Dice) -> usize) -> Facts {
    let mut dice = Dice(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (_dir, mut world, streams) = begin(format, case);
    for (path, lines) in streams {
        let mut rest = lines;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(length(&mut dice).clamp(1, rest.len()));
            append(&path, piece);
            rest = after;
            world.step(NOW, &mut dice, kills);
        }
    }
    world.end()
}

fn append(path: &Utf8Path, text: &[u8]) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text).unwrap();
}

/// Single bytes now and then, else up to some lines.
fn some(dice: &mut Dice) -> usize {
    if dice.below(2) == 0 { 1 } else { 1 + dice.below(2000) }
}

fn assert_same(found: &Facts, expected: &Facts, what: &str) {
    assert_eq!(found.0, expected.0, "{what}");
    assert_eq!(found.1, expected.1, "{what}");
    assert_eq!(found.2, expected.2, "{what}");
}

fn files() -> impl Iterator<Item = (Format, Case)> {
    let formats = corpus::FORMATS.into_iter().filter(|format| corpus::is_of_files(*format));
    formats.flat_map(|format| corpus::cases(format).into_iter().map(move |case| (format, case)))
}

#[test]
fn files_that_grow_give_what_one_reading_gives() {
    for (format, case) in files() {
        let expected = whole(format, &case);
        let told = expected.2.values().map(Vec::len).sum::<usize>();
        assert!(told > 0, "{format} {} tells nothing", case.name);
        assert_same(&grown(format, &case, 0, false, some), &expected, &format!("{format} {}", case.name));
    }
}

/// One short case of each format, and all with `HARNESSD_FULL=1`.
#[test]
fn files_that_grow_byte_by_byte_give_what_one_reading_gives() {
    let mut seen: BTreeMap<Format, usize> = BTreeMap::new();
    let mut all: Vec<(Format, Case)> = files().collect();
    let size = |case: &Case| case.streams.iter().map(|stream| stream.lines.len()).sum::<usize>();
    all.sort_by_key(|(_, case)| size(case));
    for (format, case) in all {
        let nth = seen.entry(format).or_default();
        *nth += 1;
        if is_full() || *nth == 1 && size(&case) < 6000 {
            let (found, expected) = (grown(format, &case, 0, false, |_| 1), whole(format, &case));
            assert_same(&found, &expected, &format!("{format} {}", case.name));
        }
    }
}

#[test]
fn a_kill_while_files_grow_loses_and_repeats_nothing() {
    let seeds = if is_full() { 64 } else { 1 };
    for (format, case) in files() {
        let expected = whole(format, &case);
        for seed in 0..seeds {
            let found = grown(format, &case, seed, true, some);
            assert_same(&found, &expected, &format!("{format} {}, seed {seed}", case.name));
        }
    }
}

/// Rows are inserted and replaced one by one. Of totals the steps differ, and come to the same.
#[test]
fn databases_that_grow_give_what_one_reading_gives_also_over_kills() {
    let seeds = if is_full() { 64 } else { 3 };
    for format in corpus::FORMATS.into_iter().filter(|format| !corpus::is_of_files(*format)) {
        for (number, rows) in corpus::written(format).iter().enumerate() {
            let expected = of_rows(format, rows, None);
            assert!(!expected.2.is_empty(), "{format} {number} tells nothing");
            for seed in 0..seeds {
                let found = of_rows(format, rows, Some(seed));
                let what = format!("{format} {number}, seed {seed}");
                if format == Format::Hermes {
                    assert_eq!(found.0, expected.0, "{what}");
                    assert_eq!(sums(&found), sums(&expected), "{what}");
                } else {
                    assert_same(&found, &expected, &what);
                }
            }
        }
    }
}

/// Rows as they are looked at after each, the first seed without kills; none: after all.
fn of_rows(format: Format, rows: &[serde_json::Value], seed: Option<u64>) -> Facts {
    let store = rows::Store::new(format);
    let cwd = ["directory", "working_dir", "cwd"].iter().find_map(|column| rows[0][*column].as_str());
    let mut world = World::new(format, &store.path, cwd.unwrap_or("/home/user/proj"));
    let mut dice = Dice(seed.unwrap_or(0).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for row in rows {
        store.put(row);
        if let Some(seed) = seed {
            world.step(NOW, &mut dice, seed > 0);
        }
    }
    world.end()
}

fn sums(facts: &Facts) -> Vec<(u64, u64, u64)> {
    let tokens = |session: &SessionRow| {
        let own = facts.1.iter().filter(|call| call.session == session.id).filter_map(|call| call.tokens);
        own.fold((0, 0, 0), |sum, call| (sum.0 + call.input, sum.1 + call.cached, sum.2 + call.output))
    };
    facts.0.iter().map(tokens).collect()
}
