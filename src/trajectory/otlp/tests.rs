//! What a collector is sent.

use serde_json::{Value, json};

use super::{Spans, Trace, envelope};
use crate::base::Wall;
use crate::trajectory::{Action, Call, Event, Tokens, What};

fn at(second: i64) -> Option<Wall> {
    Some(Wall(second * 1_000_000))
}

fn event(second: i64, id: Option<&str>, what: What) -> Event {
    let place = (u64::try_from(second).unwrap_or_default(), 0);
    Event { at: at(second), id: id.map(str::to_owned), place, what }
}

fn usage(second: i64, key: &str, output: u64) -> Event {
    let tokens = Some(Tokens { input: 100, cached: 40, output });
    let call = Call { key: key.to_owned(), model: Some("m-1".to_owned()), tokens, cost_usd: None };
    event(second, None, What::Usage(call))
}

fn tool(second: i64, id: &str) -> Event {
    let what = What::ToolCall {
        name: "Bash".to_owned(),
        action: Action::Verify,
        targets: vec!["/w".to_owned()],
        input: json!({"command": "secret"}),
    };
    event(second, Some(id), what)
}

fn result(second: i64, of: &str, error: bool) -> Event {
    let what = What::ToolResult { of: Some(of.to_owned()), error: Some(error), text: "secret".to_owned() };
    event(second, None, what)
}

fn said(second: i64, text: &str) -> Event {
    event(second, None, What::User { text: text.to_owned() })
}

fn trace(session: &str, parent: Option<&str>) -> Trace {
    Trace {
        agent: "claude-code".to_owned(),
        session: session.to_owned(),
        top: parent.unwrap_or(session).to_owned(),
        parent: parent.map(str::to_owned),
    }
}

fn spans(trace: Trace, events: &[Event]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut spans = Spans::new(trace, at(10));
    for event in events {
        spans.event(event, &mut |span| found.push(span.clone()));
    }
    spans.finish(&mut |span| found.push(span.clone()));
    found
}

/// Name, first and last second, and whether it failed.
fn outline(spans: &[Value]) -> Vec<(String, i64, i64, bool)> {
    let second = |span: &Value, key: &str| {
        span[key].as_str().and_then(|text| text.parse::<i64>().ok()).unwrap_or(-1) / 1_000_000_000
    };
    spans
        .iter()
        .map(|span| {
            let name = span["name"].as_str().unwrap_or_default().to_owned();
            let failed = span["status"]["code"] == 2;
            (name, second(span, "startTimeUnixNano"), second(span, "endTimeUnixNano"), failed)
        })
        .collect()
}

/// TRJ-7: the whole of an export, as a collector takes it.
#[test]
fn a_session_is_one_trace() {
    let found = spans(
        trace("s1", None),
        &[said(10, "fix it"), tool(12, "t1"), usage(12, "k1", 5), result(15, "t1", true), usage(17, "k2", 7)],
    );
    let common = |operation: &str| {
        vec![
            json!({"key": "gen_ai.operation.name", "value": {"stringValue": operation}}),
            json!({"key": "gen_ai.agent.name", "value": {"stringValue": "claude-code"}}),
            json!({"key": "gen_ai.conversation.id", "value": {"stringValue": "s1"}}),
            json!({"key": "gen_ai.provider.name", "value": {"stringValue": "anthropic"}}),
        ]
    };
    let tokens = |input: &str, output: &str, cached: &str| {
        vec![
            json!({"key": "gen_ai.usage.input_tokens", "value": {"intValue": input}}),
            json!({"key": "gen_ai.usage.output_tokens", "value": {"intValue": output}}),
            json!({"key": "gen_ai.usage.cache_read.input_tokens", "value": {"intValue": cached}}),
        ]
    };
    let model = json!({"key": "gen_ai.request.model", "value": {"stringValue": "m-1"}});
    let trace_id = found[0]["traceId"].clone();
    let root = found[3]["spanId"].clone();
    let ids: Vec<Value> = found.iter().map(|span| span["spanId"].clone()).collect();
    let tool_attributes = [
        common("execute_tool"),
        vec![
            json!({"key": "gen_ai.tool.name", "value": {"stringValue": "Bash"}}),
            json!({"key": "gen_ai.tool.call.id", "value": {"stringValue": "t1"}}),
            json!({"key": "harnessd.tool.action", "value": {"stringValue": "verify"}}),
            json!({"key": "harnessd.tool.targets", "value": {"arrayValue": {"values": [{"stringValue": "/w"}]}}}),
            json!({"key": "error.type", "value": {"stringValue": "_OTHER"}}),
        ],
    ]
    .concat();
    let whole = [common("invoke_agent"), tokens("200", "12", "80")].concat();
    let chat = |output: &str| [common("chat"), vec![model.clone()], tokens("100", output, "40")].concat();
    assert_eq!(
        found,
        [
            json!({"traceId": trace_id, "spanId": ids[0], "name": "execute_tool Bash", "kind": 1,
                "startTimeUnixNano": "12000000000", "endTimeUnixNano": "15000000000",
                "attributes": tool_attributes, "parentSpanId": root, "status": {"code": 2}}),
            json!({"traceId": trace_id, "spanId": ids[1], "name": "chat m-1", "kind": 3,
                "startTimeUnixNano": "10000000000", "endTimeUnixNano": "12000000000",
                "attributes": chat("5"), "parentSpanId": root}),
            json!({"traceId": trace_id, "spanId": ids[2], "name": "chat m-1", "kind": 3,
                "startTimeUnixNano": "15000000000", "endTimeUnixNano": "17000000000",
                "attributes": chat("7"), "parentSpanId": root}),
            json!({"traceId": trace_id, "spanId": root, "name": "invoke_agent claude-code", "kind": 1,
                "startTimeUnixNano": "10000000000", "endTimeUnixNano": "17000000000",
                "attributes": whole}),
        ]
    );
    let text = serde_json::to_string(&found).unwrap_or_default();
    assert!(!text.contains("secret") && !text.contains("fix it"), "nothing that was said is exported");
}

/// TRJ-7: ids are pinned: they are hashes of format, session and the event's own id, so that whoever exports
/// twice sends the same spans.
#[test]
fn ids_are_stable() {
    let events = [said(10, "a"), usage(11, "k1", 1)];
    let once = spans(trace("s1", None), &events);
    assert_eq!(once, spans(trace("s1", None), &events));
    let id = |at: usize, key: &str| once[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [id(0, "traceId"), id(0, "spanId"), id(1, "spanId")],
        ["dcf65b05d356518bc35922713c36c516", "471be43884230009", "d11b008a18000b11"]
    );
    let other = spans(trace("s2", None), &events);
    assert_ne!((&once[0]["traceId"], &once[0]["spanId"]), (&other[0]["traceId"], &other[0]["spanId"]));
}

/// USE-3: of a call that is told several times the last numbers count, once.
#[test]
fn a_repeated_call_is_one_span() {
    let found = spans(trace("s1", None), &[said(10, "a"), usage(11, "k1", 1), usage(13, "k1", 9)]);
    assert_eq!(
        outline(&found),
        [("chat m-1".to_owned(), 10, 13, false), ("invoke_agent claude-code".to_owned(), 10, 13, false)]
    );
    let output = json!({"key": "gen_ai.usage.output_tokens", "value": {"intValue": "9"}});
    assert!(found[0]["attributes"].as_array().is_some_and(|all| all.contains(&output)), "{}", found[0]);
}

/// A sub-agent's session is part of its parent's trace, below the parent's span.
#[test]
fn a_sub_agent_lies_below_its_parent() {
    let above = spans(trace("s1", None), &[said(10, "a")]);
    let below = spans(trace("sub", Some("s1")), &[said(11, "b")]);
    assert_eq!(above[0]["traceId"], below[0]["traceId"]);
    assert_eq!(above[0]["spanId"], below[0]["parentSpanId"]);
    assert_ne!(above[0]["spanId"], below[0]["spanId"]);
}

/// Errors are statuses; a session that went on after one has not failed, and a tool without a result lasted
/// for nobody knows how long.
#[test]
fn errors_are_statuses() {
    let error = event(14, None, What::Error { message: "529 overloaded".to_owned() });
    let ended = spans(trace("s1", None), &[said(10, "a"), error.clone()]);
    assert_eq!(
        outline(&ended),
        [("chat".to_owned(), 10, 14, true), ("invoke_agent claude-code".to_owned(), 10, 14, true)]
    );
    assert_eq!(ended[0]["status"]["message"], "529 overloaded");
    let went_on = spans(trace("s1", None), &[said(10, "a"), error, usage(16, "k", 1), tool(17, "t")]);
    assert_eq!(
        outline(&went_on),
        [
            ("chat".to_owned(), 10, 14, true),
            ("chat m-1".to_owned(), 14, 16, false),
            ("execute_tool Bash".to_owned(), 17, 17, false),
            ("invoke_agent claude-code".to_owned(), 10, 17, false)
        ]
    );
}

/// TRJ-3: what waits is bounded, however long a session goes on.
#[test]
fn what_waits_is_bounded() {
    let mut spans = Spans::new(trace("s1", None), at(0));
    let mut emitted = 0;
    for number in 0..5000 {
        spans.event(&tool(number, &format!("t{number}")), &mut |_| emitted += 1);
        spans.event(&usage(number, &format!("k{number}"), 1), &mut |_| emitted += 1);
    }
    assert_eq!(emitted, (5000 - super::TOOLS) + (5000 - super::CHATS));
}

/// The parts around the spans make one request.
#[test]
fn the_envelope_is_a_request() {
    let (head, tail) = envelope(&[("service.name", "claude-code")], "1.2.3");
    let whole: Value = serde_json::from_str(&format!("{head}{{}},{{}}{tail}")).unwrap_or_default();
    let attribute = json!({"key": "service.name", "value": {"stringValue": "claude-code"}});
    assert_eq!(
        whole,
        json!({"resourceSpans": [{"resource": {"attributes": [attribute]}, "scopeSpans": [
            {"scope": {"name": "harnessd", "version": "1.2.3"}, "spans": [{}, {}]}]}]})
    );
}

/// TRJ-7: the provider is said of a provider's own agent, and of an agent for any provider nothing is made up.
#[test]
fn a_provider_is_said_where_the_agent_is_its_own() {
    let of = |agent: &str| {
        let found = spans(Trace { agent: agent.to_owned(), ..trace("s1", None) }, &[said(10, "a")]);
        let attributes = found[0]["attributes"].as_array().cloned().unwrap_or_default();
        let named = |one: &&Value| one["key"] == "gen_ai.provider.name";
        attributes.iter().find(named).map(|one| one["value"]["stringValue"].clone())
    };
    assert_eq!(of("codex"), Some(json!("openai")));
    assert_eq!(of("opencode"), None);
}
