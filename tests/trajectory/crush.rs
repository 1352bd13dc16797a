//! Crush's database, built by its schema: the agent itself could not be run.

use harnessd::base::Wall;
use harnessd::trajectory::{Decoder, Format, Kinship, Needs, Parent};
use serde_json::{Value, json};

use crate::drive;
use crate::rows::{Store, live, recorded, same_in_pieces};

const FORMAT: Format = Format::Crush;
const SESSION: &str = "5a0f8e0c-6d0e-4b8e-9a54-0d6f1c1f2a01";

fn rows() -> Vec<Value> {
    recorded("crush", "sessions.rows.jsonl")
}

/// The rows of the session in the order in which Crush writes them: an answer is begun empty and then filled.
pub(crate) fn as_written() -> Vec<Value> {
    let mut written = Vec::new();
    for row in rows() {
        if row["role"] == "assistant" {
            let mut begun = row.clone();
            (begun["parts"], begun["finished_at"]) = ("[]".into(), Value::Null);
            written.push(begun.clone());
            let parts: Vec<Value> = serde_json::from_str(row["parts"].as_str().unwrap()).unwrap();
            begun["parts"] = json!(parts[..parts.len() - 1]).to_string().into();
            written.push(begun);
        }
        written.push(row);
    }
    written
}

/// TRJ-2, and the bugs of others: seconds are seconds, NULL parents and models are none, and a tool that failed
/// did.
#[test]
fn a_session_with_a_failed_tool_is_told() {
    let (decoder, events) = Store::of(FORMAT, &rows()).read(SESSION, Needs::Everything);
    drive::expected("crush", "sessions.events", &drive::shown(&events));
    assert_eq!(
        drive::facts(&decoder),
        json!({
            "id": SESSION, "parent": null, "cwd": null,
            "started_at": "2026-11-30T10:36:40.000Z", "last_at": "2026-11-30T10:36:49.000Z",
            "models": ["mock-model", "mock-large"], "model": "mock-large", "context": [1234, null],
        })
    );
}

/// Titles and sub-agents are sessions with a parent; where the store stands is not in it.
#[test]
fn children_are_sub_agents_of_their_parent() {
    let store = Store::of(FORMAT, &rows());
    let layout = store.layout();
    let heads: Vec<_> = store.heads().iter().filter_map(layout.head).collect();
    let parent = Parent { id: SESSION.to_owned(), kinship: Kinship::SubAgent };
    let shown: Vec<_> = heads
        .iter()
        .map(|head| (head.id.as_str(), head.parent.as_ref(), head.started_at, &head.cwd))
        .collect();
    let at = |seconds: i64| Some(Wall(seconds * 1_000_000));
    assert_eq!(
        shown,
        [
            (SESSION, None, at(1_796_035_000), &None),
            (&format!("title-{SESSION}"), Some(&parent), at(1_796_035_000), &None),
            ("call_agent1", Some(&parent), at(1_796_035_005), &None),
        ]
    );
}

/// USE-3: of tokens only the last call's are kept, so none are told; the cost is told as it grows, and a
/// sub-agent's only with its parent, whose cost holds it.
#[test]
fn only_the_cost_of_a_parent_is_told_as_it_grows() {
    let store = Store::of(FORMAT, &rows());
    let (mut decoder, events) = store.read(SESSION, Needs::Usage);
    let mut calls = drive::calls(&events);
    let mut session = rows()[0].clone();
    let mut more = Vec::new();
    for (cost, updated) in [(0.0042, 10), (0.0052, 11), (0.0002, 12)] {
        (session["cost"], session["updated_at"]) = (json!(cost), json!(1_796_035_000 + updated));
        store.put(&session);
        decoder = serde_json::from_value(serde_json::to_value(&decoder).unwrap()).unwrap();
        store.feed(&mut decoder, SESSION, Needs::Usage, &mut more);
    }
    calls.extend(drive::calls(&more));
    let keys: Vec<&Value> = calls.iter().map(|call| &call["key"]).collect();
    assert_eq!(
        keys,
        [&format!("{SESSION}:cost:0"), &format!("{SESSION}:cost:1"), &format!("{SESSION}:cost:2")]
    );
    let costs: Vec<f64> = calls.iter().map(|call| call["cost_usd"].as_f64().unwrap()).collect();
    assert!(costs.iter().zip([0.0042, 0.001, 0.0002]).all(|(told, cost)| (told - cost).abs() < 1e-12));
    assert!(calls.iter().all(|call| call.get("tokens").is_none()));
    for child in ["call_agent1", &format!("title-{SESSION}")] {
        assert_eq!(drive::calls(&store.read(child, Needs::Everything).1), [Value::Null; 0], "{child}");
    }
}

/// TRJ-3: an answer is one row that is rewritten until it is finished.
#[test]
fn reading_after_each_row_gives_what_one_reading_gives() {
    same_in_pieces(FORMAT, &as_written(), SESSION);
    same_in_pieces(FORMAT, &as_written(), "call_agent1");
}

/// The bug of others: a row that is written later in the same second is not skipped.
#[test]
fn a_row_of_the_same_second_is_told() {
    let rows = rows();
    let (mut decoder, mut events) = (Decoder::new(FORMAT, SESSION), Vec::new());
    let store = Store::of(FORMAT, &rows);
    store.feed(&mut decoder, SESSION, Needs::Everything, &mut events);
    let before = (store.layout().head)(&store.heads()[0]).unwrap().changed;
    let mut late = rows.iter().find(|row| row["id"] == "m7").unwrap().clone();
    (late["id"], late["parts"]) =
        ("m8".into(), json!([{"type": "text", "data": {"text": "more"}}]).to_string().into());
    store.put(&late);
    let mut session = rows[0].clone();
    session["message_count"] = 8.into();
    store.put(&session);
    assert!((store.layout().head)(&store.heads()[0]).unwrap().changed > before);
    let mut more = Vec::new();
    store.feed(&mut decoder, SESSION, Needs::Everything, &mut more);
    let line = r#"{"at":"2026-11-30T10:36:49.000Z","id":"m8","kind":"user","text":"more"}"#;
    assert_eq!(drive::shown(&more), format!("{line}\n"));
}

/// TRJ-3: an answer that was cut off is told when nothing follows, and the rest when it is finished after all.
#[test]
fn what_is_held_back_is_told_once() {
    let written = as_written();
    let end = written.iter().rposition(|row| row["id"] == "m2").unwrap();
    let begun = &written[..end];
    let (mut decoder, mut events) = live(FORMAT, begun, SESSION, Needs::Everything);
    let store = Store::of(FORMAT, &written);
    store.feed(&mut decoder, SESSION, Needs::Everything, &mut events);
    decoder.finish(Needs::Everything, &mut |event| events.push(event));
    let (_, whole) = store.read(SESSION, Needs::Everything);
    assert_eq!(drive::shown(&events), drive::shown(&whole));
}
