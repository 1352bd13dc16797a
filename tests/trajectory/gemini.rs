//! Gemini CLI's chats.

use harnessd::trajectory::{Format, Kinship, Layout, Parent};

use crate::reckon::{served, sums};
use crate::recorded::{Recorded, made};

const CHAT: &str = "proj/chats/session-2026-11-30T10-56-00000001.jsonl";
const AGENT: &str =
    "proj/chats/0fb6e1ab-f380-40d3-a889-c69c3d28de85/6a84fc11-be94-4407-ae77-b5bfc3a4e3bb.jsonl";

const fn recorded(case: &'static str) -> Recorded {
    let documents = &[("../.project_root", "project_root")];
    Recorded { format: Format::Gemini, case, stream: "chat.jsonl", path: CHAT, documents }
}

const fn agent() -> Recorded {
    let documents = &[("../../.project_root", "project_root")];
    Recorded { format: Format::Gemini, case: "sub-agent", stream: "agent.jsonl", path: AGENT, documents }
}

const CASES: [Recorded; 7] = [
    recorded("tool-call"),
    recorded("resume"),
    recorded("api-error-400"),
    recorded("sigterm-in-tool"),
    recorded("thoughts"),
    recorded("sub-agent"),
    agent(),
];

/// TRJ-2: each recorded chat is told as it stands in the file, and nothing of it twice.
#[test]
fn recorded_chats_are_told_whole() {
    CASES.iter().for_each(Recorded::holds);
}

/// USE-3, USE-6: a message that is written twice counts once, a resumed session repeats no call, and the
/// thoughts stand beside the output: the sums are those of what the model server served.
#[test]
fn the_sums_are_those_of_the_model_server() {
    let calls = CASES.map(|case| sums(&case.read().1));
    let expected = [
        served(2, 1000, 200, 7),
        served(3, 1000, 200, 7),
        served(0, 0, 0, 0),
        served(1, 1000, 200, 7),
        served(2, 1000, 200, 10),
        served(2, 1000, 200, 10),
        served(2, 1000, 200, 10),
    ];
    assert_eq!(calls, expected);
}

/// A sub-agent's chat is a session of its own, whose parent the directory names.
#[test]
fn a_sub_agents_chat_names_its_parent() {
    let (decoder, _) = agent().read();
    let id = "0fb6e1ab-f380-40d3-a889-c69c3d28de85".to_owned();
    assert_eq!(decoder.session().parent, Some(Parent { id, kinship: Kinship::SubAgent }));
    assert_eq!(decoder.session().id, "6a84fc11-be94-4407-ae77-b5bfc3a4e3bb");
    assert_eq!(recorded("sub-agent").read().0.session().id, decoder.session().parent.as_ref().unwrap().id);
}

/// COR-1: no record says the working directory, so the document that does is a part of the layout.
#[test]
fn the_working_directory_stands_beside_the_chats() {
    let Layout::Files(files) = Format::Gemini.layout() else { panic!() };
    assert_eq!(files.documents, ["../.project_root", "../../.project_root"]);
    assert_eq!(recorded("tool-call").read().0.session().cwd.as_deref(), Some("/home/user/proj"));
}

/// USE-3, TRJ-2: of a message that is written again only what came to it is told; its last usage counts.
#[test]
fn a_repeated_message_adds_only_what_is_new() {
    let (decoder, events) = made(
        Format::Gemini,
        CHAT,
        &[
            r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","kind":"main"}"#,
            r#"{"id":"m","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"a","thoughts":[{"subject":"S","description":"D","timestamp":"2026-01-01T00:00:01Z"}],"tokens":null,"model":"x"}"#,
            r#"{"id":"m","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"a","thoughts":[{"subject":"S","description":"D"}],"tokens":{"input":5,"output":1,"cached":2,"thoughts":3,"tool":4,"total":13},"model":"x","toolCalls":[{"id":"c","name":"read_file","args":{"file_path":"/w/f"},"status":"executing"}]}"#,
            r#"{"id":"m","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"ab","tokens":{"input":6,"output":4,"cached":2,"thoughts":3,"tool":0,"total":10},"model":"x","toolCalls":[{"id":"c","name":"read_file","args":{"file_path":"/w/f"},"status":"error","result":[{"functionResponse":{"id":"c","response":{"error":"no"}}}]}]}"#,
            r#"{"id":"r","timestamp":"2026-01-01T00:00:02Z","type":"user","content":[{"functionResponse":{"id":"c","response":{"error":"no"}}}]}"#,
            r#"{"$rewindTo":"m"}"#,
            r#"{"id":"e","timestamp":"2026-01-01T00:00:03Z","type":"error","content":"broken"}"#,
            r#"{"id":"i","timestamp":"2026-01-01T00:00:04Z","type":"info","content":"so"}"#,
            r#"{"$set":{"summary":"T"}}"#,
        ],
    );
    let expected = r#"{"at":"2026-01-01T00:00:01.000Z","kind":"model","model":"x"}
{"at":"2026-01-01T00:00:01.000Z","id":"m","kind":"reasoning","text":"S\nD"}
{"at":"2026-01-01T00:00:01.000Z","id":"m","kind":"assistant","text":"a"}
{"at":"2026-01-01T00:00:01.000Z","id":"c","kind":"tool-call","name":"read_file","action":"read","targets":["/w/f"],"input":{"file_path":"/w/f"}}
{"at":"2026-01-01T00:00:01.000Z","id":"m","kind":"usage","key":"s:m","model":"x","tokens":{"input":9,"cached":2,"output":4}}
{"at":"2026-01-01T00:00:01.000Z","kind":"context","used":9}
{"at":"2026-01-01T00:00:01.000Z","id":"m","kind":"assistant","text":"ab"}
{"at":"2026-01-01T00:00:01.000Z","id":"c","kind":"tool-result","of":"c","error":true,"text":"no"}
{"at":"2026-01-01T00:00:01.000Z","id":"m","kind":"usage","key":"s:m","model":"x","tokens":{"input":6,"cached":2,"output":4}}
{"at":"2026-01-01T00:00:01.000Z","kind":"context","used":6}
{"id":"m","kind":"other","name":"$rewindTo"}
{"at":"2026-01-01T00:00:03.000Z","id":"e","kind":"error","message":"broken"}
{"at":"2026-01-01T00:00:04.000Z","id":"i","kind":"other","name":"info"}
"#;
    assert_eq!(events, expected);
    assert_eq!(decoder.session().title.as_deref(), Some("T"));
}
