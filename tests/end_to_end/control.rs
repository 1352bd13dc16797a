//! The control socket and the verbs that use it (CTL-3 to CTL-7).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::support::{Home, until};

const SLEEPER: &str = "[harness.sleeper]\ncmd = \"sleep\"\nargs = [\"600\"]\ndescription = \"sleeps\"\n";

/// Both ends of a connection to the daemon, which a reader does not wait at for ever.
pub(crate) fn connect(home: &Home) -> (UnixStream, BufReader<UnixStream>) {
    let stream = UnixStream::connect(home.path(".local/state/harnessd/harnessd.sock")).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    (stream.try_clone().unwrap(), BufReader::new(stream))
}

fn ask(to: &mut UnixStream, from: &mut BufReader<UnixStream>, line: &str) -> Value {
    to.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    from.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|cause| panic!("{cause}: {answer:?}"))
}

const HELLO: &str = "{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"test\"}";

/// CTL-3: only the owner gets at the socket.
#[test]
fn the_socket_is_the_owners_alone() {
    let mut home = Home::new(SLEEPER);
    home.set("XDG_RUNTIME_DIR", &home.text("runtime"));
    std::fs::create_dir(home.path("runtime")).unwrap();
    home.start_daemon();
    let mode = |path: &str| home.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("runtime/harnessd"), mode("runtime/harnessd/harnessd.sock")), (0o700, 0o600));
}

/// CTL-4: a version first; an unknown op or field gets a structured error, and the connection goes on.
#[test]
fn the_protocol_is_strict_and_forgiving() {
    let mut home = Home::new(SLEEPER);
    home.start_daemon();
    let (mut to, mut from) = connect(&home);
    assert_eq!(ask(&mut to, &mut from, "{\"id\":1,\"op\":\"list\"}")["error"]["code"], "bad_request");
    let old = ask(&mut to, &mut from, "{\"id\":2,\"op\":\"hello\",\"protocol\":99,\"version\":\"9.9\"}");
    assert_eq!(old["error"]["code"], "version_mismatch");
    assert_eq!(ask(&mut to, &mut from, HELLO)["ok"]["protocol"], 1);
    assert_eq!(ask(&mut to, &mut from, "{\"id\":3,\"op\":\"lisst\"}")["error"]["code"], "bad_request");
    let field = ask(&mut to, &mut from, "{\"id\":4,\"op\":\"list\",\"colour\":1}");
    assert_eq!((&field["id"], &field["error"]["code"]), (&json!(4), &json!("bad_request")));
    assert_eq!(ask(&mut to, &mut from, "nonsense")["error"]["code"], "bad_request");
    let unknown = ask(&mut to, &mut from, "{\"id\":5,\"op\":\"describe\",\"name\":\"slepeer\"}");
    assert_eq!(
        unknown,
        json!({"id": 5, "error": {"code": "unknown_harness", "message": "no harness is named `slepeer`", "help": "did you mean `sleeper`?"}})
    );
    assert_eq!(
        ask(&mut to, &mut from, "{\"id\":6,\"op\":\"list\"}")["ok"]["harnesses"][0]["name"],
        "sleeper"
    );
}

/// CTL-4: a line over 1 MiB ends the connection with a notice; 64 clients are the bound.
#[test]
fn the_protocol_is_bounded() {
    let mut home = Home::new(SLEEPER);
    home.start_daemon();
    let (mut to, mut from) = connect(&home);
    ask(&mut to, &mut from, HELLO);
    let _cut = to.write_all(&vec![b'x'; (1 << 20) + 10]);
    let mut answer = String::new();
    from.read_to_string(&mut answer).unwrap();
    let notice: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(notice["error"]["code"], "too_large");
    let mut many: Vec<_> = (0..64).map(|_| connect(&home)).collect();
    until("64 clients are connected", || {
        let (_to, mut from) = connect(&home);
        let mut line = String::new();
        from.get_ref().set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
        from.read_line(&mut line).ok()?;
        line.contains("64 clients are connected already").then_some(())
    });
    many.truncate(10);
    until("there is room again", || (home.harnessd(&["list"]).code == 0).then_some(()));
}

/// CTL-4: a subscriber that does not read is dropped with a notice; the daemon is not held up.
#[test]
fn a_slow_reader_is_dropped() {
    let mut home =
        Home::new("[daemon]\nmax_attempts = 0\n[harness.busy]\ncmd = \"true\"\nrestart_delay = \"0s\"\n");
    home.start_daemon();
    let (mut to, mut from) = connect(&home);
    ask(&mut to, &mut from, HELLO);
    assert_eq!(ask(&mut to, &mut from, "{\"id\":2,\"op\":\"subscribe\"}")["ok"]["subscribed"], true);
    home.ok(&["start", "busy"]);
    // Read nothing until the daemon has given up on this client: then the stream ends.
    until("the daemon has given up", || {
        home.daemon_log().contains("a client that does not read is dropped").then_some(())
    });
    home.ok(&["stop", "busy", "--wait"]);
    let mut all = String::new();
    from.read_to_string(&mut all).unwrap();
    assert!(all.lines().last().unwrap().contains("too_large"), "the last line is the notice");
}

/// LIF-10: every transition is an event with a time and a sequence number without gaps.
#[test]
fn transitions_are_events() {
    let mut home = Home::new("[harness.job]\noneshot = true\ncmd = \"true\"\n");
    home.start_daemon();
    let (mut to, mut from) = connect(&home);
    ask(&mut to, &mut from, HELLO);
    ask(&mut to, &mut from, "{\"id\":2,\"op\":\"subscribe\"}");
    home.ok(&["start", "job", "--wait"]);
    let mut events: Vec<Value> = Vec::new();
    while !events.iter().any(|event| event["to"] == "stopped") {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        events.push(serde_json::from_str(&line).unwrap());
    }
    let words: Vec<String> = events
        .iter()
        .map(|event| match event["event"].as_str().unwrap() {
            "state_changed" => {
                format!("{}->{}", event["from"].as_str().unwrap(), event["to"].as_str().unwrap())
            }
            other => other.to_owned(),
        })
        .collect();
    assert_eq!(
        words.iter().filter(|word| word.contains("->")).collect::<Vec<_>>(),
        ["stopped->starting", "starting->running", "running->stopping", "stopping->stopped"]
    );
    assert!(
        words.contains(&"run_started".to_owned()) && words.contains(&"run_ended".to_owned()),
        "{words:?}"
    );
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert!(events.iter().all(|event| event["at"].as_str().unwrap().ends_with('Z')));
}

/// LIF-10: reloads, refusals of one, crash loops and skipped firings are events, too.
#[test]
fn every_kind_of_event_is_told() {
    let config = "[daemon]\nwatch = false\n[harness.quick]\ncmd = \"true\"\nrestart_delay = \"0s\"\n\
        [harness.busy]\noneshot = true\ncmd = \"sleep\"\nargs = [\"600\"]\nschedule = \"@every 1s\"\n";
    let mut home = Home::new(config);
    home.start_daemon();
    let (mut to, mut from) = connect(&home);
    ask(&mut to, &mut from, HELLO);
    ask(&mut to, &mut from, "{\"id\":2,\"op\":\"subscribe\"}");
    home.configure(&format!("{config}[harness.new]\ncmd = \"true\"\n"));
    home.ok(&["reload"]);
    home.configure("[harness.new]\ncmd = 1\n");
    assert_eq!(home.harnessd(&["reload"]).code, 1);
    home.ok(&["start", "quick"]);
    let kinds = [
        "config_rejected",
        "config_reloaded",
        "firing_skipped",
        "flapping",
        "run_ended",
        "run_started",
        "state_changed",
    ];
    let mut seen = std::collections::BTreeMap::new();
    while seen.len() < kinds.len() {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        assert!(event["seq"].is_u64() && event["at"].is_string(), "{event}");
        seen.insert(event["event"].as_str().unwrap().to_owned(), event);
    }
    assert_eq!(seen.keys().collect::<Vec<_>>(), kinds);
    assert_eq!(seen["config_reloaded"]["added"], json!(["new"]));
    assert_eq!(seen["config_rejected"]["errors"], 1);
    assert_eq!(seen["flapping"]["harness"], "quick");
    assert_eq!(seen["firing_skipped"]["run"]["harness"], "busy");
}

/// CTL-6: a miss lists the nearest names, whichever verb it is; inside a project they are the project's, and
/// a name with `/` is taken as it is.
#[test]
fn a_miss_lists_the_nearest_names() {
    let mut home = Home::new(
        "[harness.web-a]\ncmd = \"sleep\"\nargs = [\"600\"]\n[harness.web-b]\ncmd = \"true\"\n[harness.mail]\ncmd = \"true\"\n",
    );
    home.start_daemon();
    let whole = "error: no harness is named `web-c`\n  help: did you mean `web-a` or `web-b`?\n";
    for verb in ["start", "stop", "restart", "describe", "once", "runs", "skills"] {
        let said = home.harnessd(&[verb, "web-c"]);
        assert_eq!((said.code, said.err.as_str()), (1, whole), "{verb}");
    }
    home.write(
        "proj/harness.toml",
        "[harness.worker]\noneshot = true\ncmd = \"echo\"\nargs = [\"worked\"]\n",
    );
    let inside = |args: &[&str]| {
        let output = home.command(args).current_dir(home.path("proj")).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let miss = |name: &str, help: &str| {
        (String::new(), format!("error: no harness is named `{name}`\n  help: {help}\n"))
    };
    assert_eq!(inside(&["once", "wroker"]), miss("proj/wroker", "did you mean `proj/worker`?"));
    assert_eq!(inside(&["once", "prj/worker"]), miss("prj/worker", "did you mean `proj/worker`?"));
    assert_eq!(inside(&["once", "worker"]), ("worked\n".to_owned(), String::new()));
    assert_eq!(inside(&["once", "proj/worker"]), ("worked\n".to_owned(), String::new()));
}

/// CTL-7: every verb that answers has `--json`, and prints one object then.
#[test]
fn every_verb_prints_json() {
    let job = "[harness.job]\noneshot = true\ncmd = \"true\"\nharvest = true\n";
    let mut home = Home::new(&format!("{SLEEPER}{job}[profile.day]\nharnesses = [\"sleeper\"]\n"));
    home.write("app/harness.toml", "[harness.web]\ncmd = \"true\"\n");
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let run = home.runs("job")[0]["id"].as_str().unwrap().to_owned();
    let verbs: &[&[&str]] = &[
        &["list"],
        &["describe", "job"],
        &["start", "sleeper", "--wait"],
        &["restart", "sleeper", "--wait"],
        &["stop", "sleeper", "--wait"],
        &["use-profile", "day", "--wait"],
        &["up", "app"],
        &["ps"],
        &["down", "app", "--wait"],
        &["reload"],
        &["reexec"],
        &["status"],
        &["once", "job"],
        &["validate"],
        &["agents"],
        &["plan"],
        &["plan", "job"],
        &["doctor"],
        &["init", "--dry-run"],
        &["skills"],
        &["skills", "job"],
        &["skills", "sync", "job"],
        &["runs"],
        &["show", &run],
        &["trajectories"],
        &["trajectory", &run],
        &["usage"],
        &["schedule", "next", "@daily"],
        &["schedule", "set", "job", "@daily"],
        &["add", "new", "--cmd", "true"],
        &["set", "new", "tty", "true"],
        &["unset", "new", "tty"],
        &["enable", "new"],
        &["disable", "new"],
        &["remove", "new"],
        &["schema", "global"],
        &["completions", "bash"],
    ];
    for args in verbs {
        let said = home.ok(&[*args, &["--json"]].concat());
        assert!(said.json().is_object() && said.err.is_empty(), "{args:?}: {said:?}");
    }
    // The daemon answers nobody, and a log is lines of an agent's own.
    let asked: BTreeSet<&str> = verbs.iter().map(|args| args[0]).chain(["run", "logs"]).collect();
    let command = harnessd::cli::command();
    let known = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    assert_eq!(asked, known.map(|verb| verb.get_name()).collect());
}

/// CTL-7: exit statuses: 2 for usage, 3 for no daemon, 1 for what failed; errors go to stderr with help.
#[test]
fn exit_statuses_tell_what_went_wrong() {
    let home = Home::new(SLEEPER);
    let no_daemon = home.harnessd(&["list"]);
    let socket = home.text(".local/state/harnessd/harnessd.sock");
    assert_eq!(
        (no_daemon.code, no_daemon.out.as_str(), no_daemon.err),
        (3, "", format!("error: no daemon answers at `{socket}`\n  help: start it with `harnessd run`\n"))
    );
    let json = home.harnessd(&["list", "--json"]);
    assert_eq!(json.code, 3);
    assert_eq!(serde_json::from_str::<Value>(&json.err).unwrap()["error"]["code"], "no_daemon");
    assert_eq!(home.harnessd(&["start"]).code, 2);
    assert_eq!(home.harnessd(&["nonsense"]).code, 2);
    let unknown = home.harnessd(&["runs", "sleper"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (1, "error: no harness is named `sleper`\n  help: did you mean `sleeper`?\n")
    );
    assert_eq!(home.harnessd(&["show", "0000"]).code, 1);
}

/// CTL-5: several names, `--all`, starting what runs and stopping what is stopped.
#[test]
fn verbs_take_several_names_and_say_what_became_of_each() {
    let mut home = Home::new(&format!("{SLEEPER}[harness.other]\ncmd = \"sleep\"\nargs = [\"600\"]\n"));
    home.start_daemon();
    assert_eq!(home.ok(&["start", "sleeper", "other", "--wait"]).out, "sleeper: started\nother: started\n");
    assert_eq!(home.ok(&["start", "--all"]).out, "other: already running\nsleeper: already running\n");
    assert_eq!(home.ok(&["restart", "sleeper", "--wait"]).out, "sleeper: restarted\n");
    let stopped = home.ok(&["stop", "--all", "--wait", "--json"]).json();
    assert_eq!(stopped["harnesses"][0]["result"], "stopped");
    assert_eq!(home.ok(&["stop", "--all"]).out, "other: already stopped\nsleeper: already stopped\n");
}

/// CTL-5: without `--wait` a verb says what is decided, not that it is so.
#[test]
fn verbs_that_do_not_wait_do_not_promise() {
    let mut home = Home::new(SLEEPER);
    home.start_daemon();
    assert_eq!(home.ok(&["start", "sleeper"]).out, "sleeper: starting\n");
    home.wait_state("sleeper", "running");
    assert_eq!(home.ok(&["restart", "sleeper"]).out, "sleeper: restarting\n");
    home.wait_state("sleeper", "running");
    assert_eq!(home.ok(&["stop", "sleeper"]).out, "sleeper: stopping\n");
}

/// CTL-5: one failure of several tells what became of the others; a name that is no harness's stops all.
#[test]
fn a_failure_does_not_swallow_the_successes() {
    let mut home = Home::new(&format!("{SLEEPER}[harness.gone]\ncmd = \"/nonexistent/agent\"\n"));
    home.start_daemon();
    let unknown = home.harnessd(&["start", "sleeper", "sleper", "nope", "--wait"]);
    assert_eq!(
        (unknown.code, unknown.err.lines().next().unwrap()),
        (1, "error: no harness is named `sleper`; no harness is named `nope`; nothing was done")
    );
    assert_eq!(home.harness("sleeper")["state"], "stopped");
    let failed = home.harnessd(&["start", "sleeper", "gone", "--wait"]);
    assert_eq!(
        (failed.code, failed.err.as_str()),
        (
            1,
            "error: harness `gone` could not be started: `/nonexistent/agent` does not exist; started: sleeper\n\
             \x20 help: `harnessd plan` shows what a start executes, `harnessd doctor` whether it is there\n"
        )
    );
    assert_eq!(home.harness("sleeper")["state"], "running");
}

/// CTL-5: `describe` shows the definition, the place, the command and the skills.
#[test]
fn describe_shows_one_harness_in_full() {
    let mut home = Home::new(&format!("# first\n\n{SLEEPER}"));
    home.start_daemon();
    let found = home.ok(&["describe", "sleeper", "--json"]).json();
    assert_eq!(found["source"], json!({"file": home.text(".config/harnessd/harness.toml"), "line": 3}));
    assert_eq!(found["command"], json!(["sleep", "600"]));
    assert_eq!(found["definition"]["args"], json!(["600"]));
    assert_eq!(found["skills"]["skills"], json!([]));
    assert!(home.ok(&["describe", "sleeper"]).out.contains("command: sleep 600"));
}

/// SKL-3, CTL-5: what needs no daemon works without one.
#[test]
fn reading_verbs_work_without_a_daemon() {
    let home = Home::new(SLEEPER);
    assert_eq!(home.ok(&["runs"]).out, "no runs\n");
    let shown = home.ok(&["agents"]).out;
    let line = |agent: &str| {
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some(agent)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).last().unwrap().to_owned()
    };
    // What an error about `--resume`, `--fork` or `resume = true` sends its reader here for.
    assert_eq!(line("claude-code"), "prompt, model, auto_accept, max_turns, quiet, skills, resume, fork");
    assert_eq!(line("hermes"), "prompt, model, auto_accept, max_turns, quiet, resume (one-shots)");
    assert_eq!(line("generic"), "-");
    let agents = home.ok(&["agents", "--json"]).json();
    let ids: Vec<_> = agents["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["id"].as_str().unwrap().to_owned())
        .collect();
    let known = [
        "antigravity",
        "claude-code",
        "codex",
        "copilot",
        "crush",
        "gemini",
        "generic",
        "goose",
        "grok",
        "hermes",
        "kimi",
        "opencode",
        "pi",
        "qwen",
        "vibe",
    ];
    assert_eq!(ids, known);
    assert!(home.ok(&["skills", "sleeper"]).out.contains("this agent takes none"));
    assert!(!home.path(".local/state/harnessd").exists(), "reading makes nothing");
}
