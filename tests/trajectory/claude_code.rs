//! Claude Code: rows of one message, copies, sub-agents, costs, and where its files lie.

use harnessd::trajectory::{Decoder, Event, Files, Format, Kinship, Layout, Parent, PidNote};

use crate::recorded::{self, Recorded, quoted};
use crate::{drive, reckon};

const AGENT: &str = "claude-code";
const ID: &str = "0a000000-0000-4000-8000-00000000000a";
const OTHER: &str = "0b000000-0000-4000-8000-00000000000b";

fn path() -> String {
    format!("-home-user-proj/{ID}.jsonl")
}

/// An assistant row of session `ID`: a message id, what else the row states, fresh, cached and output tokens.
fn row(id: &str, more: &str, tokens: [u64; 3]) -> String {
    let [fresh, cached, output] = tokens;
    format!(
        "{{'type':'assistant','sessionId':'{ID}','cwd':'/p','timestamp':'2026-11-30T10:00:00.000Z',{more}\
         'message':{{'id':{id},'model':'m','usage':{{'input_tokens':{fresh},\
         'cache_creation_input_tokens':5,'cache_read_input_tokens':{cached},'output_tokens':{output}}}}}}}"
    )
}

/// What the file of session `ID` gives with these rows.
fn told(rows: &[impl AsRef<str>]) -> (Decoder, Vec<Event>) {
    recorded::told(Format::ClaudeCode, &path(), &quoted(rows))
}

fn sums(rows: &[String]) -> reckon::Sums {
    reckon::sums(&told(rows).1)
}

fn files() -> Files {
    let Layout::Files(files) = Format::ClaudeCode.layout() else { panic!("claude-code has files") };
    files
}

/// TRJ-2, TRJ-3, USE-1, USE-4: what real runs wrote gives these sessions and events.
#[test]
fn recorded_runs_give_their_events() {
    for (case, path) in [
        ("tool-call", "-home-user-proj/00000001-0000-4000-8000-000000000001.jsonl"),
        ("resume", "-home-user-proj/00000002-0000-4000-8000-000000000002.jsonl"),
        ("fork", "-home-user-proj/00000003-0000-4000-8000-000000000003.jsonl"),
        ("fork", "-home-user-proj/00000004-0000-4000-8000-000000000004.jsonl"),
        ("subagent", "-home-user-proj/00000005-0000-4000-8000-000000000005.jsonl"),
        ("clear", "-home-user-proj/00000006-0000-4000-8000-000000000006.jsonl"),
        ("api-error-400", "-home-user-proj/00000007-0000-4000-8000-000000000007.jsonl"),
        ("max-turns", "-home-user-proj/00000008-0000-4000-8000-000000000008.jsonl"),
        ("sigterm-in-tool", "-home-user-proj/00000009-0000-4000-8000-000000000009.jsonl"),
        ("sigkill-in-tool", "-home-user-proj/00000010-0000-4000-8000-000000000010.jsonl"),
        (
            "subagent",
            "-home-user-proj/00000005-0000-4000-8000-000000000005/subagents/agent-addb6800b1dcb4dfa.jsonl",
        ),
        ("clear", "-home-user-proj/8b1d5229-0f5e-4ef0-ac37-608e37795fb6.jsonl"),
        ("compact", "-home-user-proj/aaaaaaaa-0000-4000-8000-000000000001.jsonl"),
        ("fork-of-fork", "-home-user-proj/aaaaaaaa-0000-4000-8000-000000000003.jsonl"),
        ("failed-command", "-home-user-proj/aaaaaaaa-0000-4000-8000-000000000006.jsonl"),
        ("nested-subagent", "-home-user-proj/bbbbbbbb-0000-4000-8000-000000000001.jsonl"),
        (
            "nested-subagent",
            "-home-user-proj/bbbbbbbb-0000-4000-8000-000000000001/subagents/agent-a9bef2fb2252dfe75.jsonl",
        ),
        (
            "nested-subagent",
            "-home-user-proj/bbbbbbbb-0000-4000-8000-000000000001/subagents/agent-af3bddc4f40024104.jsonl",
        ),
    ] {
        let stream = path.rsplit('/').next().unwrap();
        let documents: &[_] =
            if path.contains("/subagents/") { &[("{stem}.meta.json", "{stem}.meta.json")] } else { &[] };
        Recorded { format: Format::ClaudeCode, case, stream, path, documents }.holds();
    }
}

/// USE-3, D1: the last record of a message is its call: outputs 1, 1, 50 are 50, and ids a, b, a are two calls.
#[test]
fn the_last_record_of_a_message_wins() {
    let streamed = [1, 1, 50].map(|output| row("'a'", "", [100, 20, output]));
    assert_eq!(sums(&streamed), (125, 20, 50, 1));
    let turns = ["'a'", "'b'", "'a'"].map(|id| row(id, "", [100, 20, 7]));
    assert_eq!(sums(&turns), (250, 40, 14, 2));
}

/// USE-3: without a `requestId` (gateways leave it out), or under another one, a message is still one call.
#[test]
fn a_request_id_plays_no_part_where_there_is_a_message_id() {
    let rows = [
        row("'a'", "", [100, 20, 1]),
        row("'a'", "'requestId':'r1',", [100, 20, 100]),
        row("'a'", "'requestId':'r2',", [100, 20, 100]),
    ];
    assert_eq!(sums(&rows), (125, 20, 100, 1));
}

/// USE-3: a row whose message has no id counts, by its request or by itself.
#[test]
fn a_message_without_an_id_counts() {
    let rows = [
        row("null", "'requestId':'r1','uuid':'u1',", [100, 20, 1]),
        row("null", "'requestId':'r1','uuid':'u2',", [100, 20, 9]),
        row("null", "'uuid':'u3',", [100, 20, 9]),
        row("null", "'version':'1',", [100, 20, 9]),
        row("null", "'version':'2',", [100, 20, 9]),
    ];
    assert_eq!(sums(&rows), (500, 80, 36, 4));
}

/// TRJ-3: spaces after colons, and keys in any order, change nothing.
#[test]
fn spacing_changes_nothing() {
    let spaced = row("'a'", "", [100, 20, 7]).replace("':", "' : ").replace(",'", ", '");
    let turned = format!(
        "{{'message': {{'usage': {{'output_tokens': 7, 'input_tokens': 100}}, 'id': 'b'}}, \
         'type': 'assistant', 'sessionId': '{ID}'}}"
    );
    assert_eq!(sums(&[spaced, turned]), (225, 20, 14, 2));
}

/// USE-3, D2: rows copied by a fork say which session made the call; they are not calls of the fork, and those
/// of versions that do not say it keep the message's id, so that they count once over all sessions.
#[test]
fn copied_rows_are_not_calls_of_the_copy() {
    let rows = [
        row("'a'", &format!("'requestSessionId':'{OTHER}',"), [100, 20, 7]),
        row("'b'", &format!("'requestSessionId':'{ID}',"), [100, 20, 7]),
        row("'c'", "", [100, 20, 7]),
        row("'d'", "", [100, 20, 7]).replace(ID, OTHER),
    ];
    assert_eq!(sums(&rows), (250, 40, 14, 2));
    let (decoder, _) = told(&rows[..2]);
    let parent = Parent { id: OTHER.to_owned(), kinship: Kinship::Forked };
    assert_eq!(decoder.session().parent, Some(parent));

    let lines = |name: &str| drive::data(AGENT, &format!("fork/{name}.jsonl"));
    let both = ["00000003-0000-4000-8000-000000000003", "00000004-0000-4000-8000-000000000004"];
    // As if neither said where its rows come from.
    let stripped: Vec<Vec<u8>> = both
        .iter()
        .map(|name| String::from_utf8(lines(name)).unwrap().replace("requestSessionId", "x").into_bytes())
        .collect();
    let mut events = Vec::new();
    for (name, lines) in both.iter().zip(&stripped) {
        let path = format!("p/{name}.jsonl");
        events.extend(
            drive::whole(Format::ClaudeCode, &path, &[], lines, harnessd::trajectory::Needs::Usage).1,
        );
    }
    assert_eq!(reckon::sums(&events), (2400, 400, 14, 2));
}

/// COR-1, contract of [`harnessd::trajectory::Session`]: copied history is not a session's own beginning.
#[test]
fn a_fork_begins_with_its_own_first_record() {
    let rows = [
        format!("{{'type':'user','sessionId':'{ID}','uuid':'1','timestamp':'2026-11-29T08:00:00Z'}}"),
        row("'a'", &format!("'uuid':'2','requestSessionId':'{OTHER}',"), [1, 1, 1]),
        format!("{{'type':'attachment','sessionId':'{ID}','uuid':'3','timestamp':'2026-11-29T08:00:02Z'}}"),
        format!("{{'type':'api-request','sessionId':'{ID}','timestamp':'2026-11-30T09:59:59Z'}}"),
        row("'b'", "'uuid':'4',", [1, 1, 1]),
    ];
    let (decoder, _) = told(&rows);
    let started = decoder.session().started_at.map(harnessd::base::Wall::rfc3339);
    assert_eq!(started.as_deref(), Some("2026-11-30T09:59:59.000Z"));
}

/// USE-3: a sidechain in the session's own file counts, and a message that it replays counts once.
#[test]
fn a_sidechain_counts_once() {
    let rows = [
        row("'a'", "'requestId':'r1',", [100, 20, 7]),
        row("'a'", "'requestId':'r2','isSidechain':true,", [100, 20, 7]),
        row("'b'", "'isSidechain':true,", [900, 20, 7]),
    ];
    assert_eq!(sums(&rows), (1050, 40, 14, 2));
    assert_eq!(told(&rows).0.session().context, Some((125, None)));
}

/// Old versions keep a sub-agent's file beside its session's: its rows name the parent.
#[test]
fn a_sub_agent_beside_its_session_is_a_session_below_it() {
    let (decoder, events) = recorded::told(
        Format::ClaudeCode,
        "p/agent-abc.jsonl",
        &quoted(&[row("'a'", "'isSidechain':true,", [1, 1, 1])]),
    );
    let parent = Parent { id: ID.to_owned(), kinship: Kinship::SubAgent };
    assert_eq!((decoder.session().id.as_str(), &decoder.session().parent), ("abc", &Some(parent)));
    assert_eq!(reckon::sums(&events), (7, 1, 1, 1));
}

/// USE-1, USE-3: `cost-state` is a running total: each tells what it grew by, one that shrank begins anew, and
/// one that stands still tells nothing. What a fork took over is not stated apart and is not told.
#[test]
fn costs_are_what_a_running_total_grew_by() {
    let cost = |total: &str| {
        format!("{{'type':'cost-state','sessionId':'{ID}','totalCostUSD':{total},'modelUsage':{{'m':{{}}}}}}")
    };
    let totals = ["0", "0.0041800000000000006", "0.00836", "0.00836", "0.002", "-1", "null"].map(cost);
    let told_of = |rows: &[String]| reckon::costs(&told(rows).1);
    let key = |number| format!("{ID}:cost:{number}");
    assert_eq!(told_of(&totals), vec![(key(2), 0.00418), (key(3), 0.00418), (key(5), 0.002)]);

    let copied = row("'a'", &format!("'requestSessionId':'{OTHER}',"), [100, 20, 7]);
    let rows = [copied, totals[1].clone(), totals[2].clone()];
    assert_eq!(told_of(&rows), vec![(key(2), 0.00418)]);
}

/// USE-1: what the program wrote in the model's place, and a row that used nothing, are no calls.
#[test]
fn synthetic_rows_are_no_calls() {
    let rows = [
        row("'a'", "", [100, 20, 7]).replace("'m'", "'<synthetic>'"),
        row("'b'", "'isApiErrorMessage':true,", [100, 20, 7]),
        row("'c'", "", [0, 0, 0]).replace(":5,", ":0,"),
        row("'d'", "", [100, 20, 7]).replace("'assistant'", "'user'"),
    ];
    assert_eq!(sums(&rows), (0, 0, 0, 0));
}

/// D9, TRJ-3: a torn last line is not consumed, and what cannot be read is counted and stops nothing.
#[test]
fn odd_lines_are_counted_and_torn_ones_wait() {
    let rows = [
        row("'a'", "", [100, 20, 7]).replace('\'', "\""),
        "{\"type\":\"assistant\",".to_owned(),
        "{\"type\":\"hologram\",\"sessionId\":7}".to_owned(),
    ];
    let torn = &row("'b'", "", [100, 20, 7]).replace('\'', "\"")[..60];
    let mut lines = (rows.join("\n") + "\n").into_bytes();
    lines.extend(b"{\"type\":\"assistant\",\"cwd\":\"\xff\",\"message\":{\"id\":\"c\",\"usage\":{\"input_tokens\":3}}}\n");
    lines.extend(torn.bytes());
    let needs = harnessd::trajectory::Needs::Everything;
    let (decoder, events) = drive::whole(Format::ClaudeCode, &path(), &[], &lines, needs);
    assert_eq!(reckon::sums(&events), (128, 20, 7, 2));
    let odd = serde_json::to_string(decoder.oddities()).unwrap();
    assert_eq!(odd, r#"{"malformed":1,"too_long":0,"unknown":{"hologram":1}}"#);
}

/// A file that somebody else named takes its id from its rows.
#[test]
fn a_renamed_file_is_still_the_session_of_its_rows() {
    let (decoder, events) =
        recorded::told(Format::ClaudeCode, "p/copy.jsonl", &quoted(&[row("'a'", "", [100, 20, 7])]));
    assert_eq!(decoder.session().id, ID);
    assert_eq!(reckon::sums(&events), (125, 20, 7, 1));
}

/// TRJ-5: directories as Claude Code 2.1.332 really named them, byte for byte. A symbolic link to a working
/// directory gives the name of the directory itself.
#[test]
fn directories_are_named_as_the_agent_names_them() {
    let directory = files().directory.unwrap();
    let made = String::from_utf8(drive::data(AGENT, "places/directories.tsv")).unwrap();
    let pairs: Vec<(&str, &str)> = made.lines().filter_map(|line| line.split_once('\t')).collect();
    assert_eq!(pairs.len(), 14);
    for (path, name) in pairs {
        assert_eq!(directory(path), name, "{path}");
    }
}

/// COR-8: the file of a process that was killed stays behind, so that its start is read with it.
#[test]
fn a_pid_file_names_process_start_and_session() {
    let pid_file = files().pid_file.unwrap();
    let note = PidNote {
        pid: 13389,
        process_start: Some(295_717),
        session: "00000010-0000-4000-8000-000000000010".to_owned(),
    };
    assert_eq!(pid_file.directory, "../sessions");
    assert_eq!((pid_file.read)(&drive::data(AGENT, "places/13389.json")), Some(note));
    for odd in ["", "[]", "{\"pid\":1}", "{\"pid\":99999999999,\"sessionId\":\"x\"}", "{\"sessionId\":\"x\"}"]
    {
        assert_eq!((pid_file.read)(odd.as_bytes()), None, "{odd}");
    }
}
