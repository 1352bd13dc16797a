//! What questions tell: what is withheld (TRJ-6), and by what usage is summed up (USE-5).

use std::collections::BTreeMap;
use std::time::Duration;

use camino::Utf8Path;

use crate::base::{HarnessName, Outcome, RunId, RunIds, Trigger, Wall};
use crate::correlate::{Known, Peer};
use crate::store::{CallRow, Progress, SessionRow, Store};
use crate::trajectory::{Format, Tokens};
use crate::transcripts::{Circumstances, Declared, Inquiry, Warning, told_warnings};
use crate::wire::{By, ErrorCode, Evidence, Launched, Record, Run, StorePlace, Trail};

fn name(text: &str) -> HarnessName {
    HarnessName::parse(text).unwrap()
}

fn place(path: &str) -> StorePlace {
    StorePlace { path: path.to_owned(), named: true, cwd: None }
}

/// A harness with a store of its own and one that all have.
fn declared(text: &str, harvest: bool) -> (HarnessName, Declared) {
    let peer = Peer {
        harness: name(text),
        adapter: "claude-code".to_owned(),
        format: Some(Format::ClaudeCode),
        workdir: Some(format!("/{text}")),
        stores: vec![place(&format!("/store/{text}")), place("/shared")],
    };
    (name(text), Declared { harvest, native: true, zone: chrono_tz::UTC, peer, warnings: Vec::new() })
}

/// A warning names a file, and with it a session, only where all who use its store let theirs be read.
#[test]
fn a_warning_names_no_session_that_is_withheld() {
    let declared = BTreeMap::from([declared("open", true), declared("closed", false)]);
    let warning = |path: &str, store: Option<&str>| Warning {
        path: path.to_owned(),
        message: "it is odd".to_owned(),
        store: store.map(str::to_owned),
    };
    let told = told_warnings(
        [
            warning("/store/open/p/a.jsonl", Some("/store/open")),
            warning("/store/closed/p/b.jsonl", Some("/store/closed")),
            warning("/store/closed/p/c.jsonl", Some("/store/closed")),
            warning("/shared/p/d.jsonl", Some("/shared")),
            warning("/of/a/harness/that/is/gone.jsonl", Some("/of")),
            warning("/state.db", None),
        ],
        &declared,
    );
    assert_eq!(
        told,
        [
            "/of: it is odd",
            "/shared: it is odd",
            "/state.db: it is odd",
            "/store/closed: it is odd",
            "/store/open/p/a.jsonl: it is odd",
        ]
    );
}

/// One run of a harness with one session in its store; such runs follow one another.
fn ran(store: &mut Store, run: RunId, begun: i64, harness: &str, session: &str) {
    let row = Run {
        started_at: Some(Wall(begun)),
        ended_at: Some(Wall(begun + 9_000_000)),
        outcome: Some(Outcome::Ok),
        ..Run::new(run, name(harness), Trigger::Manual, "claude-code".to_owned(), "d0".to_owned())
    };
    let trail = Trail {
        format: Some("claude-code".to_owned()),
        workdir: Some(format!("/{harness}")),
        stores: vec![place(&format!("/store/{harness}"))],
        session: Some(session.to_owned()),
    };
    let facts = Launched { pid: 1, trail: Some(trail), ..Launched::default() };
    store
        .commit(&[
            Record::RunStarted(row.clone()),
            Record::RunSpawned { id: run, facts },
            Record::RunEnded(row),
        ])
        .unwrap();
    let session = SessionRow {
        format: Format::ClaudeCode,
        id: session.to_owned(),
        store: format!("/store/{harness}"),
        streams: vec!["p/s.jsonl".to_owned()],
        parent: None,
        cwd: Some(format!("/{harness}")),
        started_at: Some(Wall(begun + 2_000_000)),
        last_at: Some(Wall(begun + 3_000_000)),
        models: Vec::new(),
    };
    let known =
        Known { run, format: Format::ClaudeCode, session: session.id.clone(), evidence: Evidence::LaunchId };
    let progress = Progress { sessions: vec![session], known: vec![known], ..Progress::default() };
    store.commit_progress(&progress).unwrap();
}

/// What is withheld makes nothing ambiguous, and its ids are not named to tell it apart.
#[test]
fn what_is_withheld_is_not_among_those_that_may_be_meant() {
    let dir = tempfile::tempdir().unwrap();
    let state = Utf8Path::from_path(dir.path()).unwrap();
    let mut store = Store::open(state).unwrap();
    let mut ids = RunIds::new(1);
    for (begun, harness) in [(100_000_000, "open"), (200_000_000, "closed"), (300_000_000, "other")] {
        ran(&mut store, ids.next(Wall(begun)), begun, harness, "same");
    }
    let around = Circumstances { now: Wall(400_000_000), ..Circumstances::default() };
    let ask = |open: &[&str]| {
        let declared: BTreeMap<_, _> =
            ["open", "closed", "other"].iter().map(|one| declared(one, open.contains(one))).collect();
        let inquiry = Inquiry { store: &store, declared: &declared, around: &around };
        inquiry.trajectory("same").map(|telling| telling.view.harness.to_string())
    };
    assert_eq!(ask(&["open"]).unwrap(), "open");
    let refused = ask(&[]).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotHarvested);
    let several = ask(&["open", "other"]).unwrap_err();
    assert_eq!(several.message, "`same` may be any of 2 trajectories");
}

/// USE-5: a day is one of the zone of the harness: a call shortly before midnight there, and one shortly after it,
/// on a day of 25 hours too.
#[test]
fn a_day_is_one_of_the_harness_s_zone() {
    // 2026-10-25 in Berlin has 25 hours: it begins at 22:00 UTC the day before and ends at 23:00 UTC.
    let at = |text: &str| Wall::parse_rfc3339(text).unwrap();
    let times =
        ["2026-10-24T21:59:50Z", "2026-10-24T22:00:10Z", "2026-10-25T22:59:50Z", "2026-10-25T23:00:10Z"];
    let used_by_day = |zone| {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(Utf8Path::from_path(dir.path()).unwrap()).unwrap();
        let mut ids = RunIds::new(1);
        for (number, time) in times.into_iter().map(at).enumerate() {
            let (begun, session) = (time - Duration::from_secs(4), number.to_string());
            ran(&mut store, ids.next(begun), begun.0, "open", &session);
            let call = CallRow {
                format: Format::ClaudeCode,
                key: session.clone(),
                store: "/store/open".to_owned(),
                session,
                at: time,
                model: None,
                tokens: Some(Tokens {
                    input: 10_u64.pow(u32::try_from(number).unwrap()),
                    cached: 0,
                    output: 0,
                }),
                cost_usd: None,
            };
            store.commit_progress(&Progress { calls: vec![call], ..Progress::default() }).unwrap();
        }
        let (harness, open) = declared("open", true);
        let declared = BTreeMap::from([(harness, Declared { zone, ..open })]);
        let around = Circumstances { now: at("2026-11-30T00:00:00Z"), ..Circumstances::default() };
        let inquiry = Inquiry { store: &store, declared: &declared, around: &around };
        let rows = inquiry.usage(None, Some(By::Day), None).unwrap().rows;
        rows.into_iter().map(|row| (row.key.day.unwrap(), row.usage.input)).collect::<Vec<_>>()
    };
    let day = |text: &str, input| (text.to_owned(), input);
    let berlin = [day("2026-10-24", 1), day("2026-10-25", 110), day("2026-10-26", 1000)];
    assert_eq!(used_by_day(chrono_tz::Europe::Berlin), berlin);
    assert_eq!(used_by_day(chrono_tz::UTC), [day("2026-10-24", 11), day("2026-10-25", 1100)]);
}
