//! What agents did and what it cost, end to end, with a stand-in for Claude Code that writes its transcripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, until};

/// Writes what Claude Code writes of a session: one prompt, one tool call, and as many model calls as the
/// prompt says, a call each fifth of a second; each has 100 tokens of input, 40 of them cached, and 10 of output.
/// `many`: 2000 more at once. `hold`: it goes on until it is ended.
const AGENT: &str = r##"#!/usr/bin/env python3
import json, os, re, sys, time, uuid
from datetime import datetime, timezone

def flag(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None

if "--version" in sys.argv:
    print("2.1.332 (Claude Code)")
    sys.exit(0)
cwd = os.getcwd()
prompt = sys.argv[sys.argv.index("--") + 1] if "--" in sys.argv else "2"
session = flag("--session-id") or flag("--resume") or str(uuid.uuid4())
place = os.path.join(os.path.expanduser("~/.claude/projects"), re.sub("[^a-zA-Z0-9]", "-", cwd))
os.makedirs(place, exist_ok=True)
out = open(os.path.join(place, session + ".jsonl"), "a")

def write(kind, message, **more):
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    row = {"parentUuid": None, "isSidechain": False, "type": kind, "message": message, "uuid": str(uuid.uuid4()),
           "timestamp": now, "userType": "external", "cwd": cwd, "sessionId": session, "version": "2.1.332", **more}
    out.write(json.dumps(row) + "\n")
    out.flush()

def call(number, content):
    write("assistant", {"id": "msg_%s_%d" % (session[:8], number), "type": "message", "role": "assistant",
        "model": "claude-opus-5-5", "content": content, "stop_reason": None,
        "usage": {"input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 40,
                  "output_tokens": 10}}, requestId="req_%d" % number)

if "stream-json" in sys.argv:
    print(json.dumps({"type": "system", "subtype": "init", "cwd": cwd, "session_id": session}), flush=True)
write("user", {"role": "user", "content": "do \u001b[2J" + prompt})
tool = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cargo test"}}
call(0, [tool])
write("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True,
                                            "content": "it failed"}]})
for number in range(1, int(prompt.split()[0])):
    time.sleep(0.2)
    call(number, [{"type": "text", "text": "done %d" % number}])
for number in range(1000, 3000 if "many" in prompt else 1000):
    call(number, [])
if "hold" in prompt:
    time.sleep(600)
if "stream-json" in sys.argv:
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done",
                      "session_id": session}), flush=True)
"##;

/// A home with the stand-in and two harnesses that run it in directories of their own.
fn home(more: &str) -> Home {
    let home = Home::new("");
    home.write("bin/claude", AGENT);
    fs::set_permissions(home.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(home.path("work")).unwrap();
    home.configure(&config(&home, more));
    home
}

fn config(home: &Home, more: &str) -> String {
    let (program, work) = (home.text("bin/claude"), home.text("work"));
    format!(
        "[harness.job]\ncmd = \"{program}\"\nworkdir = \"{work}\"\nprompt = \"3\"\n\
         {more}\n\
         [harness.plain]\noneshot = true\ncmd = \"sh\"\nworkdir = \"{work}\"\n\
         args = [\"-c\", \"printf 'one\\\\033[1mtwo\\\\n'\"]\nharvest = true\n"
    )
}

fn usage_of(value: &Value) -> Value {
    json!({"input": value["input"], "cached": value["cached"], "output": value["output"], "calls": value["calls"]})
}

/// What the stand-in has written of all its sessions.
fn written(home: &Home) -> String {
    let dirs = fs::read_dir(home.path(".claude/projects")).into_iter().flatten();
    let files = dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap());
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// Runs the job to its end.
fn run_once(home: &Home) -> Value {
    home.ok(&["start", "job", "--wait"]);
    home.runs("job").swap_remove(0)
}

/// Waits until a run has this usage.
fn settled(home: &Home, run: &str, calls: u64) -> Value {
    until("the run's transcript is read", || {
        let shown = home.ok(&["show", run, "--json"]).json();
        (shown["usage"]["calls"] == calls).then_some(shown)
    })
}

/// COR-8, USE-1, USE-5: a run shows its session with how it is known, and what it used, by every sum.
#[test]
fn a_run_shows_its_session_and_usage() {
    let mut home = home("harvest = true");
    home.start_daemon();
    let run = run_once(&home)["id"].as_str().unwrap().to_owned();
    let shown = settled(&home, &run, 3);
    assert_eq!(usage_of(&shown["usage"]), json!({"input": 300, "cached": 120, "output": 30, "calls": 3}));
    assert_eq!(shown["usage"]["unpriced_calls"], 3, "no price is made up: {shown}");
    assert_eq!(shown["usage"].get("cost_usd"), None);
    let sessions = shown["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{shown}");
    assert_eq!(sessions[0]["evidence"], "exact: launch-id");
    assert!(home.ok(&["show", &run]).out.contains("usage:       input 300 (120 cached), output 30, calls 3"));
    let day = home.ok(&["usage", "--by", "day", "--json"]).json();
    for (by, key) in [
        (None, json!({"harness": "job"})),
        (Some("run"), json!({"harness": "job", "run": run})),
        (Some("day"), day["rows"][0]["key"].clone()),
        (Some("model"), json!({"model": "claude-opus-5-5"})),
        (Some("project"), json!({})),
    ] {
        let by: Vec<&str> = by.iter().flat_map(|by| ["--by", by]).collect();
        let used = home.ok(&[&["usage", "job", "--json"], by.as_slice()].concat()).json();
        assert_eq!(used["rows"].as_array().unwrap().len(), 1, "{used}");
        assert_eq!(used["rows"][0]["key"], key);
        let whole = json!({"input": 300, "cached": 120, "output": 30, "calls": 3});
        assert_eq!((usage_of(&used["rows"][0]), usage_of(&used["total"])), (whole.clone(), whole));
    }
    let later = home.ok(&["usage", "--since", "2999-01-01T00:00:00Z", "--json"]).json();
    assert_eq!(later["rows"], json!([]));
}

/// Agents delete their transcripts after a while: what was used is in the account, and stays.
#[test]
fn what_was_used_stays_when_the_transcript_is_gone() {
    let mut home = home("harvest = true");
    home.start_daemon();
    let run = run_once(&home)["id"].as_str().unwrap().to_owned();
    let shown = settled(&home, &run, 3);
    fs::remove_dir_all(home.path(".claude")).unwrap();
    let used = |home: &Home| home.ok(&["usage", "--by", "run", "--json"]).json();
    let before = used(&home);
    assert_eq!(usage_of(&before["total"]), json!({"input": 300, "cached": 120, "output": 30, "calls": 3}));
    // Another run looks at the store again, and so does another daemon.
    let other = run_once(&home)["id"].as_str().unwrap().to_owned();
    settled(&home, &other, 3);
    home.stop_daemon();
    home.start_daemon();
    let after = used(&home);
    assert_eq!(after["rows"].as_array().unwrap().len(), 2, "{after}");
    assert!(after["rows"].as_array().unwrap().contains(&before["rows"][0]), "{after}");
    let again = home.ok(&["show", &run, "--json"]).json();
    assert_eq!((&again["usage"], &again["sessions"]), (&shown["usage"], &shown["sessions"]));
}

/// USE-6: who waits for a run and then asks what it used is told all of it, though much is to be read.
#[test]
fn what_a_run_used_is_whole_as_soon_as_it_is_over() {
    let mut home = home("");
    let config = config(&home, "").replace("prompt = \"3\"", "prompt = \"1 many\"");
    home.configure(&config);
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let used = home.ok(&["usage", "job", "--json"]).json();
    assert_eq!(usage_of(&used["total"])["calls"], 2001);
}

/// TRJ-7: the trajectory of a session in each format; terminals are moved by none of it.
#[test]
fn a_trajectory_is_printed_in_every_format() {
    let mut home = home("harvest = true");
    home.start_daemon();
    let run = run_once(&home)["id"].as_str().unwrap().to_owned();
    settled(&home, &run, 3);
    let listed = home.ok(&["trajectories", "job", "--json"]).json();
    let entry = &listed["trajectories"][0];
    assert_eq!((&entry["run"], &entry["source"]), (&json!(run), &json!("native")), "{listed}");
    assert_eq!((&listed["excluded"], &listed["warnings"]), (&json!([]), &json!([])));
    let of_run = home.ok(&["trajectories", "--run", &run, "--json"]).json();
    assert_eq!(of_run["trajectories"], listed["trajectories"]);
    let id = entry["id"].as_str().unwrap();
    let text = home.ok(&["trajectory", id]).out;
    assert!(text.contains("user        do \\u{1b}[2J3\n"), "{text}");
    assert!(text.contains("tool        Bash (verify) cargo test\n"), "{text}");
    assert!(text.contains("failed      it failed\n"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let whole = home.ok(&["trajectory", &id[..8], "--json"]).json();
    assert_eq!(whole["session"], *entry);
    let events = whole["events"].as_array().unwrap();
    let lines = home.ok(&["trajectory", id, "--format", "jsonl"]).out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&lines, events);
    let native = entry["native_id"].as_str().unwrap();
    let spans = home.ok(&["trajectory", native, "--format", "otlp"]).json();
    let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    let chat = "chat claude-opus-5-5";
    assert_eq!(names, ["execute_tool Bash", chat, chat, chat, "invoke_agent claude-code"]);
    // The log of what keeps no transcript stands in for one.
    home.ok(&["start", "plain", "--wait"]);
    let listed = home.ok(&["trajectories", "plain", "--json"]).json();
    let entry = &listed["trajectories"][0];
    assert_eq!(entry["source"], "scrollback");
    let whole = home.ok(&["trajectory", entry["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(whole["events"], json!([{"kind": "output", "text": "onetwo"}]));
}

/// TRJ-6: without `harvest` nothing of a session is told, its usage is; a reload turns it on.
#[test]
fn what_is_not_harvested_is_withheld() {
    let mut home = home("");
    home.start_daemon();
    let run = run_once(&home)["id"].as_str().unwrap().to_owned();
    let shown = settled(&home, &run, 3);
    assert_eq!(shown.get("sessions"), None, "{shown}");
    let listed = home.ok(&["trajectories", "--json"]).json();
    assert_eq!(listed, json!({"trajectories": [], "excluded": [], "warnings": []}));
    let refused = home.harnessd(&["trajectories", "job", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&refused.err).unwrap()["error"]["code"], "not_harvested");
    let stem = fs::read_dir(home.path(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(stem).unwrap().next().unwrap().unwrap().path();
    let session = file.file_stem().unwrap().to_str().unwrap();
    let refused = home.harnessd(&["trajectory", session, "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&refused.err).unwrap()["error"]["code"], "not_harvested");
    for asked in [&["show", &run][..], &["show", &run, "--json"], &["runs", "--json"], &["list", "--json"]] {
        assert!(!home.ok(asked).out.contains(session), "{asked:?}");
    }
    home.configure(&config(&home, "harvest = true"));
    home.ok(&["reload"]);
    let shown = home.ok(&["show", &run, "--json"]).json();
    assert_eq!(shown["sessions"][0]["evidence"], "exact: launch-id");
    home.ok(&["trajectory", session]);
    let unknown = home.harnessd(&["trajectory", "ffffffffffffffff", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&unknown.err).unwrap()["error"]["code"], "unknown_session");
    // A file of the caller's choice is none, not even the session's own.
    let path = home.harnessd(&["trajectory", file.to_str().unwrap(), "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&path.err).unwrap()["error"]["code"], "unknown_session");
}

/// USE-5: a run is stopped within five seconds of the call that crosses its budget, and says by what.
#[test]
fn a_budget_stops_a_run() {
    let mut home = home("budget = { max_tokens = 500 }");
    let hold =
        config(&home, "budget = { max_tokens = 500 }").replace("prompt = \"3\"", "prompt = \"5 hold\"");
    home.configure(&hold);
    home.start_daemon();
    home.ok(&["start", "job"]);
    let begun = Instant::now();
    let run = home.ended_run("job");
    assert_eq!(run["outcome"], "budget", "{run}");
    assert_eq!(run["cause"], "used 550 tokens of its `budget` of 500");
    // The fifth call comes after a second of the agent's own, and its start takes a moment.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

/// TRJ-9, CTL-12: subscribers are told each event of a harvested session once, and nothing that was said.
#[test]
fn subscribers_are_told_each_event_once() {
    use std::io::{BufRead, BufReader, Write};
    let mut home = home("harvest = true");
    home.set("HARNESSD_SOCKET", &home.text("sock"));
    home.start_daemon();
    let mut socket = std::os::unix::net::UnixStream::connect(home.path("sock")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let hello = json!({"id": 1, "op": "hello", "protocol": 1, "version": version});
    writeln!(socket, "{hello}\n{}", json!({"id": 2, "op": "subscribe"})).unwrap();
    home.ok(&["start", "job"]);
    let mut told = Vec::new();
    for line in BufReader::new(socket).lines() {
        let line = line.unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "trajectory_event" {
            assert!(
                !line.contains("cargo test") && !line.contains("it failed") && !line.contains("2J"),
                "{line}"
            );
            told.push(event);
        }
        let calls = told.iter().filter(|event| event["kind"] == "usage").count();
        if calls == 3 {
            break;
        }
    }
    let kinds: Vec<&str> = told.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "user").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool-call").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool-result").count(), 1, "{kinds:?}");
    let tool = told.iter().find(|event| event["kind"] == "tool-call").unwrap();
    assert_eq!((&tool["name"], &tool["action"]), (&json!("Bash"), &json!("verify")));
    let id = &home.ok(&["trajectories", "--json"]).json()["trajectories"][0]["id"];
    assert!(told.iter().all(|event| event["session"] == *id && event["harness"] == "job"), "{told:?}");
}

/// USE-2, USE-6: what a killed daemon had not read is read by the next one, or by whoever asks without one; it
/// counts once.
#[test]
fn a_killed_daemon_loses_and_repeats_nothing() {
    let mut home = home("harvest = true");
    home.start_daemon();
    home.ok(&["start", "job"]);
    home.wait_state("job", "running");
    until("the agent has written of a call", || written(&home).contains("usage").then_some(()));
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    home.start_daemon();
    let lost = home.ended_run("job");
    assert_eq!(lost["outcome"], "lost");
    let run = run_once(&home)["id"].as_str().unwrap().to_owned();
    settled(&home, &run, 3);
    home.stop_daemon();
    let used = home.ok(&["usage", "--by", "run", "--json"]).json();
    let rows = used["rows"].as_array().unwrap();
    let whole: Vec<_> = rows.iter().filter(|row| row["key"]["run"] == run).map(usage_of).collect();
    assert_eq!(whole, [json!({"input": 300, "cached": 120, "output": 30, "calls": 3})]);
    let first: Vec<_> = rows.iter().filter(|row| row["key"]["run"] == lost["id"]).collect();
    assert_eq!(first.len(), 1, "the call of the lost run counts: {used}");
    assert_eq!(home.ok(&["usage", "--by", "run", "--json"]).json(), used);
}

/// USE-2: without a daemon `once` reads what its agent wrote before it ends.
#[test]
fn once_counts_what_its_agent_used() {
    let home = home("harvest = true");
    home.ok(&["once", "job"]);
    let shown = home.ok(&["show", home.runs("job")[0]["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(usage_of(&shown["usage"]), json!({"input": 300, "cached": 120, "output": 30, "calls": 3}));
    assert_eq!(shown["sessions"][0]["evidence"], "exact: launch-id");
}

/// USE-2, LIF-9: a `once` that is killed beside a daemon leaves a run open; the daemon closes it at the next
/// start of its harness, and reads what it wrote.
#[test]
fn what_a_killed_once_wrote_is_read_by_the_daemon() {
    let mut home = home("harvest = true");
    let hold = config(&home, "harvest = true").replace("prompt = \"3\"", "prompt = \"2 hold\"");
    home.configure(&hold);
    home.start_daemon();
    let mut once = home.command(&["once", "job"]).spawn().unwrap();
    let run = until("the run is recorded", || {
        let runs = home.runs("job");
        runs.first().and_then(|run| run["pid"].as_i64().map(|_| run["id"].as_str().unwrap().to_owned()))
    });
    until("the agent has written", || (written(&home).matches("\"usage\"").count() == 2).then_some(()));
    once.kill().unwrap();
    once.wait().unwrap();
    home.configure(&config(&home, "harvest = true"));
    home.ok(&["reload"]);
    home.ok(&["start", "job", "--wait"]);
    let shown = settled(&home, &run, 2);
    assert_eq!(shown["outcome"], "lost", "{shown}");
}

/// USE-2: a store that is removed under a run is begun anew with what its agent has written all along.
#[test]
fn a_store_that_is_made_again_counts_the_runs_that_go_on() {
    let mut home = home("harvest = true");
    let hold = config(&home, "harvest = true").replace("prompt = \"3\"", "prompt = \"3 hold\"");
    home.configure(&hold);
    home.start_daemon();
    home.ok(&["start", "job"]);
    let run = home.runs("job")[0]["id"].as_str().unwrap().to_owned();
    settled(&home, &run, 3);
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(home.path(".local/state/harnessd").join(file)).unwrap();
    }
    home.ok(&["stop", "job", "--wait"]);
    let shown = settled(&home, &run, 3);
    assert_eq!(shown["sessions"][0]["evidence"], "exact: launch-id", "{shown}");
}
