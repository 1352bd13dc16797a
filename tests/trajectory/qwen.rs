//! Qwen Code's chats.

use harnessd::trajectory::{Format, Kinship, Parent};

use crate::reckon::{served, sums};
use crate::recorded::{Recorded, made};

const SUB_AGENT: &str = "-home-user-proj/chats/cb7cfc33-e762-4664-8c3a-c1fc0122c77e.jsonl";
const AGENT: &str = "-home-user-proj/subagents/cb7cfc33-e762-4664-8c3a-c1fc0122c77e/agent-general-purpose-call_13028bdc3c5e40fb9a144015.jsonl";

const fn recorded(case: &'static str, stream: &'static str, path: &'static str) -> Recorded {
    Recorded { format: Format::Qwen, case, stream, path, documents: &[] }
}

const CASES: [Recorded; 6] = [
    recorded("tool-call", "chat.jsonl", "-home-user-proj/chats/00000001-0000-4000-8000-000000000001.jsonl"),
    recorded("resume", "chat.jsonl", "-home-user-proj/chats/00000002-0000-4000-8000-000000000002.jsonl"),
    recorded("fork", "parent.jsonl", "-home-user-proj/chats/00000003-0000-4000-8000-000000000003.jsonl"),
    recorded("fork", "chat.jsonl", "-home-user-proj/chats/64cbd394-511f-4c70-83e5-28b5effef8d0.jsonl"),
    recorded("sub-agent", "chat.jsonl", SUB_AGENT),
    recorded("sub-agent", "agent.jsonl", AGENT),
];

/// TRJ-2: each recorded chat is told as it stands in the file.
#[test]
fn recorded_chats_are_told_whole() {
    CASES.iter().for_each(Recorded::holds);
}

/// USE-3, USE-6: each call counts once, though an answer states it and a telemetry record does as well;
/// the program's own errands have only the latter. A sub-agent's calls are among its parent's, and a
/// fork's are its own: the sums are those of what the model server served.
#[test]
fn the_sums_are_those_of_the_model_server() {
    let calls = CASES.map(|case| sums(&case.read().1));
    assert_eq!(calls, [2, 4, 2, 2, 4, 0].map(|calls| served(calls, 1000, 200, 7)));
}

/// D2: a fork names its source, and its history is not its own.
#[test]
fn a_fork_begins_after_its_history() {
    let [_, _, parent, fork, ..] = CASES;
    let (parent, fork) = (parent.read().0, fork.read().0);
    let id = "00000003-0000-4000-8000-000000000003".to_owned();
    assert_eq!(fork.session().parent, Some(Parent { id, kinship: Kinship::Forked }));
    assert!(fork.session().started_at > parent.session().last_at);
}

/// A sub-agent's file is a session of its own, whose parent the directory names.
#[test]
fn a_sub_agents_file_names_its_parent() {
    let [.., parent, agent] = CASES;
    let (parent, agent) = (parent.read().0, agent.read().0);
    let id = parent.session().id.clone();
    let own = format!("{id}/agent-general-purpose-call_13028bdc3c5e40fb9a144015");
    assert_eq!(agent.session().id, own);
    assert_eq!(agent.session().parent, Some(Parent { id, kinship: Kinship::SubAgent }));
}

/// USE-1: an answer that no telemetry record announced is counted by what it states. Whether the output
/// holds the thoughts is told by the total, and the window is only what is stated.
#[test]
fn an_answer_without_telemetry_counts_by_itself() {
    let (decoder, events) = made(
        Format::Qwen,
        "-w/chats/s.jsonl",
        &[
            r#"{"uuid":"a","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","type":"assistant","cwd":"/w","model":"m","message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"yo"}]},"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":3,"totalTokenCount":15,"cachedContentTokenCount":4},"contextWindowSize":100}"#,
            r#"{"uuid":"b","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","type":"assistant","model":"m","message":{"role":"model","parts":[]},"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":3,"totalTokenCount":18}}"#,
            r#"{"uuid":"c","sessionId":"s","timestamp":"2026-01-01T00:00:03Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","error_message":"401"}}}"#,
            r#"{"uuid":"d","sessionId":"s","timestamp":"2026-01-01T00:00:04Z","type":"system","subtype":"chat_compression","systemPayload":{}}"#,
            r#"{"uuid":"e","sessionId":"s","timestamp":"2026-01-01T00:00:05Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","response":{"error":"no"}}}]},"toolCallResult":{"callId":"c1","status":"error"}}"#,
            r#"{"uuid":"f","sessionId":"s","timestamp":"2026-01-01T00:00:06Z","type":"system","subtype":"custom_title","systemPayload":{"customTitle":"T"}}"#,
        ],
    );
    let expected = r#"{"at":"2026-01-01T00:00:01.000Z","kind":"model","model":"m"}
{"at":"2026-01-01T00:00:01.000Z","id":"a","kind":"reasoning","text":"hm"}
{"at":"2026-01-01T00:00:01.000Z","id":"a","kind":"assistant","text":"yo"}
{"at":"2026-01-01T00:00:01.000Z","id":"a","kind":"usage","key":"a","model":"m","tokens":{"input":10,"cached":4,"output":5}}
{"at":"2026-01-01T00:00:01.000Z","kind":"context","used":10,"window":100}
{"at":"2026-01-01T00:00:02.000Z","id":"b","kind":"usage","key":"b","model":"m","tokens":{"input":10,"cached":0,"output":8}}
{"at":"2026-01-01T00:00:03.000Z","id":"c","kind":"error","message":"401"}
{"at":"2026-01-01T00:00:04.000Z","id":"d","kind":"compaction"}
{"at":"2026-01-01T00:00:05.000Z","id":"e","kind":"tool-result","of":"c1","error":true,"text":"no"}
{"at":"2026-01-01T00:00:06.000Z","id":"f","kind":"other","name":"custom_title"}
"#;
    assert_eq!(events, expected);
    assert_eq!(decoder.session().title.as_deref(), Some("T"));
}
