//! Grok Build 1.0.41.

use harnessd::trajectory::{Event, Format, Layout, Needs, What};

use crate::drive::{data, whole};
use crate::reckon::{served, sums};
use crate::recorded::{Recorded, made};

const fn recorded(case: &'static str, path: &'static str) -> Recorded {
    let documents = &[("summary.json", "summary.json"), ("signals.json", "signals.json")];
    Recorded { format: Format::Grok, case, stream: "updates.jsonl", path, documents }
}

const RESUMED: Recorded =
    recorded("resume", "%2Fhome%2Fuser%2Fproj/11111111-2222-4333-8444-555555555555/updates.jsonl");
const FORK: Recorded =
    recorded("fork", "%2Fhome%2Fuser%2Fproj/22222222-2222-4333-8444-555555555555/updates.jsonl");
const WITH_SUB_AGENT: Recorded =
    recorded("sub-agent", "%2Fhome%2Fuser%2Fproj/aaaaaaaa-2222-4333-8444-555555555555/updates.jsonl");
const SUB_AGENT: Recorded =
    recorded("sub-agent/child", "%2Fhome%2Fuser%2Fproj/01a22dee-691f-7ab1-b2df-f02324a662f0/updates.jsonl");

/// TRJ-2, USE-1: a turn with a tool call, then a resumed one: a turn is one row, its input includes the cache's.
#[test]
fn a_session_that_was_resumed() {
    RESUMED.holds();
}

/// USE-3, D2: a fork copies its parent's turns; only its own one is counted, and it begins when it was made.
#[test]
fn a_fork_counts_nothing_of_its_parent() {
    FORK.holds();
}

/// TRJ-2: a turn without an end states no usage.
#[test]
fn an_agent_that_was_killed_in_a_tool() {
    let path = "%2Fhome%2Fuser%2Fproj/33333333-2222-4333-8444-555555555555/updates.jsonl";
    let documents = &[("summary.json", "summary.json")];
    Recorded { documents, ..recorded("sigkill-in-tool", path) }.holds();
}

/// USE-3: a turn's usage includes its sub-agents', whose own files would count it twice: three calls were
/// made, two by the agent and one by the sub-agent.
#[test]
fn a_sub_agent_is_counted_in_the_turn_that_started_it() {
    WITH_SUB_AGENT.holds();
    SUB_AGENT.holds();
    assert_eq!(sums(&WITH_SUB_AGENT.read().1), served(1, 3000, 600, 21));
    assert_eq!(sums(&SUB_AGENT.read().1), served(0, 0, 0, 0));
    // The sub-agent's own files name no parent.
    let children = |of: &Recorded| of.read().0.session().children.clone();
    assert_eq!(children(&WITH_SUB_AGENT), ["01a22dee-691f-7ab1-b2df-f02324a662f0"]);
    assert_eq!((children(&SUB_AGENT), &SUB_AGENT.read().0.session().parent), (Vec::new(), &None));
}

/// USE-1, USE-3: a sub-agent that ends after the turn that started it is in no turn; the agent states its
/// total, unsplit, and that is counted once.
#[test]
fn a_sub_agent_that_outlives_its_turn_is_counted_when_it_ends() {
    let update = |number: u32, update: &str| {
        format!(
            r#"{{"params":{{"update":{update},"_meta":{{"eventId":"S-{number}","agentTimestampMs":{number}000}}}}}}"#
        )
    };
    let lines = [
        update(1, r#"{"sessionUpdate":"subagent_spawned","child_session_id":"A"}"#),
        update(2, r#"{"sessionUpdate":"subagent_spawned","child_session_id":"B"}"#),
        update(3, r#"{"sessionUpdate":"subagent_finished","child_session_id":"A","tokens_used":100}"#),
        update(
            4,
            r#"{"sessionUpdate":"turn_completed","prompt_id":"P","usage":{"inputTokens":2,"outputTokens":1}}"#,
        ),
        update(5, r#"{"sessionUpdate":"subagent_finished","child_session_id":"B","tokens_used":1007}"#),
        update(6, r#"{"sessionUpdate":"subagent_finished","child_session_id":"B","tokens_used":1007}"#),
    ];
    let told = made(Format::Grok, "c/S/updates.jsonl", &lines).1;
    let usage: Vec<&str> = told.lines().filter(|line| line.contains(r#""kind":"usage""#)).collect();
    assert_eq!(
        usage,
        [
            r#"{"at":"1970-01-01T00:00:04.000Z","id":"S-4","kind":"usage","key":"P","tokens":{"input":2,"cached":0,"output":1}}"#,
            r#"{"at":"1970-01-01T00:00:05.000Z","id":"S-5","kind":"usage","key":"B","tokens":{"input":1007,"cached":0,"output":0}}"#,
        ]
    );
}

/// USE-1: the sums of the turns are the totals that the agent keeps, and a fork's are those less its parent's.
#[test]
fn turns_add_up_to_the_totals_of_the_agent() {
    let total = |case: &str| {
        let usage: serde_json::Value =
            serde_json::from_slice(&data("grok", &format!("{case}/usage.json"))).unwrap();
        usage["session"]["inputTokens"].as_u64().unwrap()
    };
    let told = |recorded: &Recorded| sums(&recorded.read().1).0;
    assert_eq!(told(&RESUMED), total("resume"));
    assert_eq!(told(&FORK), total("fork") - total("resume"));
    assert_eq!(told(&WITH_SUB_AGENT), total("sub-agent"));
}

/// The usage among events as JSON, without their time.
fn calls(events: &[Event]) -> Vec<serde_json::Value> {
    let calls = events.iter().filter_map(|event| match &event.what {
        What::Usage(call) => Some(serde_json::to_value(call).unwrap()),
        _ => None,
    });
    calls.collect()
}

/// USE-1: a tick is 1e-10 dollars; a turn of several models has a row a model, and its cost is stated apart.
#[test]
fn costs_are_stated_in_ticks() {
    let told = |usage: &str| {
        let line = format!(
            r#"{{"params":{{"update":{{"sessionUpdate":"turn_completed","prompt_id":"P","usage":{usage}}},"_meta":{{"eventId":"S-1"}}}}}}
"#
        );
        calls(&whole(Format::Grok, "c/S/updates.jsonl", &[], line.as_bytes(), Needs::Usage).1)
    };
    let one = r#"{"modelUsage":{"m":{"inputTokens":500,"outputTokens":20,"cachedReadTokens":300}},"costUsdTicks":12000000}"#;
    assert_eq!(
        told(one),
        [
            serde_json::json!({"key": "P", "model": "m", "tokens": {"input": 500, "cached": 300, "output": 20}, "cost_usd": 0.0012})
        ]
    );
    let two = r#"{"modelUsage":{"m":{"inputTokens":5,"outputTokens":2},"n":{"inputTokens":1,"outputTokens":1}},"costUsdTicks":5000000000}"#;
    assert_eq!(
        told(two),
        [
            serde_json::json!({"key": "P/m", "model": "m", "tokens": {"input": 5, "cached": 0, "output": 2}}),
            serde_json::json!({"key": "P/n", "model": "n", "tokens": {"input": 1, "cached": 0, "output": 1}}),
            serde_json::json!({"key": "P/cost", "cost_usd": 0.5}),
        ]
    );
    let unsplit = r#"{"inputTokens":7,"outputTokens":1,"cachedReadTokens":9}"#;
    assert_eq!(
        told(unsplit),
        [serde_json::json!({"key": "P", "tokens": {"input": 7, "cached": 7, "output": 1}})]
    );
    assert_eq!(told(r#"{"inputTokens":0,"outputTokens":0}"#), [serde_json::json!(null); 0]);
}

/// TRJ-5: the directories that Grok Build 1.0.41 made, byte for byte. It resolves links before. A name of
/// more than 255 bytes is hashed, so the whole store is looked through.
#[test]
fn directories_are_named_as_the_agent_names_them() {
    let Layout::Files(files) = Format::Grok.layout() else { panic!("files") };
    let directory = files.directory.unwrap();
    let long = format!("/tmp/lab-files2/enc/{}", "x".repeat(210));
    let deep =
        format!("/tmp/lab-files2/enc/long/{}", ["y".repeat(100), "y".repeat(100), "y".repeat(100)].join("/"));
    for (cwd, made) in [
        ("/tmp/lab-files2/enc/plain", "%2Ftmp%2Flab-files2%2Fenc%2Fplain"),
        ("/tmp/lab-files2/enc/dot.dir", "%2Ftmp%2Flab-files2%2Fenc%2Fdot.dir"),
        ("/tmp/lab-files2/enc/two words", "%2Ftmp%2Flab-files2%2Fenc%2Ftwo%20words"),
        ("/tmp/lab-files2/enc/under_score", "%2Ftmp%2Flab-files2%2Fenc%2Funder_score"),
        ("/tmp/lab-files2/enc/at@sign", "%2Ftmp%2Flab-files2%2Fenc%2Fat%40sign"),
        ("/tmp/lab-files2/enc/Ünï 日本", "%2Ftmp%2Flab-files2%2Fenc%2F%C3%9Cn%C3%AF%20%E6%97%A5%E6%9C%AC"),
        ("/tmp/lab-files2/enc/日本語", "%2Ftmp%2Flab-files2%2Fenc%2F%E6%97%A5%E6%9C%AC%E8%AA%9E"),
        ("/tmp/lab-files2/enc/--", "%2Ftmp%2Flab-files2%2Fenc%2F--"),
        ("/tmp/lab-files2/enc/UPPER-Case", "%2Ftmp%2Flab-files2%2Fenc%2FUPPER-Case"),
        ("/tmp/lab-files2/enc/a~b!c'd(e)*f", "%2Ftmp%2Flab-files2%2Fenc%2Fa~b%21c%27d%28e%29%2Af"),
        ("/tmp/lab-files2/enc/..lead--trail-.", "%2Ftmp%2Flab-files2%2Fenc%2F..lead--trail-."),
        ("/tmp/lab-files2/enc/pct%20+&=,;", "%2Ftmp%2Flab-files2%2Fenc%2Fpct%2520%2B%26%3D%2C%3B"),
        (&long, &format!("%2Ftmp%2Flab-files2%2Fenc%2F{}", "x".repeat(210))),
        (&deep, ""),
    ] {
        assert_eq!(directory(cwd), made, "{cwd}");
    }
}

/// COR-8: a file that a process holds open tells the session.
#[test]
fn a_file_that_is_held_open_names_its_session() {
    let Layout::Files(files) = Format::Grok.layout() else { panic!("files") };
    let held = files.held.unwrap();
    for (path, session) in [
        ("%2Fw/S/updates.jsonl", Some("S")),
        ("%2Fw/S/updates.jsonl.lock", Some("S")),
        ("%2Fw/prompt_history.jsonl", None),
        ("session_search.sqlite", None),
        ("", None),
    ] {
        assert_eq!(held(path).as_deref(), session, "{path}");
    }
}

/// USE-3: turns that state no identity are still turns of their own.
#[test]
fn turns_without_an_identity_count_each() {
    let line = r#"{"params":{"update":{"sessionUpdate":"turn_completed","usage":{"inputTokens":5,"outputTokens":2}}}}"#;
    let read = |session: &str| {
        let lines = format!("{line}\n{line}\n");
        whole(Format::Grok, &format!("c/{session}/updates.jsonl"), &[], lines.as_bytes(), Needs::Usage).1
    };
    let both: Vec<Event> = read("S").into_iter().chain(read("T")).collect();
    assert_eq!(sums(&both), (20, 0, 8, 4));
}
