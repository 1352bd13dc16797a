//! mistral-vibe 3.0.2.

use harnessd::trajectory::{Format, Layout, Needs, What};

use crate::drive::{data, whole};
use crate::reckon::{served, sums};
use crate::recorded::Recorded;

const PATH: &str = "3f15f7fe-3251-78ee-c853-727ca252c437/journal/0000000000000001.jsonl";

/// TRJ-2, USE-1: a tool call and an answer; input includes what came from the cache.
#[test]
fn a_session_with_a_tool_call() {
    let documents = &[("../meta.json", "meta.json")];
    let session =
        Recorded { format: Format::Vibe, case: "tool-call", stream: "journal.jsonl", path: PATH, documents };
    session.holds();
    assert_eq!(sums(&session.read().1), served(2, 1200, 1000, 34));
}

/// USE-2: a result that was noted, and not taken in before the program was killed, is counted, once.
#[test]
fn a_call_counts_however_far_the_journal_came() {
    let lines = data("vibe", "tool-call/journal.jsonl");
    let ends = (0..lines.len()).filter(|at| lines[*at] == b'\n').map(|at| at + 1);
    for end in ends {
        let part = &lines[..end];
        let shown = String::from_utf8_lossy(part);
        let noted = shown.matches("\"state\":\"succeeded\"").count();
        let results = shown.matches("\"type\":\"action_result\"").count();
        assert_eq!(noted, results);
        let made = shown
            .lines()
            .filter(|line| line.contains("\"type\":\"action_result\"") && line.contains("\"usage\":{"));
        let events = whole(Format::Vibe, PATH, &[], part, Needs::Usage).1;
        let mut keys: Vec<_> = events
            .into_iter()
            .filter_map(|event| match event.what {
                What::Usage(call) => Some(call.key),
                _ => None,
            })
            .collect();
        keys.dedup();
        assert_eq!(keys.len(), made.count(), "after {end} bytes");
    }
}

/// USE-2: what the end of a reading told is not told again by the next one, except with the final time.
#[test]
fn a_held_back_call_is_told_once_by_ends_of_readings() {
    let line = br#"{"payload":{"action_id":"A","result":{"result":{"usage":{"input_tokens":5,"output_tokens":1}}}},"type":"action_result"}"#;
    let mut decoder = harnessd::trajectory::Decoder::new(Format::Vibe, "S/journal/1.jsonl");
    let mut events = Vec::new();
    decoder.line(line, 0, Needs::Usage, &mut |event| events.push(event));
    assert_eq!(events, []);
    for _ in 0..3 {
        decoder.finish(Needs::Usage, &mut |event| events.push(event));
    }
    assert_eq!(events.len(), 1);
    let line = br#"{"payload":{"input":{"command":{"action_id":"A","result":{"usage":{"input_tokens":5,"output_tokens":1}},"type":"completion_succeeded"},"determinism":{"time_unix_ms":7}}},"type":"core_input"}"#;
    decoder.line(line, 200, Needs::Usage, &mut |event| events.push(event));
    decoder.finish(Needs::Usage, &mut |event| events.push(event));
    let told = serde_json::to_value(&events).unwrap();
    let call = |at: serde_json::Value| {
        let mut call = serde_json::json!({"id": "A", "kind": "usage", "key": "S/A", "tokens": {"input": 5, "cached": 0, "output": 1}});
        if !at.is_null() {
            call["at"] = at;
        }
        call
    };
    assert_eq!(told, serde_json::json!([call(serde_json::Value::Null), call(told[1]["at"].clone())]));
    assert!(told[1]["at"].is_string());
}

/// COR-8: a file that a process holds open tells the session; the working directory is no part of the path.
#[test]
fn a_file_that_is_held_open_names_its_session() {
    let Layout::Files(files) = Format::Vibe.layout() else { panic!("files") };
    assert!(files.directory.is_none());
    let held = files.held.unwrap();
    for (path, session) in [
        ("S/journal/0000000000000001.jsonl", Some("S")),
        (".locks/S.lock", None),
        (".session-index.json", None),
    ] {
        assert_eq!(held(path).as_deref(), session, "{path}");
    }
}
