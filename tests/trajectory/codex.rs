//! Codex: calls by record, running totals of older versions, copied histories, sub-agents.

use harnessd::trajectory::{Decoder, Event, Files, Format, Kinship, Layout, Needs, Parent, What};

use crate::recorded::{self, Recorded, quoted};
use crate::{drive, reckon};

const ID: &str = "0a000000-0000-7000-8000-00000000000a";
const OTHER: &str = "0b000000-0000-7000-8000-00000000000b";
const PATH: &str = "2026/11/30/rollout-2026-11-30T10-00-00-0a000000-0000-7000-8000-00000000000a.jsonl";

/// A line at so many milliseconds after ten o'clock.
fn line(ms: u32, kind: &str, payload: &str) -> String {
    let (second, ms) = (ms / 1000, ms % 1000);
    format!("{{'timestamp':'2026-11-30T10:00:{second:02}.{ms:03}Z','type':'{kind}','payload':{{{payload}}}}}")
}

fn header(ms: u32, id: &str, more: &str) -> String {
    line(ms, "session_meta", &format!("'id':'{id}','cwd':'/p'{more}"))
}

/// A running total of input tokens, of which a fifth is cached, and what the latest call used.
fn count(ms: u32, total: u64, last: u64) -> String {
    let usage = |input: u64| {
        format!(
            "{{'input_tokens':{input},'cached_input_tokens':{},'output_tokens':{}}}",
            input / 5,
            input / 10
        )
    };
    let (total, last) = (usage(total), usage(last));
    line(
        ms,
        "event_msg",
        &format!("'type':'token_count','info':{{'total_token_usage':{total},'last_token_usage':{last}}}"),
    )
}

fn record(ms: u32, thread: &str, response: &str, input: u64) -> String {
    let usage = format!("{{'input_tokens':{input},'cached_input_tokens':0,'output_tokens':1}}");
    line(
        ms,
        "token_usage_record",
        &format!("'thread_id':'{thread}','response_id':'{response}','usage':{usage}"),
    )
}

/// What the rollout of `ID` gives with these lines.
fn told(lines: &[String]) -> (Decoder, Vec<Event>) {
    recorded::told(Format::Codex, PATH, &quoted(lines))
}

/// The inputs of the calls that the lines tell, in order.
fn inputs(lines: &[String]) -> Vec<u64> {
    let (_, events) = told(lines);
    let input =
        |what: &What| if let What::Usage(call) = what { call.tokens.map(|of| of.input) } else { None };
    events.iter().filter_map(|event| input(&event.what)).collect()
}

fn files() -> Files {
    let Layout::Files(files) = Format::Codex.layout() else { panic!("codex has files") };
    files
}

/// TRJ-2, TRJ-3, USE-1, USE-4: what real runs wrote gives these sessions and events.
#[test]
fn recorded_runs_give_their_events() {
    for (case, path) in [
        ("tool-call", "2026/11/30/rollout-2026-11-30T10-56-42-01a22c19-8fe9-7293-879e-feacc854085d.jsonl"),
        ("resume", "2026/11/30/rollout-2026-11-30T10-56-42-01a22c19-91a5-7fd0-9161-e8b416e4ade0.jsonl"),
        ("fork", "2026/11/30/rollout-2026-11-30T10-56-43-01a22c19-950d-79c3-9363-132aff8ed3fb.jsonl"),
        ("fork", "2026/11/30/rollout-2026-11-30T10-56-44-01a22c19-9650-72c2-ad0d-9901c5e841dc.jsonl"),
        ("subagent", "2026/11/30/rollout-2026-11-30T10-56-44-01a22c19-980a-7371-b8cd-bae57d58bc2d.jsonl"),
        ("subagent", "2026/11/30/rollout-2026-11-30T10-56-44-01a22c19-9891-7d11-8088-086e291749f8.jsonl"),
        (
            "api-error-400",
            "2026/11/30/rollout-2026-11-30T10-56-45-01a22c19-9a0f-7353-b17b-395279a46514.jsonl",
        ),
        (
            "sigint-in-tool",
            "2026/11/30/rollout-2026-11-30T10-56-45-01a22c19-9b7d-7443-8081-41ba47f4b5f1.jsonl",
        ),
        (
            "sigterm-in-tool",
            "2026/11/30/rollout-2026-11-30T10-56-48-01a22c19-a5b6-7ee0-985b-73e542cdfa4a.jsonl",
        ),
        ("compact", "2026/11/30/rollout-2026-11-30T19-18-41-01a22de5-2611-7dd3-bdd6-4cc5e1a92215.jsonl"),
    ] {
        let stream = path.rsplit('/').next().unwrap();
        Recorded { format: Format::Codex, case, stream, path, documents: &[] }.holds();
    }
}

/// USE-3: where a file has records of calls, its running totals are not counted beside them.
#[test]
fn records_of_calls_are_counted_instead_of_totals() {
    let lines = [
        header(0, ID, ""),
        record(900, ID, "r1", 1000),
        count(901, 1000, 1000),
        record(1900, ID, "r2", 1100),
        record(1901, ID, "r2", 1100),
        count(1902, 2100, 1100),
        record(1903, OTHER, "r9", 7777),
    ];
    let (_, events) = told(&lines);
    assert_eq!(reckon::sums(&events), (2100, 0, 2, 2));
    let keys: Vec<String> = drive::calls(&events).iter().map(|call| call["key"].to_string()).collect();
    assert_eq!(keys[0], format!("\"{ID}:r1\""));
}

/// USE-3: totals become what they grew by; one that is told again unchanged is no call.
#[test]
fn totals_become_calls() {
    let lines = [
        header(0, ID, ""),
        count(900, 1000, 1000),
        count(901, 1000, 1000),
        count(1900, 1500, 500),
        count(2900, 1500, 500),
    ];
    assert_eq!(inputs(&lines), [1000, 500]);
}

/// USE-3, D6: a total that shrank begins anew: 1000, 100, 600 are 1000, 100, 500.
#[test]
fn a_shrinking_total_begins_anew() {
    let lines = [header(0, ID, ""), count(900, 1000, 1000), count(1900, 100, 100), count(2900, 600, 500)];
    assert_eq!(inputs(&lines), [1000, 100, 500]);
}

/// D2: a fork of an older version begins with the header and the records of its parent: 5000 and then 5200
/// are 200 of its own, whenever the copy says that its records were made.
#[test]
fn a_copied_history_is_only_the_baseline() {
    let forked = format!(",'forked_from_id':'{OTHER}'");
    for copied in [1, 0] {
        let lines = [
            header(500, ID, &forked),
            header(501 * copied, OTHER, ""),
            count(502 * copied, 3000, 3000),
            count(503 * copied, 5000, 2000),
            line(9000, "turn_context", "'model':'m'"),
            count(9800, 5200, 200),
        ];
        assert_eq!(inputs(&lines), [200], "{copied}");
    }
    // As a parent's header alone, without a word of a fork.
    let lines = [header(500, ID, ""), header(501, OTHER, ""), count(502, 5000, 2000), count(9800, 5200, 200)];
    assert_eq!(inputs(&lines), [200]);
}

/// D3: so does a sub-agent that copies its parent; and one whose totals begin at nothing is counted whole.
#[test]
fn a_sub_agent_counts_its_own_calls() {
    let spawned =
        format!(",'source':{{'subagent':{{'thread_spawn':{{'parent_thread_id':'{OTHER}','depth':2}}}}}}");
    let copying = [
        header(500, ID, &spawned),
        header(501, OTHER, ""),
        count(502, 5000, 5000),
        line(510, "turn_context", "'model':'m'"),
        count(1800, 5300, 300),
    ];
    assert_eq!(inputs(&copying), [300]);
    let anew = [
        header(500, ID, &spawned),
        header(501, OTHER, ""),
        count(502, 5000, 5000),
        count(1800, 300, 300),
        count(2800, 700, 400),
    ];
    assert_eq!(inputs(&anew), [300, 400]);
    let fresh = [header(500, ID, &spawned), count(1800, 300, 300), count(2800, 700, 400)];
    assert_eq!(inputs(&fresh), [300, 400]);

    let (decoder, events) = told(&copying);
    let parent = Parent { id: OTHER.to_owned(), kinship: Kinship::SubAgent };
    assert_eq!(decoder.session().parent, Some(parent));
    assert_eq!(decoder.session().models, ["m"]);
    assert_eq!(drive::calls(&events)[0]["model"], "m");
}

/// D2: a fork that copies nothing, but goes on with its parent's total, is told by its latest call.
#[test]
fn an_inherited_total_is_not_a_call() {
    let forked = format!(",'forked_from_id':'{OTHER}'");
    assert_eq!(inputs(&[header(0, ID, &forked), count(900, 5200, 200), count(1900, 5300, 100)]), [200, 100]);
}

/// USE-3: a file of the same thread that repeats its totals gives the same keys, so that they count once.
#[test]
fn a_repeated_file_of_a_thread_counts_once() {
    let lines =
        quoted(&[header(0, ID, ""), count(900, 1000, 1000), count(1900, 1500, 500)]).join("\n") + "\n";
    let mut events = Vec::new();
    for hour in ["10", "11"] {
        let path = format!("2026/11/30/rollout-2026-11-30T{hour}-00-00-{ID}.jsonl");
        events.extend(drive::whole(Format::Codex, &path, &[], lines.as_bytes(), Needs::Usage).1);
    }
    assert_eq!(reckon::sums(&events), (1500, 300, 150, 2));
}

/// D15: the program's own messages are not the model's, reasoning and custom tools are told, and a result has
/// failed if the agent says so.
#[test]
fn roles_tools_and_failures_are_told_as_stated() {
    let item = |payload: &str| line(900, "response_item", payload);
    let lines = [
        header(0, ID, ""),
        item("'type':'message','role':'developer','content':[{'type':'input_text','text':'rules'}]"),
        item("'type':'reasoning','summary':[{'type':'summary_text','text':'hm'}],'encrypted_content':'x'"),
        item("'type':'custom_tool_call','call_id':'c1','name':'nonesuch','input':'raw'"),
        line(901, "event_msg", "'type':'patch_apply_end','call_id':'c1','success':false"),
        item("'type':'custom_tool_call_output','call_id':'c1','output':'no'"),
        item("'type':'function_call','call_id':'c2','name':'f','namespace':'mcp','arguments':'{\\'a\\':1}'"),
        item("'type':'function_call_output','call_id':'c2','output':{'content':'done','success':true}"),
        item(
            "'type':'function_call_output','call_id':'c3','output':'Process exited with code 3\\nOutput:\\nx'",
        ),
        item("'type':'function_call_output','call_id':'c4','output':'Output:\\nExit code: 3'"),
        item("'type':'message','role':'assistant','content':[{'type':'output_text','text':'ok'}]"),
        line(902, "event_msg", "'type':'error','message':'broken'"),
    ];
    let lines: Vec<String> = lines.iter().map(|line| line.replace("\\'", "\\\"")).collect();
    let (_, events) = told(&lines);
    let whats: Vec<serde_json::Value> =
        events.iter().map(|event| serde_json::to_value(&event.what).unwrap()).collect();
    let expected = serde_json::json!([
        {"kind": "user", "text": "rules"},
        {"kind": "reasoning", "text": "hm"},
        {"kind": "tool-call", "name": "nonesuch", "action": "other", "targets": [], "input": "raw"},
        {"kind": "other", "name": "patch_apply_end"},
        {"kind": "tool-result", "of": "c1", "error": true, "text": "no"},
        {"kind": "tool-call", "name": "mcp/f", "action": "other", "targets": [], "input": {"a": 1}},
        {"kind": "tool-result", "of": "c2", "error": false, "text": "done"},
        {"kind": "tool-result", "of": "c3", "error": true, "text": "Process exited with code 3\nOutput:\nx"},
        {"kind": "tool-result", "of": "c4", "text": "Output:\nExit code: 3"},
        {"kind": "assistant", "text": "ok"},
        {"kind": "error", "message": "broken"},
    ]);
    assert_eq!(serde_json::Value::Array(whats), expected);
}

/// COR-8: the rollout that a process holds open names its thread.
#[test]
fn a_held_file_names_its_thread() {
    let held = files().held.unwrap();
    assert_eq!(held(PATH).as_deref(), Some(ID));
    for other in ["2026/11/30/rollout-x.jsonl", "thread-writer-locks/x.lock", "", "rollout-é.jsonl"] {
        assert_eq!(held(other), None, "{other}");
    }
}

/// USE-3, steipete/CodexBar#2193: a sub-agent whose own total begins at nothing and is at once beyond what its parent
/// had reached is counted whole: its first total is no more than its latest call.
#[test]
fn a_total_that_begins_anew_beyond_the_old_one_is_whole() {
    let spawned =
        format!(",'source':{{'subagent':{{'thread_spawn':{{'parent_thread_id':'{OTHER}','depth':1}}}}}}");
    let lines = [
        header(500, ID, &spawned),
        header(501, OTHER, ""),
        count(502, 5000, 5000),
        count(1800, 6000, 6000),
        count(1900, 6000, 6000),
        count(2800, 6400, 400),
    ];
    assert_eq!(inputs(&lines), [6000, 400]);
}

/// USE-3: threads that have nothing to do with one another, with equal numbers at equal times, count each.
#[test]
fn equal_numbers_of_two_threads_count_each() {
    let mut events = Vec::new();
    for id in [ID, OTHER] {
        let lines = quoted(&[header(0, id, ""), count(900, 1000, 1000)]).join("\n") + "\n";
        let path = format!("2026/11/30/rollout-2026-11-30T10-00-00-{id}.jsonl");
        events.extend(drive::whole(Format::Codex, &path, &[], lines.as_bytes(), Needs::Usage).1);
    }
    assert_eq!(reckon::sums(&events), (2000, 400, 200, 2));
}
