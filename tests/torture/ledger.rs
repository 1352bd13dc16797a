//! What the children wrote down themselves, beside what the store says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rusqlite::{Connection, OpenFlags};

use crate::field::Field;

/// How much has happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Children that wrote down that they began.
    pub(crate) begun: usize,
    /// Slots of schedules with a record.
    pub(crate) slots: usize,
    /// Runs that a kill of the daemon ended.
    pub(crate) lost: usize,
    outcomes: BTreeMap<String, usize>,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: usize = self.outcomes.values().sum();
        write!(f, "{} runs began, {records} records of {} slots:", self.begun, self.slots)?;
        self.outcomes.iter().try_for_each(|(outcome, count)| write!(f, " {outcome} {count}"))
    }
}

struct Row {
    id: String,
    harness: String,
    trigger: String,
    planned_at: Option<i64>,
    started_at: Option<i64>,
    outcome: Option<String>,
}

fn rows(store: &Connection) -> Vec<Row> {
    let mut query = store
        .prepare("SELECT id, harness, trigger, planned_at, started_at, outcome FROM runs ORDER BY id")
        .unwrap();
    let read = query.query_map([], |row| {
        Ok(Row {
            id: row.get(0)?,
            harness: row.get(1)?,
            trigger: row.get(2)?,
            planned_at: row.get(3)?,
            started_at: row.get(4)?,
            outcome: row.get(5)?,
        })
    });
    read.unwrap().map(Result::unwrap).collect()
}

/// Compares the two, once nothing runs any more.
pub(crate) fn compare(field: &Field) -> Counts {
    let store =
        Connection::open_with_flags(field.path("state/state.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let verdict: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let dangling: i64 =
        store.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(dangling, 0, "rows that point nowhere");

    let rows = rows(&store);
    let mut wrong: Vec<String> = Vec::new();
    let mut counts = Counts::default();
    let by_id: BTreeMap<&str, &Row> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut begun = BTreeSet::new();
    for line in field.read("begun").lines() {
        let (id, harness) = line.split_once(' ').unwrap_or((line, ""));
        counts.begun += 1;
        if !begun.insert(id.to_owned()) {
            wrong.push(format!("run {id} of {harness} began twice"));
        }
        match by_id.get(id) {
            None => wrong.push(format!("run {id} of {harness} began and has no record")),
            Some(row) if row.harness != harness => {
                wrong.push(format!("run {id} of {harness} is recorded as one of {}", row.harness));
            }
            Some(row) if row.started_at.is_none() => {
                wrong.push(format!("run {id} of {harness} began and is not recorded as started"));
            }
            Some(_) => {}
        }
    }
    let mut slots: BTreeMap<(&str, i64), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        match &row.outcome {
            Some(outcome) => *counts.outcomes.entry(outcome.clone()).or_default() += 1,
            None => wrong.push(format!("run {} of {} is not closed", row.id, row.harness)),
        }
        let of_slot = matches!(row.trigger.as_str(), "schedule" | "catch-up");
        match row.planned_at {
            Some(at) if of_slot => slots.entry((row.harness.as_str(), at)).or_default().push(row),
            None if of_slot => wrong.push(format!("run {} of {} has no slot", row.id, row.harness)),
            _ => {}
        }
    }
    for ((harness, at), of_it) in &slots {
        if of_it.len() > 1 {
            let shown: Vec<String> = of_it
                .iter()
                .map(|row| format!("{} {}", row.id, row.outcome.as_deref().unwrap_or("open")))
                .collect();
            wrong.push(format!("slot {at} of {harness} has several records: {}", shown.join(", ")));
        }
    }
    wrong.extend(field.read("two-at-once").lines().map(|line| format!("two processes at once: {line}")));
    counts.slots = slots.len();
    counts.lost = counts.outcomes.get("lost").copied().unwrap_or(0);
    assert!(wrong.is_empty(), "{counts}\n{}\n{}", wrong.join("\n"), field.last_words());
    counts
}
