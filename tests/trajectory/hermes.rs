//! Hermes 0.19.0, as recorded.

use harnessd::trajectory::{Decoder, Format, Kinship, Needs};
use serde_json::{Value, json};

use crate::drive;
use crate::rows::{Store, live, recorded, sums};

const FORMAT: Format = Format::Hermes;
const TOOL: &str = "20261130_103508_11a061";
const KILLED: &str = "20261130_103859_b3b3c9";

/// The recorded rows of sessions that are there.
fn rows() -> Vec<Value> {
    let mut rows = recorded("hermes", "state.rows.jsonl");
    rows.retain(|row| row["table"] != "session_model_usage" || row["session_id"] == TOOL);
    rows
}

/// The rows of a session as Hermes wrote them: the total grows with each answer.
pub(crate) fn as_written() -> Vec<Value> {
    let (sessions, others): (Vec<Value>, Vec<Value>) =
        rows().into_iter().partition(|row| row["table"] == "sessions");
    let mut written = sessions;
    let mut calls = 0;
    for row in others.into_iter().filter(|row| row["session_id"] == TOOL && row["table"] == "messages") {
        let is_answer = row["role"] == "assistant";
        written.push(row);
        if is_answer {
            calls += 1;
            written.push(total(calls));
        }
    }
    written
}

/// The total after so many of the three calls.
fn total(calls: u64) -> Value {
    let mut total = rows().into_iter().find(|row| row["table"] == "session_model_usage").unwrap();
    total["api_call_count"] = calls.into();
    let counters =
        [("input_tokens", 200), ("output_tokens", 34), ("cache_read_tokens", 1000), ("reasoning_tokens", 5)];
    for (counter, each) in counters {
        total[counter] = (each * calls).into();
    }
    total
}

/// TRJ-2, USE-1 and D7: cache reads stand beside the fresh input, reasoning is a part of the output.
#[test]
fn a_tool_call_and_a_resumed_session_are_told() {
    let (decoder, events) = Store::of(FORMAT, &rows()).read(TOOL, Needs::Everything);
    drive::expected("hermes", "tool_then_resumed.events", &drive::shown(&events));
    assert_eq!(sums(&events), (3600, 3000, 102, 0.0));
    assert_eq!(
        drive::facts(&decoder),
        json!({
            "id": TOOL, "parent": null, "cwd": "/home/user/hermes/w2/proj",
            "started_at": "2026-11-30T10:35:20.448Z", "last_at": "2026-11-30T10:35:36.946Z",
            "models": ["mock-model"], "model": "mock-model", "context": null,
        })
    );
}

/// TRJ-2: what was killed during a tool call ends with that call.
#[test]
fn a_killed_run_is_told_as_far_as_it_went() {
    let (_, events) = Store::of(FORMAT, &rows()).read(KILLED, Needs::Everything);
    drive::expected("hermes", "killed9_during_tool.events", &drive::shown(&events));
}

/// TRJ-3, USE-3: reading after each row tells the same events, and the steps of a total come to the total.
#[test]
fn the_steps_of_a_total_come_to_the_total() {
    let written = as_written();
    let (decoder, pieces) = live(FORMAT, &written, TOOL, Needs::Everything);
    let (whole, events) = Store::of(FORMAT, &written).read(TOOL, Needs::Everything);
    let said = |events: &[harnessd::trajectory::Event]| {
        let shown = drive::shown(events);
        let kept = shown
            .lines()
            .filter(|line| !line.contains("\"kind\":\"usage\"") && !line.contains("\"kind\":\"model\""));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said(&pieces), said(&events));
    assert_eq!(drive::facts(&decoder), drive::facts(&whole));
    assert_eq!(sums(&pieces), sums(&events));
    let steps: Vec<Value> = drive::calls(&pieces).iter().map(|call| call["tokens"].clone()).collect();
    assert_eq!(steps, vec![json!({"input": 1200, "cached": 1000, "output": 34}); 3]);
    let mut keys: Vec<String> = drive::calls(&pieces).iter().map(|call| call["key"].to_string()).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3);
    assert_eq!(drive::calls(&live(FORMAT, &written, TOOL, Needs::Usage).1), drive::calls(&pieces));
}

/// USE-3, D6: a total that has shrunk began anew.
#[test]
fn a_total_that_has_shrunk_begins_anew() {
    let store = Store::of(FORMAT, &rows());
    let (mut decoder, mut events) = (Decoder::new(FORMAT, TOOL), Vec::new());
    for calls in [3, 1, 2] {
        store.put(&total(calls));
        store.feed(&mut decoder, TOOL, Needs::Usage, &mut events);
    }
    let inputs: Vec<u64> =
        drive::calls(&events).iter().map(|call| call["tokens"]["input"].as_u64().unwrap()).collect();
    assert_eq!(inputs, [3600, 1200, 1200]);
}

/// USE-1: a cost is told where it is known.
#[test]
fn a_cost_is_told_where_it_is_known() {
    for (status, estimated, actual, cost) in [
        ("unknown", 0.5, 0.0, None),
        ("estimated", 0.5, 0.0, Some(0.5)),
        ("actual", 0.5, 0.25, Some(0.25)),
        ("included", 0.0, 0.0, None),
    ] {
        let mut total = total(3);
        total["cost_status"] = status.into();
        (total["estimated_cost_usd"], total["actual_cost_usd"]) = (estimated.into(), actual.into());
        let store = Store::of(FORMAT, &rows());
        store.put(&total);
        let calls = drive::calls(&store.read(TOOL, Needs::Usage).1);
        assert_eq!(calls[0].get("cost_usd").and_then(Value::as_f64), cost, "{status}");
    }
}

/// USE-3: an actual cost below the estimate before it is told when it has passed that, and never twice.
#[test]
fn what_an_actual_cost_adds_to_an_estimate_is_told() {
    let store = Store::of(FORMAT, &rows());
    let (mut decoder, mut events) = (Decoder::new(FORMAT, TOOL), Vec::new());
    for (calls, status, estimated, actual) in
        [(1, "estimated", 0.5, 0.0), (2, "actual", 1.0, 0.25), (3, "actual", 1.5, 0.75)]
    {
        let mut total = total(calls);
        total["cost_status"] = status.into();
        (total["estimated_cost_usd"], total["actual_cost_usd"]) = (estimated.into(), actual.into());
        store.put(&total);
        store.feed(&mut decoder, TOOL, Needs::Usage, &mut events);
    }
    let costs: Vec<Option<f64>> =
        drive::calls(&events).iter().map(|call| call.get("cost_usd").and_then(Value::as_f64)).collect();
    assert_eq!(costs, [Some(0.5), None, Some(0.25)]);
}

/// TRJ-2: how a session comes from its parent.
#[test]
fn a_child_is_a_sub_agent_a_branch_or_what_follows_a_compaction() {
    for (config, parent_ended, started, kinship) in [
        (Value::Null, None, 1_796_035_000.5, Kinship::SubAgent),
        (json!({"_delegate_from": TOOL}), Some("compression"), 1_796_035_000.5, Kinship::SubAgent),
        (json!({"_branched_from": TOOL}), Some("branched"), 1_796_035_000.5, Kinship::Forked),
        (Value::Null, Some("branched"), 1_796_035_000.5, Kinship::Forked),
        (json!({"_branched_from": "x"}), Some("compression"), 1_796_035_000.5, Kinship::Reset),
        (Value::Null, Some("compression"), 1_796_034_950.5, Kinship::SubAgent),
    ] {
        let mut parent = rows()[0].clone();
        parent["end_reason"] = parent_ended.into();
        parent["ended_at"] = parent_ended.map(|_| 1_796_034_990.0).into();
        let mut child = rows()[0].clone();
        (child["id"], child["parent_session_id"], child["started_at"]) =
            ("child".into(), TOOL.into(), started.into());
        child["model_config"] = if config.is_null() { Value::Null } else { config.to_string().into() };
        let store = Store::of(FORMAT, &[parent, child]);
        let (decoder, _) = store.read("child", Needs::Usage);
        let found = decoder.session().parent.clone().unwrap();
        assert_eq!((found.id.as_str(), found.kinship), (TOOL, kinship), "{config} {parent_ended:?}");
    }
}

/// TRJ-2: a failure is told where the tool's answer states it.
#[test]
fn a_tool_failed_if_its_answer_says_so() {
    for (answer, error) in [
        (r#"{"output":"","exit_code":1,"error":null}"#, Some(true)),
        (r#"{"output":"x","exit_code":0,"error":null}"#, Some(false)),
        (r#"{"error":"no such tool"}"#, Some(true)),
        (r#"{"success":false}"#, Some(true)),
        ("failed, in words", None),
    ] {
        let mut rows = rows();
        let row = rows.iter_mut().find(|row| row["role"] == "tool").unwrap();
        row["content"] = answer.into();
        let (_, events) = Store::of(FORMAT, &rows).read(TOOL, Needs::Everything);
        let told: Vec<Option<bool>> = events
            .iter()
            .filter_map(|event| match &event.what {
                harnessd::trajectory::What::ToolResult { error, .. } => Some(*error),
                _ => None,
            })
            .collect();
        assert_eq!(told, [error], "{answer}");
    }
}

/// A history that is rewritten comes under new numbers; only what is new in it is told.
#[test]
fn a_rewritten_history_is_not_told_again() {
    let store = Store::of(FORMAT, &rows());
    let (mut decoder, mut events) = (Decoder::new(FORMAT, TOOL), Vec::new());
    store.feed(&mut decoder, TOOL, Needs::Everything, &mut events);
    store.writer.execute("UPDATE messages SET id = id + 500 WHERE session_id = ?1", [TOOL]).unwrap();
    let mut more = Vec::new();
    store.feed(&mut decoder, TOOL, Needs::Everything, &mut more);
    assert_eq!(more, []);
}
