//! Records in, runs out.

use super::{State, ended, id, name, skills, skipped, started};
use crate::base::{Outcome, Trigger, Wall};
use crate::store::{PrunedRun, RunQuery, StoreProblem};
use crate::wire::{Launched, Record, Run, Stretch};

/// A run with every field set, each to a value of its own.
fn full(n: u32) -> Run {
    Run {
        id: id(n),
        harness: name("web/sweep"),
        trigger: Trigger::CatchUp,
        attempt: 3,
        planned_at: Some(Wall(1_764_504_000_000_001)),
        started_at: Some(Wall(1_764_504_001_000_002)),
        ended_at: Some(Wall(1_764_504_002_000_003)),
        outcome: Some(Outcome::Timeout),
        cause: Some("ran longer than 1 h: é \0 '".into()),
        until: Some(Wall(1_764_504_003_000_004)),
        lingered: true,
        missed: Some(Stretch { first: Wall(5), last: Wall(7), count: 3 }),
        exit_code: Some(-7),
        signal: Some("SIGTERM".into()),
        pid: Some(4711),
        process_start: Some(815),
        adapter: "claude-code".into(),
        agent_version: Some("2.1.332 (Claude Code)".into()),
        command: vec!["claude".into(), "-p".into(), String::new(), "a\nb".into()],
        workdir: Some("/home/u/app".into()),
        git_before: Some("c0ffee".into()),
        git_after: Some("facade".into()),
        definition_hash: "ab12".into(),
        report: Some("claude-code".into()),
        dropped_bytes: 1 << 40,
        log: Some("/state/logs/web@sweep/x.log".into()),
        skills: skills(&["deploy", "review"]),
    }
}

/// RUN-1: every field of a run reads back as it was written, also after the store was closed.
#[test]
fn every_field_of_a_run_is_kept() {
    let state = State::new();
    let (whole, bare) = (full(1), started(2, "tick"));
    state.open().commit(&[Record::RunEnded(whole.clone()), Record::RunStarted(bare.clone())]).unwrap();
    assert_eq!(state.open().runs(&RunQuery::default()), Ok(vec![bare, whole]));
}

/// RUN-1: every outcome and every trigger keeps its word.
#[test]
fn every_outcome_and_trigger_is_kept() {
    let state = State::new();
    let mut store = state.open();
    let mut written = Vec::new();
    for outcome in Outcome::ALL {
        for trigger in Trigger::ALL {
            let n = u32::try_from(written.len()).unwrap();
            written.push(Run { trigger: *trigger, ..ended(n, "tick", *outcome) });
        }
    }
    let records: Vec<Record> = written.iter().cloned().map(Record::RunEnded).collect();
    store.commit(&records).unwrap();
    written.reverse();
    assert_eq!(store.runs(&RunQuery { limit: 1000, ..RunQuery::default() }), Ok(written));
}

/// RUN-1, LIF-9: a run is recorded at its start, completed at its spawn and replaced by its final row.
#[test]
fn a_run_is_started_then_spawned_then_ended() {
    let state = State::new();
    let mut store = state.open();
    let run = Run { workdir: Some("/w".into()), ..started(1, "tick") };
    store.commit(&[Record::RunStarted(run.clone())]).unwrap();
    assert_eq!(store.open_runs(), Ok(vec![run.clone()]));

    let spawned = Record::RunSpawned {
        id: run.id,
        facts: Launched {
            pid: 99,
            process_start: 7,
            command: vec!["sleep".into(), "9".into()],
            log: Some("/l".into()),
            skills: skills(&["a"]),
            report: Some("codex".into()),
            git_before: Some("c0ffee".into()),
            workdir: None,
            trail: Some(super::account::trail(Some("s"))),
        },
    };
    store.commit(&[spawned]).unwrap();
    let alive = Run {
        pid: Some(99),
        process_start: Some(7),
        report: Some("codex".into()),
        git_before: Some("c0ffee".into()),
        command: vec!["sleep".into(), "9".into()],
        log: Some("/l".into()),
        skills: skills(&["a"]),
        ..run
    };
    assert_eq!(store.open_runs(), Ok(vec![alive.clone()]));

    let over = Run { ended_at: Some(Wall(5)), outcome: Some(Outcome::Ok), exit_code: Some(0), ..alive };
    store.commit(&[Record::RunEnded(over.clone())]).unwrap();
    assert_eq!(store.open_runs(), Ok(Vec::new()));
    assert_eq!(store.run(&over.id.to_string()), Ok(over));
}

/// SCH-9, SCH-11: a run that waits for its turn has a row from its claim on; its start fills that row in, once.
#[test]
fn a_queued_run_is_started_in_its_own_row() {
    let state = State::new();
    let mut store = state.open();
    let queued = Run { planned_at: Some(Wall(4)), started_at: None, ..started(1, "tick") };
    let claim = Record::Fired { harness: name("tick"), expression: "@hourly".into(), at: Wall(4) };
    store.commit(&[claim, Record::RunQueued(queued.clone())]).unwrap();
    assert_eq!(store.open_runs(), Ok(vec![queued.clone()]));

    let begun = Run { started_at: Some(Wall(9)), ..queued.clone() };
    store.commit(&[Record::RunStarted(begun.clone())]).unwrap();
    assert_eq!(store.open_runs(), Ok(vec![begun.clone()]));
    let version = Record::RunVersion { id: id(1), version: "codex-cli 0.61".into() };
    store.commit(std::slice::from_ref(&version)).unwrap();
    let told = Run { agent_version: Some("codex-cli 0.61".into()), ..begun.clone() };
    assert_eq!(store.open_runs(), Ok(vec![told.clone()]));

    for again in [Record::RunStarted(begun.clone()), Record::RunQueued(queued.clone())] {
        let refused = store.commit(&[again]).unwrap_err();
        assert_eq!(refused.problem, StoreProblem::Recorded(id(1)));
        assert_eq!(store.open_runs(), Ok(vec![told.clone()]));
    }
    // Neither is a queued run that was cancelled started afterwards.
    let cancelled = Run { outcome: Some(Outcome::Stopped), ended_at: Some(Wall(5)), ..queued };
    store.commit(&[Record::RunEnded(Run { id: id(2), ..cancelled })]).unwrap();
    let late = Record::RunStarted(Run { id: id(2), ..begun });
    assert_eq!(store.commit(&[late]).unwrap_err().problem, StoreProblem::Recorded(id(2)));
    // A version that comes when its run is pruned already is nobody's.
    store.prune(&name("tick"), 0).unwrap();
    store.commit(&[Record::RunVersion { id: id(2), version: "x".into() }]).unwrap();
}

/// RUN-1: a spawn that fails is a run with a start, and its end closes no earlier one.
#[test]
fn an_end_closes_only_its_own_run() {
    let state = State::new();
    let mut store = state.open();
    let first = started(1, "tick");
    store.commit(&[Record::RunStarted(first.clone()), Record::RunStarted(started(2, "tick"))]).unwrap();
    let failed = ended(2, "tick", Outcome::SpawnFailed);
    store.commit(&[Record::RunEnded(failed.clone())]).unwrap();
    assert_eq!(store.runs(&RunQuery::default()), Ok(vec![failed, first]));
}

/// LIF-9: one turn is one transaction; a record that cannot be applied takes the others with it.
#[test]
fn a_turn_is_remembered_whole_or_not_at_all() {
    let state = State::new();
    let mut store = state.open();
    let spawned = |n| Record::RunSpawned {
        id: id(n),
        facts: Launched { pid: 1, skills: skills(&["a"]), ..Launched::default() },
    };
    let turn = [
        Record::RunStarted(started(1, "tick")),
        Record::Fired { harness: name("tick"), expression: "@hourly".into(), at: Wall(1) },
        Record::Intent { harness: name("tick"), wanted: true },
        spawned(2),
    ];
    let error = store.commit(&turn).unwrap_err();
    assert_eq!(error.problem, StoreProblem::NoSuchRun(id(2)));
    assert_eq!(
        error.to_string(),
        format!("state store `{}`: run 0192a000-0000-7002-8000-000000000002 is not recorded", state.file())
    );
    assert_eq!(store.runs(&RunQuery::default()), Ok(Vec::new()));
    assert_eq!(store.remembered(), Ok(crate::store::Remembered::default()));

    store.commit(&turn[..3]).unwrap();
    let twice = store.commit(&[Record::Skipped(skipped(3, "tick")), turn[0].clone()]).unwrap_err();
    assert_eq!(
        twice.to_string(),
        format!(
            "state store `{}`: run 0192a000-0000-7001-8000-000000000001 is recorded already",
            state.file()
        )
    );
    assert_eq!(store.runs(&RunQuery::default()), Ok(vec![started(1, "tick")]));
}

/// LIF-9: a turn that claims a slot is flushed to the disk, any other is not; a failed one leaves no trace.
#[test]
fn only_a_claim_is_flushed() {
    let state = State::new();
    let mut store = state.open();
    let flushed = |store: &crate::store::Store| -> i64 {
        let connection = &store.writer.as_ref().unwrap().connection;
        connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
    };
    let claim = Record::Fired { harness: name("tick"), expression: "@hourly".into(), at: Wall(1) };
    store.commit(&[Record::RunStarted(started(1, "tick"))]).unwrap();
    assert_eq!(flushed(&store), 1, "NORMAL");
    store.commit(&[Record::RunStarted(started(2, "tick")), claim.clone()]).unwrap();
    assert_eq!(flushed(&store), 2, "FULL");
    store.commit(&[claim, Record::RunStarted(started(2, "tick"))]).unwrap_err();
    store.commit(&[Record::RunEnded(ended(2, "tick", Outcome::Ok))]).unwrap();
    assert_eq!(flushed(&store), 1, "NORMAL");
}

/// LIF-2, SCH-7: intents, the last slot of each schedule and the last run are there at the next start.
#[test]
fn what_was_intended_is_remembered() {
    let state = State::new();
    let fired = |harness: &str, expression: &str, at| Record::Fired {
        harness: name(harness),
        expression: expression.into(),
        at: Wall(at),
    };
    let intent = |harness: &str, wanted| Record::Intent { harness: name(harness), wanted };
    let last = ended(3, "tick", Outcome::Failed);
    state
        .open()
        .commit(&[
            fired("tick", "@hourly", 5),
            fired("web/sweep", "@daily", 6),
            fired("tick", "@every 5m", 7),
            intent("a", true),
            intent("b", true),
            intent("b", false),
            Record::RunEnded(ended(2, "tick", Outcome::Ok)),
            Record::RunEnded(last.clone()),
            Record::Skipped(skipped(4, "tick")),
            Record::RunStarted(started(5, "tick")),
            Record::RunStarted(started(6, "a")),
            Record::Profile { name: "day".into() },
            Record::Profile { name: "night".into() },
        ])
        .unwrap();
    let remembered = state.open().remembered().unwrap();
    assert_eq!(remembered.profile.as_deref(), Some("night"), "CFG-12");
    assert_eq!(remembered.intents, [(name("a"), true), (name("b"), false)].into());
    assert_eq!(
        remembered.last_firings,
        [
            (name("tick"), ("@every 5m".to_owned(), Wall(7))),
            (name("web/sweep"), ("@daily".to_owned(), Wall(6)))
        ]
        .into()
    );
    assert_eq!(remembered.last_runs, [(name("tick"), last)].into());
}

/// RUN-3: `keep_runs` keeps the newest; an open run stays, and each pruned one leaves its window.
#[test]
fn old_runs_are_reduced_to_their_windows() {
    let state = State::new();
    let mut store = state.open();
    let mut records = vec![Record::RunStarted(started(1, "tick"))];
    for n in 2..=6 {
        let log = Some(format!("/logs/{n}"));
        records.push(Record::RunEnded(Run { log, ..ended(n, "tick", Outcome::Ok) }));
    }
    records.push(Record::RunEnded(ended(7, "tick", Outcome::Failed)));
    records.push(Record::RunEnded(ended(8, "other", Outcome::Ok)));
    store.commit(&records).unwrap();

    let soon = Wall(10_000_000);
    assert_eq!(store.prune(&name("tick"), 6), Ok(Vec::new()));
    let mut pruned = store.prune_at(&name("tick"), 3, soon).unwrap();
    pruned.sort_by_key(|run| run.id);
    let gone = |n: u32| PrunedRun { id: id(n), log: Some(format!("/logs/{n}")) };
    assert_eq!(pruned, [gone(2), gone(3), gone(4)]);
    let left: Vec<_> = store.runs(&RunQuery::default()).unwrap().iter().map(|run| run.id).collect();
    assert_eq!(left, [8, 7, 6, 5, 1].map(id));
    assert_eq!(store.prune_at(&name("tick"), 3, soon), Ok(Vec::new()));

    assert_eq!(store.prune_at(&name("tick"), 0, soon).unwrap().len(), 3);
    assert_eq!(store.open_runs(), Ok(vec![started(1, "tick")]));
    let windows: Vec<(String, String, i64, i64)> = state
        .raw()
        .prepare("SELECT id, harness, started_at, ended_at FROM windows ORDER BY id")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let window = |n: u32| {
        let at = i64::from(n) * 1_000_000;
        (id(n).to_string(), "tick".to_owned(), at, at + 500_000)
    };
    assert_eq!(windows, [2, 3, 4, 5, 6, 7].map(window));
    let error = store.run(&id(3).to_string()).unwrap_err();
    assert_eq!(error.to_string(), format!("run {} of `tick` is pruned", id(3)));
}

/// RUN-3, SCH-11: slots that were not run are bounded by `keep_runs` too, but apart: a schedule that is
/// skipped every minute pushes no run out, and leaves no window.
#[test]
fn skipped_slots_push_no_run_out() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[1, 2, 3].map(|n| Record::RunEnded(ended(n, "tick", Outcome::Ok)))).unwrap();
    for n in 4..100 {
        let missed = Run { outcome: Some(Outcome::Missed), ..skipped(n, "tick") };
        let slot = if n % 2 == 0 { missed } else { skipped(n, "tick") };
        store.commit(&[Record::Skipped(slot)]).unwrap();
        store.prune_at(&name("tick"), 3, Wall(0)).unwrap();
    }
    let left: Vec<_> = store.runs(&RunQuery::default()).unwrap().iter().map(|run| run.id).collect();
    assert_eq!(left, [99, 98, 97, 3, 2, 1].map(id));
    assert_eq!(store.remembered().unwrap().last_runs, [(name("tick"), ended(3, "tick", Outcome::Ok))].into());
    let windows: i64 = state.raw().query_row("SELECT count(*) FROM windows", [], |row| row.get(0)).unwrap();
    assert_eq!(windows, 0);
}

/// RUN-3: the runs of a harness that is gone stay as they are until they are 400 days old.
#[test]
fn runs_of_a_harness_that_is_gone_expire() {
    let state = State::new();
    let mut store = state.open();
    let young = Run { ended_at: Some(crate::store::now()), ..ended(2, "gone", Outcome::Ok) };
    let records = [
        Record::RunEnded(ended(1, "gone", Outcome::Ok)),
        Record::RunEnded(young.clone()),
        Record::Skipped(skipped(3, "gone")),
        Record::RunStarted(started(4, "gone")),
        Record::RunEnded(ended(5, "here", Outcome::Ok)),
    ];
    store.commit(&records).unwrap();
    let mut expired: Vec<_> = store.expire(&name("gone")).unwrap().iter().map(|run| run.id).collect();
    expired.sort();
    assert_eq!(expired, [1, 3].map(id));
    let left: Vec<_> = store.runs(&RunQuery::default()).unwrap();
    assert_eq!(left, [ended(5, "here", Outcome::Ok), started(4, "gone"), young]);
}

/// RUN-3: a window is kept for 400 days and no longer.
#[test]
fn a_window_is_kept_for_400_days() {
    let state = State::new();
    let mut store = state.open();
    let windows =
        || -> i64 { state.raw().query_row("SELECT count(*) FROM windows", [], |row| row.get(0)).unwrap() };
    let day = 24 * 60 * 60 * 1_000_000;
    let record = |n| Record::RunEnded(ended(n, "tick", Outcome::Ok));
    store.commit(&[record(1), record(2)]).unwrap();
    store.prune_at(&name("tick"), 1, Wall(400 * day)).unwrap();
    assert_eq!(windows(), 1, "it ended 399.99 days ago");
    store.commit(&[record(3)]).unwrap();
    store.prune_at(&name("tick"), 1, Wall(400 * day + 2_000_000)).unwrap();
    assert_eq!(windows(), 1, "the older one is gone, the newer one has come");
}

/// RUN-1: equal lists of skills are kept once and go with the last run that names them.
#[test]
fn a_list_of_skills_is_kept_once() {
    let state = State::new();
    let mut store = state.open();
    let sets =
        || -> i64 { state.raw().query_row("SELECT count(*) FROM skill_sets", [], |row| row.get(0)).unwrap() };
    let with =
        |n, list: &[&str]| Record::RunEnded(Run { skills: skills(list), ..ended(n, "tick", Outcome::Ok) });
    store.commit(&[with(1, &["a", "b"]), with(2, &["a", "b"]), with(3, &["b"]), with(4, &[])]).unwrap();
    assert_eq!(sets(), 2);
    store.prune(&name("tick"), 3).unwrap();
    assert_eq!(sets(), 2);
    store.prune(&name("tick"), 2).unwrap();
    assert_eq!(sets(), 1);
    assert_eq!(store.run(&id(3).to_string()).unwrap().skills, skills(&["b"]));
}
