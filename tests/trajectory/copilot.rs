//! Copilot CLI's session state.

use harnessd::trajectory::{Format, Layout};

use crate::reckon::{served, sums};
use crate::recorded::{Recorded, made};

const fn recorded(case: &'static str, path: &'static str) -> Recorded {
    let documents = &[("workspace.yaml", "workspace.yaml")];
    Recorded { format: Format::Copilot, case, stream: "events.jsonl", path, documents }
}

const CASES: [Recorded; 4] = [
    recorded("tool-call", "00000001-0000-4000-8000-000000000001/events.jsonl"),
    recorded("resume", "00000002-0000-4000-8000-000000000002/events.jsonl"),
    recorded("sigkill-in-tool", "00000003-0000-4000-8000-000000000003/events.jsonl"),
    recorded("sub-agent", "5bffd141-b337-40ab-aa9b-23df862621a6/events.jsonl"),
];

/// TRJ-2: each recorded session is told as it stands in the file.
#[test]
fn recorded_sessions_are_told_whole() {
    CASES.iter().for_each(Recorded::holds);
}

/// USE-3, USE-6: each call has a record, also a sub-agent's; the totals at a shutdown, which a resumed
/// session states again, add nothing: the sums are those of what the model server served.
#[test]
fn the_sums_are_those_of_the_model_server() {
    let calls = CASES.map(|case| sums(&case.read().1));
    assert_eq!(calls, [2, 3, 1, 3].map(|calls| served(calls, 1000, 200, 7)));
}

/// The title stands beside the stream, quoted as YAML does it.
#[test]
fn the_workspace_says_the_title() {
    let titles = CASES.map(|case| case.read().0.session().title.clone());
    assert_eq!(titles[2].as_deref(), Some("@@sh:python3 -c 'import time;time.sleep(47)'@@"));
}

/// COR-8: while it works on a session, a process holds a file open that names it.
#[test]
fn a_held_file_names_the_session() {
    let Layout::Files(files) = Format::Copilot.layout() else { panic!() };
    let held = files.held.unwrap();
    for (path, session) in [
        (
            "00000003-0000-4000-8000-000000000003/inuse.14791.hold",
            Some("00000003-0000-4000-8000-000000000003"),
        ),
        ("00000003-0000-4000-8000-000000000003/inuse.14791.lock", None),
        ("s/inuse..hold", None),
        ("s/inuse.1x.hold", None),
        ("inuse.1.hold", None),
        ("/inuse.1.hold", None),
        ("s/events.jsonl", None),
    ] {
        assert_eq!(held(path).as_deref(), session, "{path}");
    }
}

/// USE-3: where no record tells a call, the totals do, as what they grew by; smaller ones begin anew.
#[test]
fn totals_count_where_there_are_no_records() {
    let shutdown = |id: &str, second: u64, input: u64, cached: u64, output: u64| {
        format!(
            r#"{{"type":"session.shutdown","id":"{id}","timestamp":"2026-01-01T00:00:0{second}Z","data":{{"modelMetrics":{{"m":{{"usage":{{"inputTokens":{input},"cacheReadTokens":{cached},"outputTokens":{output}}}}}}}}}}}"#
        )
    };
    let start = r#"{"type":"session.start","id":"a","timestamp":"2026-01-01T00:00:00Z","data":{"sessionId":"s","startTime":"2026-01-01T00:00:00Z","context":{"cwd":"/w"}}}"#;
    let lines = [
        start.to_owned(),
        shutdown("b", 1, 1000, 200, 7),
        shutdown("c", 2, 3000, 300, 20),
        shutdown("d", 3, 3000, 300, 20),
        shutdown("e", 4, 100, 10, 1),
    ];
    let (_, events) = made(Format::Copilot, "s/events.jsonl", &lines);
    let usage: Vec<&str> = events.lines().filter(|line| line.contains("tokens")).collect();
    let expected = [
        r#"{"at":"2026-01-01T00:00:01.000Z","id":"b","kind":"usage","key":"s:b:m","model":"m","tokens":{"input":1000,"cached":200,"output":7}}"#,
        r#"{"at":"2026-01-01T00:00:02.000Z","id":"c","kind":"usage","key":"s:c:m","model":"m","tokens":{"input":2000,"cached":100,"output":13}}"#,
        r#"{"at":"2026-01-01T00:00:04.000Z","id":"e","kind":"usage","key":"s:e:m","model":"m","tokens":{"input":100,"cached":10,"output":1}}"#,
    ];
    assert_eq!(usage, expected);
}

/// USE-3: a record of another session that was copied is not counted, nor is one from before the beginning.
#[test]
fn copied_records_are_not_counted() {
    let record = |id: &str, second: u64, source: &str| {
        format!(
            r#"{{"type":"session.usage_record","id":"{id}","timestamp":"2026-01-01T00:00:0{second}Z","data":{{"usage":{{"model":"m","inputTokens":10,"cacheReadTokens":1,"outputTokens":2,"maxPromptTokens":128,"accounting":{{"sourceSessionId":"{source}","sequence":{second}}}}}}}}}"#
        )
    };
    let start = r#"{"type":"session.start","id":"a","timestamp":"2026-01-01T00:00:05Z","data":{"sessionId":"s","startTime":"2026-01-01T00:00:05Z","context":{"cwd":"/w"},"reasoningEffort":"low"}}"#;
    let lines = [start.to_owned(), record("b", 4, "s"), record("c", 6, "other"), record("d", 7, "s")];
    let (_, events) = made(Format::Copilot, "s/events.jsonl", &lines);
    let expected = r#"{"at":"2026-01-01T00:00:05.000Z","id":"a","kind":"other","name":"session.start"}
{"at":"2026-01-01T00:00:05.000Z","id":"a","kind":"effort","effort":"low"}
{"at":"2026-01-01T00:00:07.000Z","id":"d","kind":"usage","key":"s:7","model":"m","tokens":{"input":10,"cached":1,"output":2}}
{"at":"2026-01-01T00:00:07.000Z","kind":"context","used":10,"window":128}
"#;
    assert_eq!(events, expected);
}
