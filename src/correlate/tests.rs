//! The rule, scenario by scenario: times are seconds, `w` and `v` working directories.

mod evidence;
mod instants;
mod scenarios;
mod stores;

use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::{Attribution, Facts, Found, Known, Peer, Window, attribute};
use crate::trajectory::Format;
use crate::wire::{Evidence, StorePlace};

/// The store that several harnesses share.
const SHARED: &str = "/home/u/.crush/crush.db";

fn name(text: &str) -> HarnessName {
    HarnessName::parse(text).unwrap()
}

fn at(seconds: f64) -> Wall {
    #[expect(clippy::cast_possible_truncation, reason = "the tests' times are small")]
    Wall((seconds * 1e6).round() as i64)
}

fn id(number: u64) -> RunId {
    format!("00000000-0000-7000-8000-{number:012}").parse().unwrap()
}

/// A store that the harness does not name.
fn inferred(path: &str) -> StorePlace {
    StorePlace { path: path.to_owned(), named: false, cwd: None }
}

/// A store of the harness's own.
fn named(path: &str) -> StorePlace {
    StorePlace { named: true, ..inferred(path) }
}

/// A run of a crush harness in `/w` that writes to [`SHARED`].
fn run(number: u64, harness: &str, from: f64, to: f64) -> Window {
    Window {
        run: id(number),
        harness: name(harness),
        adapter: "crush".to_owned(),
        format: Some(Format::Crush),
        workdir: Some("/w".to_owned()),
        stores: vec![inferred(SHARED)],
        from: at(from),
        to: Some(at(to)),
        live: false,
    }
}

/// A crush harness in `/w` that never ran.
fn peer(harness: &str) -> Peer {
    Peer {
        harness: name(harness),
        adapter: "crush".to_owned(),
        format: Some(Format::Crush),
        workdir: Some("/w".to_owned()),
        stores: vec![inferred(SHARED)],
    }
}

/// A session in `/w` and [`SHARED`].
fn session(start: f64) -> Found {
    Found {
        format: Format::Crush,
        id: "s".to_owned(),
        store: SHARED.to_owned(),
        cwd: Some("/w".to_owned()),
        started_at: Some(at(start)),
    }
}

fn in_store(start: f64, store: &str) -> Found {
    Found { store: store.to_owned(), ..session(start) }
}

fn known(run: u64, evidence: Evidence) -> Known {
    Known { run: id(run), format: Format::Crush, session: "s".to_owned(), evidence }
}

/// Every harness is recorded since 0, and it is 1000 now.
fn facts(windows: impl IntoIterator<Item = Window>) -> Facts {
    let windows: Vec<Window> = windows.into_iter().collect();
    let since = windows.iter().map(|window| (window.harness.clone(), at(0.0))).collect();
    Facts { windows, since, home: Some("/home/u".to_owned()), now: at(1000.0), ..Facts::default() }
}

fn by_inference(number: u64) -> Attribution {
    Attribution::To(vec![(id(number), Evidence::Inferred)])
}

/// The names of those who exclude one another from a session.
fn claimants(session: &Found, facts: &Facts) -> Vec<String> {
    match attribute(session, facts) {
        Attribution::Excluded { claimants, .. } => claimants.iter().map(ToString::to_string).collect(),
        other => vec![format!("{other:?}")],
    }
}
