//! Goose 1.52.0, as recorded.

use harnessd::trajectory::{Decoder, Format, Kinship, Needs, Parent};
use serde_json::{Value, json};

use crate::drive;
use crate::rows::{Store, recorded, same_in_pieces, sums};

const FORMAT: Format = Format::Goose;
const TOOL: &str = "20261130_6";
const FAILED: &str = "20261130_10";
const KILLED: &str = "20261130_19";

/// The recorded rows as Goose added them.
pub(crate) fn rows() -> Vec<Value> {
    let mut rows = recorded("goose", "sessions.rows.jsonl");
    rows.sort_by_key(|row| {
        (row["created_timestamp"].as_i64(), row["table"] != "messages", row["id"].as_i64())
    });
    rows
}

/// TRJ-2, USE-1: each call is a row of the ledger, whose input holds the cache reads.
#[test]
fn a_tool_call_and_a_resumed_session_are_told() {
    let (decoder, events) = Store::of(FORMAT, &rows()).read(TOOL, Needs::Everything);
    drive::expected("goose", "tool_then_resumed.events", &drive::shown(&events));
    assert_eq!(sums(&events), (3600, 3000, 102, 0.0));
    assert_eq!(
        drive::facts(&decoder),
        json!({
            "id": TOOL, "parent": null, "cwd": "/home/user/goose/w1/proj",
            "started_at": "2026-11-30T10:39:25.000Z", "last_at": "2026-11-30T10:39:28.000Z",
            "models": ["mock-model"], "model": "mock-model", "context": [1200, null],
        })
    );
}

/// USE-1: a refused call is an error and no usage; after a kill the prompt is all that is there.
#[test]
fn runs_that_failed_are_told_as_far_as_they_went() {
    let store = Store::of(FORMAT, &rows());
    drive::expected("goose", "api_error_401.events", &drive::shown(&store.read(FAILED, Needs::Everything).1));
    drive::expected("goose", "killed9.events", &drive::shown(&store.read(KILLED, Needs::Everything).1));
}

/// COR-8: a session that was given an id for a name at its launch is known by it; any other name is a title.
#[test]
fn the_id_of_a_launch_is_the_name_of_its_session() {
    let launched = |name: &str| {
        let mut rows = rows();
        rows.iter_mut().find(|row| row["id"] == TOOL).unwrap()["name"] = name.into();
        Store::of(FORMAT, &rows).read(TOOL, Needs::Usage).0.session().launched_as.clone()
    };
    let id = "4fba1f7a-3ea7-49bf-b07b-a4ca8e9e040a";
    assert_eq!(launched(id).as_deref(), Some(id));
    for title in
        ["", "a title", "4fba1f7a-3ea7-49bf-b07b-a4ca8e9e040", "a title of the same length, in words."]
    {
        assert_eq!(launched(title), None, "{title}");
    }
}

/// TRJ-3.
#[test]
fn reading_after_each_row_gives_what_one_reading_gives() {
    for session in [TOOL, FAILED, KILLED] {
        same_in_pieces(FORMAT, &rows(), session);
    }
}

/// USE-3: a copy of a session holds its parent's messages and calls, which are older than it.
#[test]
fn what_a_copy_holds_of_its_parent_is_not_counted() {
    let mut rows = rows();
    let mut copy = rows.iter().find(|row| row["id"] == TOOL).unwrap().clone();
    copy["id"] = "20261130_99".into();
    copy["parent_session_id"] = TOOL.into();
    copy["created_at"] = "2026-11-30 11:00:00".into();
    let mut copied: Vec<Value> = rows.iter().filter(|row| row["session_id"] == TOOL).cloned().collect();
    let mut own = copied.iter().rfind(|row| row["table"] == "usage_ledger").unwrap().clone();
    (own["id"], own["created_timestamp"], own["input_tokens"]) =
        (999.into(), 1_796_036_401.into(), 1300.into());
    copied.push(own);
    for row in &mut copied {
        row["session_id"] = "20261130_99".into();
        row["id"] = (row["id"].as_i64().unwrap() + 1000).into();
    }
    rows.push(copy);
    rows.extend(copied);
    let (decoder, events) = Store::of(FORMAT, &rows).read("20261130_99", Needs::Everything);
    assert_eq!(sums(&events), (1300, 1000, 34, 0.0));
    let parent = Parent { id: TOOL.to_owned(), kinship: Kinship::Forked };
    assert_eq!(decoder.session().parent, Some(parent));
    assert_eq!(events.len(), 10);
}

/// USE-3: what a copy begins with is carried forward into its ledger as one row of the present time.
#[test]
fn what_is_carried_forward_is_not_counted() {
    let mut rows = rows();
    let mut carried = rows.iter().rfind(|row| row["table"] == "usage_ledger").unwrap().clone();
    (carried["id"], carried["cost_source"]) = (11.into(), "carried_forward".into());
    rows.push(carried);
    let (_, events) = Store::of(FORMAT, &rows).read(TOOL, Needs::Usage);
    assert_eq!(sums(&events), (3600, 3000, 102, 0.0));
}

/// A sub-agent says so; what is its parent's is known.
#[test]
fn a_sub_agent_is_a_session_with_a_parent() {
    let mut rows = rows();
    let mut child = rows.iter().find(|row| row["id"] == KILLED).unwrap().clone();
    (child["id"], child["session_type"]) = ("20261130_20".into(), "sub_agent".into());
    child["parent_session_id"] = KILLED.into();
    rows.push(child);
    let (decoder, _) = Store::of(FORMAT, &rows).read("20261130_20", Needs::Usage);
    let parent = Parent { id: KILLED.to_owned(), kinship: Kinship::SubAgent };
    assert_eq!(decoder.session().parent, Some(parent));
}

/// A history that is replaced is written again under new numbers; only what is new in it is told.
#[test]
fn a_replaced_history_is_not_told_again() {
    let store = Store::of(FORMAT, &rows());
    let (mut decoder, mut events) = (Decoder::new(FORMAT, TOOL), Vec::new());
    store.feed(&mut decoder, TOOL, Needs::Everything, &mut events);
    store.writer.execute("UPDATE messages SET id = id + 500 WHERE session_id = ?1", [TOOL]).unwrap();
    let mut summary = rows().iter().find(|row| row["session_id"] == TOOL).unwrap().clone();
    (summary["id"], summary["message_id"]) = (900.into(), "msg_summary".into());
    summary["created_timestamp"] = 1_796_035_168.into();
    summary["content_json"] = json!([{"type": "text", "text": "summary"}]).to_string().into();
    store.put(&summary);
    decoder = serde_json::from_value(serde_json::to_value(&decoder).unwrap()).unwrap();
    let mut more = Vec::new();
    store.feed(&mut decoder, TOOL, Needs::Everything, &mut more);
    let ids: Vec<_> = more.iter().map(|event| event.id.as_deref()).collect();
    assert_eq!(ids, [Some("msg_summary")]);
}

/// USE-1: a total that is not split counts as input.
#[test]
fn a_total_that_is_not_split_is_input() {
    let mut rows = rows();
    let row = rows.iter_mut().find(|row| row["table"] == "usage_ledger").unwrap();
    (row["input_tokens"], row["output_tokens"], row["cache_read_tokens"]) =
        (Value::Null, Value::Null, Value::Null);
    let (_, events) = Store::of(FORMAT, &rows).read(TOOL, Needs::Usage);
    assert_eq!(sums(&events), (1234 + 2400, 2000, 68, 0.0));
}
