//! Asking for runs.

use super::{State, ended, id, name, skipped, started};
use crate::base::{Outcome, RunId, Wall};
use crate::store::read::{SELECT_OPEN, statement};
use crate::store::{AccountQuery, RunLookupError, RunQuery, Store, account};
use crate::wire::{ErrorCode, Record};

fn ids(store: &Store, query: &RunQuery) -> Vec<RunId> {
    store.runs(query).unwrap().iter().map(|run| run.id).collect()
}

fn numbers(list: &[u32]) -> Vec<RunId> {
    list.iter().copied().map(id).collect()
}

/// RUN-2: newest first, 50 unless said, by harness, by failure, by time.
#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let state = State::new();
    let mut store = state.open();
    let records: Vec<Record> = (1..=60)
        .map(|n| Record::RunEnded(ended(n, if n % 2 == 0 { "even" } else { "odd" }, Outcome::Ok)))
        .collect();
    store.commit(&records).unwrap();
    let all = RunQuery::default();
    assert_eq!(ids(&store, &all), numbers(&(11..=60).rev().collect::<Vec<_>>()));
    let even = RunQuery { harness: Some(name("even")), limit: 2, ..all.clone() };
    assert_eq!(ids(&store, &even), numbers(&[60, 58]));
    let late = RunQuery { since: Some(Wall(58_000_000)), ..all.clone() };
    assert_eq!(ids(&store, &late), numbers(&[60, 59, 58]));
    let late_odd = RunQuery { harness: Some(name("odd")), ..late };
    assert_eq!(ids(&store, &late_odd), numbers(&[59]));
    assert_eq!(ids(&store, &RunQuery { limit: 0, ..all.clone() }), []);
    assert_eq!(ids(&store, &RunQuery { harness: Some(name("none")), ..all }), []);
}

/// RUN-2: `--failed` is whatever did not go well: every outcome but `ok`, `stopped`, `replaced` and `skipped`.
#[test]
fn failed_runs_are_those_that_went_wrong() {
    let state = State::new();
    let mut store = state.open();
    let numbered = || (1..).zip(Outcome::ALL);
    let mut records: Vec<Record> =
        numbered().map(|(n, outcome)| Record::RunEnded(ended(n, "tick", *outcome))).collect();
    records.push(Record::RunStarted(started(40, "tick")));
    records.push(Record::Skipped(skipped(41, "tick")));
    store.commit(&records).unwrap();
    let failed = store.runs(&RunQuery { failed: true, ..RunQuery::default() }).unwrap();
    let mut outcomes: Vec<Outcome> = failed.iter().filter_map(|run| run.outcome).collect();
    outcomes.sort();
    let well = [Outcome::Ok, Outcome::Stopped, Outcome::Replaced, Outcome::Skipped];
    let expected: Vec<Outcome> = Outcome::ALL.iter().copied().filter(|one| !well.contains(one)).collect();
    assert_eq!(outcomes, expected);
}

/// RUN-2: a slot that was never started counts by the time it was planned for.
#[test]
fn a_skipped_slot_has_a_time_too() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[Record::Skipped(skipped(3, "tick")), Record::Skipped(skipped(5, "tick"))]).unwrap();
    let query = RunQuery { since: Some(Wall(4_000_000)), ..RunQuery::default() };
    assert_eq!(ids(&store, &query), numbers(&[5]));
}

/// RUN-2: a run is found by its id in any case, or by 4 characters or more from either end.
#[test]
fn a_run_is_found_by_a_part_of_its_id() {
    let state = State::new();
    let mut store = state.open();
    let runs = [ended(0x1001, "a", Outcome::Ok), ended(0x2002, "b", Outcome::Ok), started(0x2003, "b")];
    store.commit(&runs.clone().map(Record::RunEnded)).unwrap();
    for (part, run) in [
        ("0192a000-0001-7001-8000-000000001001", &runs[0]),
        ("0192A000-0001-7001-8000-000000001001", &runs[0]),
        ("0192a000000170018000000000001001", &runs[0]),
        ("1001", &runs[0]),
        ("0192a000-0001", &runs[0]),
        ("2002", &runs[1]),
        ("0192a000-0002-7003", &runs[2]),
    ] {
        assert_eq!(store.run(part).as_ref(), Ok(run), "{part}");
    }
}

/// RUN-2: a part that fits several runs lists them, newest first.
#[test]
fn an_ambiguous_part_lists_the_candidates() {
    let state = State::new();
    let mut store = state.open();
    store.commit(&[1, 2, 3].map(|n| Record::RunStarted(started(n, "a")))).unwrap();
    let error = store.run("0192").unwrap_err();
    assert_eq!(error, RunLookupError::Ambiguous { part: "0192".into(), candidates: numbers(&[3, 2, 1]) });
    let body = error.body();
    assert_eq!((body.code, body.message.as_str()), (ErrorCode::UnknownRun, "`0192` may be any of 3 runs"));
    assert_eq!(body.help, Some(format!("they are `{}`, `{}`, `{}`", id(3), id(2), id(1))));
    store.commit(&[4, 5, 6].map(|n| Record::RunStarted(started(n, "a")))).unwrap();
    let help = store.run("0192").unwrap_err().body().help.unwrap();
    assert!(help.starts_with(&format!("the newest of them are `{}`, ", id(6))), "{help}");
    assert_eq!(help.matches("0192a000").count(), 5);
}

/// RUN-2, CTL-6: a miss names the nearest runs, or those of the harness that was named.
#[test]
fn an_unknown_run_lists_the_nearest() {
    let state = State::new();
    let mut store = state.open();
    let error = store.run("beef").unwrap_err();
    assert_eq!(error, RunLookupError::Unknown { part: "beef".into(), nearest: Vec::new() });
    assert_eq!(error.body().help.as_deref(), Some("`harnessd runs` lists them"));

    store.commit(&[0x1001, 0x2002].map(|n| Record::RunStarted(started(n, "web/sweep")))).unwrap();
    let error = store.run("00002003").unwrap_err();
    assert_eq!(
        error,
        RunLookupError::Unknown { part: "00002003".into(), nearest: numbers(&[0x2002, 0x1001]) }
    );
    assert_eq!(error.to_string(), "unknown run `00002003`");
    assert_eq!(error.body().help, Some(format!("did you mean `{}`, `{}`?", id(0x2002), id(0x1001))));
    let whole = store.run("0192a000-0001-7001-8000-000000001009").unwrap_err();
    assert_eq!(
        whole,
        RunLookupError::Unknown {
            part: "0192a000-0001-7001-8000-000000001009".into(),
            nearest: numbers(&[0x1001, 0x2002])
        }
    );
    let named = store.run("web/sweep").unwrap_err();
    assert_eq!(
        named,
        RunLookupError::Unknown { part: "web/sweep".into(), nearest: numbers(&[0x2002, 0x1001]) }
    );
    assert_eq!(store.run("é\n").unwrap_err().to_string(), r"unknown run `é\n`");
    assert_eq!(
        store.run("ab").unwrap_err().to_string(),
        "`ab` is too short for a part of a run id: at least 4 characters are needed"
    );
}

/// RUN-2: every question about runs, and about the account, goes through an index; those about runs sort nothing. Facts
/// are of all runs that are not pruned.
#[test]
fn questions_are_answered_through_an_index() {
    let state = State::new();
    let store = state.open();
    let connection = &store.writer.as_ref().unwrap().connection;
    let plan = |sql: &str, values: Vec<rusqlite::types::Value>| -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement
            .query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>("detail"))
            .unwrap()
            .map(Result::unwrap);
        steps.collect::<Vec<_>>().join("; ")
    };
    let texts = |count: usize| vec![rusqlite::types::Value::from(String::new()); count];
    let harness = Some(name("tick"));
    let skills = "SEARCH s USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN";
    let (sql, values) = statement(&RunQuery { harness, failed: true, since: Some(Wall(1)), limit: 50 });
    assert_eq!(plan(&sql, values), format!("SEARCH r USING INDEX runs_by_harness (harness=?); {skills}"));
    let (sql, values) = statement(&RunQuery::default());
    assert_eq!(plan(&sql, values), format!("SCAN r USING INDEX sqlite_autoindex_runs_1; {skills}"));
    assert_eq!(plan(SELECT_OPEN, Vec::new()), "SCAN runs USING INDEX runs_open");

    let unsettled = plan(account::UNSETTLED, Vec::new());
    let run = "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?) LEFT-JOIN";
    let window = "SEARCH w USING PRIMARY KEY (id=?) LEFT-JOIN";
    assert_eq!(unsettled, format!("SCAN t USING INDEX trails_unsettled; {run}; {window}"));
    assert_eq!(plan(account::CURSORS, texts(2)), "SEARCH cursors USING PRIMARY KEY (format=? AND store=?)");
    let at = Some(Wall(1));
    let since = AccountQuery { from: at, ..AccountQuery::default() };
    let of = AccountQuery { cwd: Some("/w".to_owned()), from: at, to: None };
    let planned = |(sql, values): (String, Vec<rusqlite::types::Value>)| plan(&sql, values);
    let sorted = "USE TEMP B-TREE FOR ORDER BY";
    let sessions = [&since, &of].map(|query| planned(account::of_sessions(query)));
    let by_end = format!("SEARCH s USING INDEX sessions_by_end (<expr>>?); {sorted}");
    let by_cwd = "SEARCH s USING INDEX sessions_by_cwd (cwd=?)";
    assert_eq!(sessions, [by_end, format!("{by_cwd}; {sorted}")]);
    let calls = [&since, &of].map(|query| planned(account::of_calls(query)));
    let session = "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)";
    let by_time = format!("SEARCH c USING INDEX calls_by_time (at>?); {session}");
    let by_session = "SEARCH c USING INDEX calls_by_session (session=? AND at>?)";
    assert_eq!(calls, [by_time, format!("{by_cwd}; {by_session}; {sorted}")]);
    let by_id = "SEARCH s USING COVERING INDEX sqlite_autoindex_sessions_1 (format=? AND store=? AND id=?)";
    assert_eq!(plan(account::CALLS_OF, texts(4)), format!("{by_id}; {by_session}"));
    let trail = "SEARCH t USING PRIMARY KEY (run=?) LEFT-JOIN";
    assert_eq!(
        plan(account::WINDOWS, texts(1)),
        format!(
            "COMPOUND QUERY; LEFT-MOST SUBQUERY; SCAN r; {trail}; UNION ALL; \
             SEARCH w USING INDEX windows_by_end (ended_at>?); {trail}"
        )
    );
}
