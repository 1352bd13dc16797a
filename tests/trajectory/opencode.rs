//! OpenCode 1.18.33, as recorded.

use std::path::Path;

use harnessd::base::Wall;
use harnessd::trajectory::{Format, Kinship, Needs, Parent, What};
use serde_json::{Value, json};

use crate::drive;
use crate::rows::{Store, live, recorded, same_in_pieces, sums};

const FORMAT: Format = Format::OpenCode;
const TOOL: &str = "ses_dd4030484ffezbObDjiQuizBMU";
const FORK: &str = "ses_dd4022c6bffeyaoGNiCO9no4Ii";
const KILLED: &str = "ses_dd3fbdfc8ffeP75bphYxWyEBss";
const FAILED: &str = "ses_dd4015149ffeBWt1DBygBhpCFR";

/// The recorded rows of one session in the order in which OpenCode writes them: a message that is not
/// completed, its parts (a tool's call before its answer), then the message as it ended.
pub(crate) fn as_written(path: &str) -> Vec<Value> {
    let rows = recorded("opencode", path);
    let of = |table: &'static str| rows.iter().filter(move |row| row["table"] == table).cloned();
    let mut written: Vec<Value> = of("session").collect();
    for message in of("message") {
        written.push(without(&message, |data| {
            data["time"].as_object_mut().unwrap().shift_remove("completed");
            data.as_object_mut().unwrap().shift_remove("error");
        }));
        for part in of("part").filter(|part| part["message_id"] == message["id"]) {
            written.push(without(&part, |data| {
                if data["type"] == "tool" {
                    data["state"] = json!({"status": "pending", "input": {}});
                }
            }));
            written.push(part);
        }
        written.push(message);
    }
    written
}

/// The row with its document changed.
fn without(row: &Value, change: impl Fn(&mut Value)) -> Value {
    let mut data: Value = serde_json::from_str(row["data"].as_str().unwrap()).unwrap();
    change(&mut data);
    let mut row = row.clone();
    row["data"] = data.to_string().into();
    row
}

/// TRJ-2, USE-1: a session with a tool call that was resumed; output and reasoning are told apart there, and
/// fresh input and cache reads are.
#[test]
fn a_tool_call_and_a_resumed_session_are_told() {
    let store = Store::of(FORMAT, &recorded("opencode", "tool_then_resumed.rows.jsonl"));
    let (decoder, events) = store.read(TOOL, Needs::Everything);
    drive::expected("opencode", "tool_then_resumed.events", &drive::shown(&events));
    let (input, cached, output, cost) = sums(&events);
    assert_eq!((input, cached, output), (3600, 3000, 102));
    assert!((cost - 0.001_104).abs() < 1e-12);
    assert_eq!(
        drive::facts(&decoder),
        json!({
            "id": TOOL, "parent": null, "cwd": "/home/user/opencode/w2/proj",
            "started_at": "2026-11-30T10:25:29.468Z", "last_at": "2026-11-30T10:26:10.683Z",
            "models": ["mock-model"], "model": "mock-model", "context": [1200, null],
        })
    );
    assert_eq!(decoder.session().title.as_deref(), Some("t1"));
}

/// USE-3: a fork's copies of messages are older than it. They are shown, and not counted again.
#[test]
fn what_a_fork_copies_is_not_counted() {
    let store = Store::of(FORMAT, &recorded("opencode", "fork.rows.jsonl"));
    let (decoder, events) = store.read(FORK, Needs::Everything);
    drive::expected("opencode", "fork.events", &drive::shown(&events));
    let (input, cached, output, _) = sums(&events);
    assert_eq!((input, cached, output), (1200, 1000, 34));
    assert_eq!(decoder.session().started_at, Some(Wall(1_796_034_384_789_000)));
}

/// TRJ-3: rows change in place until they are complete, and are told once.
#[test]
fn reading_after_each_row_gives_what_one_reading_gives() {
    for (path, session) in [
        ("tool_then_resumed.rows.jsonl", TOOL),
        ("fork.rows.jsonl", FORK),
        ("killed9_during_tool.rows.jsonl", KILLED),
        ("api_error_401.rows.jsonl", FAILED),
        ("nongit_dotspace_cwd.rows.jsonl", "ses_dd3fa956cffeQoaKKvCwK7bN7A"),
    ] {
        same_in_pieces(FORMAT, &as_written(path), session);
    }
}

/// TRJ-3: what an agent left unfinished is told when nothing follows, and only the rest of it when it does go
/// on after all.
#[test]
fn what_is_held_back_is_told_once() {
    let rows = recorded("opencode", "killed9_during_tool.rows.jsonl");
    let store = Store::of(FORMAT, &rows);
    let (mut decoder, events) = store.read(KILLED, Needs::Everything);
    drive::expected("opencode", "killed9_during_tool.events", &drive::shown(&events));
    // Told again, if the state is written down in between or not: nothing.
    decoder = serde_json::from_value(serde_json::to_value(&decoder).unwrap()).unwrap();
    let mut more = Vec::new();
    store.feed(&mut decoder, KILLED, Needs::Everything, &mut more);
    decoder.finish(Needs::Everything, &mut |event| more.push(event));
    assert_eq!(more, []);
    // The tool ends, and with it the message.
    for row in &rows {
        match (row["table"].as_str(), row["data"].as_str()) {
            (Some("part"), Some(data)) if data.contains("running") => store.put(&without(row, |data| {
                data["state"]["status"] = "error".into();
                data["state"]["error"] = "aborted".into();
                data["state"]["time"]["end"] = 1_796_034_809_000_u64.into();
            })),
            (Some("message"), Some(data)) if data.contains("assistant") => store.put(&without(row, |data| {
                data["time"]["completed"] = 1_796_034_810_000_u64.into();
                data["tokens"] =
                    json!({"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 4}});
                data["cost"] = 0.5.into();
            })),
            _ => {}
        }
    }
    store.feed(&mut decoder, KILLED, Needs::Everything, &mut more);
    decoder.finish(Needs::Everything, &mut |event| more.push(event));
    drive::expected("opencode", "killed9_then_ended.events", &drive::shown(&more));
}

/// A message that waits for its turn does not end the answer before it.
#[test]
fn a_queued_message_completes_no_answer() {
    let mut rows = recorded("opencode", "killed9_during_tool.rows.jsonl");
    let mut queued = rows.iter().find(|row| row["table"] == "message").unwrap().clone();
    (queued["id"], queued["time_created"]) = ("msg_queued".into(), 1_796_034_900_000_u64.into());
    rows.push(queued);
    let store = Store::of(FORMAT, &rows);
    let mut events = Vec::new();
    let mut decoder = harnessd::trajectory::Decoder::new(FORMAT, KILLED);
    store.feed(&mut decoder, KILLED, Needs::Everything, &mut events);
    let told = |event: &harnessd::trajectory::Event| matches!(event.what, What::ToolCall { .. });
    assert!(!events.iter().any(told));
    decoder.finish(Needs::Everything, &mut |event| events.push(event));
    assert!(events.iter().any(told));
}

/// USE-1: a call that failed used nothing, and its error is told.
#[test]
fn a_refused_call_is_an_error_and_no_usage() {
    let store = Store::of(FORMAT, &recorded("opencode", "api_error_401.rows.jsonl"));
    let (_, events) = store.read(FAILED, Needs::Everything);
    drive::expected("opencode", "api_error_401.events", &drive::shown(&events));
}

/// TRJ-5: the working directory is a column, whatever stands in it.
#[test]
fn a_directory_with_a_dot_a_space_and_other_letters_is_read_as_it_is() {
    let store = Store::of(FORMAT, &recorded("opencode", "nongit_dotspace_cwd.rows.jsonl"));
    let layout = store.layout();
    let head = (layout.head)(&store.heads()[0]).unwrap();
    assert_eq!(head.cwd.as_deref(), Some("/home/user/opencode/w2/with.dot dir ünï"));
    assert!(Path::new(head.cwd.as_deref().unwrap()).is_absolute());
}

/// The time of change of a session covers its messages and parts, of which its own column lags behind.
#[test]
fn whatever_is_written_changes_the_head() {
    let rows = as_written("killed9_during_tool.rows.jsonl");
    let store = Store::of(FORMAT, &rows);
    let layout = store.layout();
    assert_eq!((layout.head)(&store.heads()[0]).unwrap().changed, 1_796_034_808_239);
}

/// A session with a parent is a sub-agent's, and a `task` names it.
#[test]
fn a_sub_agent_is_a_session_with_a_parent() {
    let mut rows = recorded("opencode", "tool_then_resumed.rows.jsonl");
    let mut child = rows[0].clone();
    (child["id"], child["parent_id"]) = ("ses_child".into(), TOOL.into());
    rows.push(child);
    for row in &mut rows {
        if row["data"].as_str().is_some_and(|data| data.contains("\"tool\":\"bash\"")) {
            *row = without(row, |data| {
                data["tool"] = "task".into();
                data["state"]["input"] = json!({"subagent_type": "general"});
                data["state"]["metadata"] = json!({"sessionId": "ses_child"});
            });
        }
    }
    let store = Store::of(FORMAT, &rows);
    let (child, _) = store.read("ses_child", Needs::Everything);
    let parent = Parent { id: TOOL.to_owned(), kinship: Kinship::SubAgent };
    assert_eq!(child.session().parent, Some(parent));
    let (_, events) = store.read(TOOL, Needs::Everything);
    let named: Vec<&What> =
        events.iter().map(|event| &event.what).filter(|what| matches!(what, What::SubAgent { .. })).collect();
    let session = Some("ses_child".to_owned());
    assert_eq!(named, [&What::SubAgent { session, name: Some("general".to_owned()) }]);
}

/// TRJ-3: rows with documents that are none are counted, once.
#[test]
fn a_document_that_is_none_is_counted() {
    let mut rows = as_written("tool_then_resumed.rows.jsonl");
    let mut odd = rows.iter().find(|row| row["table"] == "part").unwrap().clone();
    (odd["id"], odd["data"]) = ("prt_22bfcfd85002".into(), "{".into());
    rows.push(odd.clone());
    (odd["id"], odd["data"]) = ("prt_22bfcfd85003".into(), "{\"type\":\"hologram\"}".into());
    rows.insert(3, odd);
    let oddities = Store::of(FORMAT, &rows).read(TOOL, Needs::Everything).0.oddities().clone();
    assert_eq!((oddities.malformed, oddities.unknown.get("hologram")), (1, Some(&1)));
    let (decoder, _) = live(FORMAT, &rows, TOOL, Needs::Everything);
    assert_eq!(decoder.oddities().unknown, oddities.unknown);
}

/// CTL-12: what is written down of a reading holds no text of the conversation.
#[test]
fn the_state_holds_no_text() {
    let store = Store::of(FORMAT, &recorded("opencode", "tool_then_resumed.rows.jsonl"));
    let (decoder, _) = store.read(TOOL, Needs::Everything);
    let written = serde_json::to_string(&decoder).unwrap();
    for text in ["MOCK", "again", "tool-ran", "do it"] {
        assert!(!written.contains(text), "{text}: {written}");
    }
}
