//! Kimi Code 2.1.0 and kimi-cli 1.48.0.

use harnessd::trajectory::{Format, Layout, Needs, What};

use crate::drive::{data, whole};
use crate::reckon::{served, sums};
use crate::recorded::Recorded;

const fn recorded(case: &'static str, stream: &'static str, path: &'static str) -> Recorded {
    Recorded { format: Format::Kimi, case, stream, path, documents: &[("../../state.json", "state.json")] }
}

/// TRJ-2, USE-1: a tool call, then two resumed turns; input is what was fresh, read from and written to the cache.
#[test]
fn a_session_that_was_resumed() {
    let path = "wd_proj_b52bb22f5537/session_ebfeb2dd-3d33-403b-ae64-08a46567a7d0/agents/main/wire.jsonl";
    let resumed = recorded("resume", "wire.jsonl", path);
    resumed.holds();
    assert_eq!(sums(&resumed.read().1), served(4, 1200, 1000, 34));
}

/// USE-3, D2: what a fork copied is no usage of it, and its start is its own.
#[test]
fn a_fork_counts_nothing_of_its_parent() {
    let path = "wd_proj_b52bb22f5537/session_0d8dd279-06e8-441f-a509-b3e3faadaa95/agents/main/wire.jsonl";
    let fork = recorded("fork", "wire.jsonl", path);
    fork.holds();
    assert_eq!(sums(&fork.read().1), served(0, 0, 0, 0));
}

/// TRJ-2: a tool that never answered.
#[test]
fn an_agent_that_was_killed_in_a_tool() {
    let path = "wd_proj_b52bb22f5537/session_8451f33a-d0af-4248-b75f-ab21fc94a772/agents/main/wire.jsonl";
    recorded("sigkill-in-tool", "wire.jsonl", path).holds();
}

/// USE-3: an agent and its sub-agent each tell their own calls.
#[test]
fn a_sub_agent_is_a_session_of_its_own() {
    let path = "wd_proj_662469c7e118/session_90e36ec7-a877-4ae2-970d-b19f585d4407/agents/main/wire.jsonl";
    let main = recorded("sub-agent", "wire.jsonl", path);
    main.holds();
    assert_eq!(sums(&main.read().1), served(2, 1000, 200, 7));
    let path = "wd_proj_662469c7e118/session_90e36ec7-a877-4ae2-970d-b19f585d4407/agents/agent-0/wire.jsonl";
    let sub = recorded("sub-agent", "agent-0.jsonl", path);
    sub.holds();
    assert_eq!(sums(&sub.read().1), served(1, 1000, 200, 7));
}

/// TRJ-2: the older kimi-cli, whose session's directory names no agent.
#[test]
fn the_older_kimi_cli() {
    let path = "a94a8fe5ccb19ba61c4c0873d391e987/my-own-id/wire.jsonl";
    recorded("older-cli", "wire.jsonl", path).holds();
}

/// USE-3: calls have the same key in the copy and in the original, so that even a fork whose state is not
/// beside it counts them once.
#[test]
fn a_copied_call_has_the_key_of_the_original() {
    let keys = |path: &str, case: &str| {
        let lines = data("kimi", &format!("{case}/wire.jsonl"));
        let events = whole(Format::Kimi, path, &[], &lines, Needs::Usage).1;
        let calls = events.into_iter().filter_map(|event| match event.what {
            What::Usage(call) => Some(call.key),
            _ => None,
        });
        calls.collect::<Vec<_>>()
    };
    let original = keys("w/session_ebfeb2dd/agents/main/wire.jsonl", "resume");
    let copy = keys("w/session_0d8dd279/agents/main/wire.jsonl", "fork");
    assert_eq!(original.len(), 4);
    assert_eq!(copy, original[..copy.len()]);
}

/// USE-1: versions that wrote no `usage.record` said the usage at a step's end.
#[test]
fn the_end_of_a_step_counts_where_no_record_does() {
    let lines = br#"{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"S"},"time":1000}
{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"S","usage":{"inputOther":50,"output":9,"inputCacheRead":400,"inputCacheCreation":7}},"time":2000}
{"type":"usage.record","model":"m","usage":{"inputOther":1,"output":0,"inputCacheRead":0,"inputCacheCreation":0},"time":3000}
{"type":"usage.record","model":"m","usage":{"inputOther":0,"output":0,"inputCacheRead":0,"inputCacheCreation":0},"time":3000}
"#;
    let events = whole(Format::Kimi, "w/session_x/agents/main/wire.jsonl", &[], lines, Needs::Usage).1;
    let told = serde_json::to_value(&events).unwrap();
    assert_eq!(
        told,
        serde_json::json!([
            {"at": events[0].at, "kind": "usage", "key": "S", "tokens": {"input": 457, "cached": 400, "output": 9}},
            {"at": events[1].at, "kind": "usage", "key": "session_x#1", "model": "m", "tokens": {"input": 1, "cached": 0, "output": 0}},
        ])
    );
}

/// TRJ-5: the directories that Kimi Code 2.1.0 made, byte for byte. It resolves links before.
#[test]
fn directories_are_named_as_the_agent_names_them() {
    let Layout::Files(files) = Format::Kimi.layout() else { panic!("files") };
    let directory = files.directory.unwrap();
    let long = format!("/tmp/lab-files2/enc/{}", "x".repeat(210));
    let deep =
        format!("/tmp/lab-files2/enc/long/{}", ["y".repeat(100), "y".repeat(100), "y".repeat(100)].join("/"));
    for (cwd, made) in [
        ("/tmp/lab-files2/enc/plain", "wd_plain_43fc3c5eb2b3"),
        ("/tmp/lab-files2/enc/dot.dir", "wd_dot.dir_9db00aa2b3c3"),
        ("/tmp/lab-files2/enc/two words", "wd_two-words_ea1ea2bb95b2"),
        ("/tmp/lab-files2/enc/under_score", "wd_under_score_3dc38b35b509"),
        ("/tmp/lab-files2/enc/at@sign", "wd_at-sign_9311a246ab16"),
        ("/tmp/lab-files2/enc/Ünï 日本", "wd_n_766d34051b5d"),
        ("/tmp/lab-files2/enc/日本語", "wd_workspace_f808c4ae2461"),
        ("/tmp/lab-files2/enc/--", "wd_workspace_aef72adbd9c0"),
        ("/tmp/lab-files2/enc/UPPER-Case", "wd_upper-case_ccd82d2101d5"),
        ("/tmp/lab-files2/enc/a~b!c'd(e)*f", "wd_a-b-c-d-e-f_da6500275a8c"),
        ("/tmp/lab-files2/enc/..lead--trail-.", "wd_..lead--trail-._61cef32b00da"),
        ("/tmp/lab-files2/enc/pct%20+&=,;", "wd_pct-20_d60f4e2e7f4f"),
        (&long, "wd_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_bd9dcb3d8374"),
        (&deep, "wd_yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy_46cd58a47e44"),
    ] {
        assert_eq!(directory(cwd), made, "{cwd}");
    }
}

/// COR-8: a file that a process holds open tells the session.
#[test]
fn a_file_that_is_held_open_names_its_session() {
    let Layout::Files(files) = Format::Kimi.layout() else { panic!("files") };
    let held = files.held.unwrap();
    for (path, session) in [
        ("wd_a_1/session_x/agents/main/wire.jsonl", Some("session_x")),
        ("wd_a_1/session_x/agents/agent-0/wire.jsonl", Some("session_x/agent-0")),
        ("wd_a_1/session_x/logs/kimi-code.log", None),
        ("session_index.jsonl", None),
        ("", None),
    ] {
        assert_eq!(held(path).as_deref(), session, "{path}");
    }
}

/// TRJ-3: a time beyond all measure in the session's state stops nothing.
#[test]
fn a_fork_of_any_time_is_read() {
    for made in [i64::MIN / 1000, i64::MAX / 1000] {
        let state = format!(r#"{{"forkedFrom":"session_a","createdAt":{made}}}"#);
        let lines = br#"{"type":"forked","time":1000}
{"type":"usage.record","model":"m","usage":{"inputOther":1,"output":1},"time":3000}
"#;
        let documents: &[(&str, &[u8])] = &[("../../state.json", state.as_bytes())];
        let path = "w/session_x/agents/main/wire.jsonl";
        let events = whole(Format::Kimi, path, documents, lines, Needs::Usage).1;
        assert_eq!(events.len(), usize::from(made < 0), "{made}");
    }
}
