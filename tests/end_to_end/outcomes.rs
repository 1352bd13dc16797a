//! RUN-0: how a run ended is what its agent states, and people read text all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Home, until};

/// A home in which the agent of harness `job` is a script.
fn home_with(script: &str, more: &str) -> Home {
    let home = Home::new("");
    home.write("agent", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(home.path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    home.configure(&format!(
        "[harness.job]\nagent = \"claude-code\"\ncmd = \"{}\"\nworkdir = \"~\"\nprompt = \"go\"\nskill_paths = []\n\
         use_default_skill_paths = false\n{more}\n",
        home.text("agent")
    ));
    home
}

/// What an agent really printed.
fn recorded(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report");
    fs::read_to_string(data.join(name)).unwrap()
}

fn of(run: &Value) -> (Value, Value, Value) {
    (run["outcome"].clone(), run["cause"].clone(), run["exit_code"].clone())
}

/// The agent prints what lies beside it.
const PRINTS: &str = "cat out";

/// RUN-0, RUN-2, RUN-4: the result decides, `once` and `logs` show text, `--raw` the bytes.
#[test]
fn a_result_is_read_and_shown_as_text() {
    let home = home_with(PRINTS, "quiet = false");
    let output = recorded("claude-code/tool.jsonl");
    home.write("out", &output);
    let text = "[Bash] echo limit reached; echo Claude AI usage limit reached\nDONE\n";
    assert_eq!(home.ok(&["once", "job"]).out, text);
    let run = &home.runs("job")[0];
    assert_eq!(of(run), (json!("ok"), Value::Null, json!(0)));
    assert_eq!(run["report"], "claude-code");
    assert_eq!(home.log("job"), text);
    assert_eq!(home.ok(&["logs", "job", "-n", "1"]).out, "DONE\n", "lines as they are shown");
    assert_eq!(home.ok(&["logs", "job", "--raw", "--all"]).out, output);
    // `quiet` says what people want to see; what is kept is the same.
    home.configure(&home.read(".config/harnessd/harness.toml").replace("quiet = false", "quiet = true"));
    assert_eq!(home.log("job"), "DONE\n");
    assert_eq!(home.ok(&["once", "job"]).out, "DONE\n");
}

/// RUN-0, complaint 5: a limit that comes as `subtype: success` with exit 0 is no success, and says until when.
#[test]
fn a_limit_with_exit_status_0_is_a_limit() {
    let home = home_with(
        "at=$(($(date +%s) + 7200)); echo $at > at\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Claude AI usage limit reached|'$at'\"}'",
        "",
    );
    let said = home.harnessd(&["once", "job"]);
    let at = home.read("at").trim().to_owned();
    let cause = format!("Claude AI usage limit reached|{at}");
    assert_eq!((said.code, said.out), (1, format!("error: {cause}\n")));
    assert_eq!(
        said.err,
        format!(
            "error: the run of harness `job` ended `rate-limited`: {cause}\n\
             \x20 help: `harnessd logs` with its name shows what it wrote\n"
        )
    );
    let run = &home.runs("job")[0];
    assert_eq!(of(run), (json!("rate-limited"), json!(cause), json!(0)));
    let until = chrono::DateTime::parse_from_rfc3339(run["until"].as_str().unwrap()).unwrap();
    assert_eq!(until.timestamp().to_string(), at);
}

/// RUN-0, complaint 20: a login that is refused is an outcome of its own.
#[test]
fn a_refused_login_is_told_apart() {
    let home = home_with("cat out; exit 1", "");
    home.write("out", &recorded("claude-code/401.jsonl"));
    let said = home.harnessd(&["once", "job", "--json"]);
    assert_eq!(said.code, 1);
    let run: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(of(&run), (json!("auth-required"), json!("Invalid API key · Fix external API key"), json!(1)));
}

/// RUN-0: an agent that always states a result and states none has not done its work, whatever its
/// exit status; words that it quotes are no statement (complaint 7).
#[test]
fn exit_status_0_without_a_result_is_a_failure() {
    let home = home_with(PRINTS, "");
    home.write(
        "out",
        "Claude AI usage limit reached|1796064944\n{\"type\":\"system\",\"subtype\":\"init\"}\n",
    );
    let said = home.harnessd(&["once", "job"]);
    assert_eq!((said.code, said.out.as_str()), (1, "Claude AI usage limit reached|1796064944\n"));
    assert_eq!(
        of(&home.runs("job")[0]),
        (json!("failed"), json!("ended without stating a result"), json!(0))
    );
    home.write("out", &recorded("claude-code/quoted.jsonl"));
    assert_eq!(home.ok(&["once", "job"]).out, "The test printed \"usage limit reached\" and 429; fixed.\n");
    assert_eq!(home.runs("job")[0]["outcome"], "ok");
}

/// PRM-5: where the user's own words are the command, nothing is added and the exit status decides.
#[test]
fn a_plain_command_is_judged_by_its_exit_status() {
    let home = home_with(PRINTS, "oneshot = true\nargs = [\"go\"]");
    let configuration = home.read(".config/harnessd/harness.toml");
    home.configure(&configuration.replace("prompt = \"go\"\n", ""));
    home.write("out", "{\"type\":\"result\",\"is_error\":true}\n");
    let text = "{\"type\":\"result\",\"is_error\":true}\n";
    assert_eq!(home.ok(&["once", "job"]).out, text);
    let run = &home.runs("job")[0];
    assert_eq!((&run["outcome"], run.get("report")), (&json!("ok"), None));
    assert_eq!(home.log("job"), text);
}

/// RUN-2: a log that is followed is shown as text while it grows.
#[test]
fn a_followed_log_is_text_as_it_grows() {
    let wait = "until [ -e go ]; do sleep 0.05; done";
    let mut home = home_with(&format!("head -n 3 out; {wait}; tail -n +4 out"), "quiet = false");
    home.write("out", &recorded("claude-code/tool.jsonl"));
    home.start_daemon();
    home.ok(&["start", "job"]);
    home.wait_state("job", "running");
    let run =
        until("the run has a log", || home.runs("job").into_iter().find(|run| run.get("log").is_some()));
    let shown = fs::File::create(home.path("shown")).unwrap();
    let mut follow = home.command(&["logs", run["id"].as_str().unwrap(), "--follow"]);
    let mut follow = follow.stdout(shown).spawn().unwrap();
    let tool = "[Bash] echo limit reached; echo Claude AI usage limit reached\n";
    until("the tool is shown", || (home.read("shown") == tool).then_some(()));
    home.write("go", "");
    assert!(until("the run is over", || follow.try_wait().unwrap()).success());
    assert_eq!(home.read("shown"), format!("{tool}DONE\n"));
}

/// RUN-0, RUN-8: an agent that begins another turn after a result does not linger, however long that takes; what
/// it states last is its outcome.
#[test]
fn an_agent_that_goes_on_after_a_result_does_not_linger() {
    let home = home_with(
        "cat out; head -n 1 out; sleep 4; tail -n +2 out",
        "linger_timeout = \"3s\"\nquiet = false",
    );
    home.write("out", &recorded("claude-code/ok.jsonl"));
    assert_eq!(home.ok(&["once", "job"]).out, "MOCK-OK.\nMOCK-OK.\n");
    let run = &home.runs("job")[0];
    assert_eq!((&run["outcome"], run.get("lingered"), run.get("signal")), (&json!("ok"), None, None));
}

/// RUN-8: an agent that has stated its result and goes on is ended with what it left; the result counts,
/// also when the agent answers the stop with a status of its own.
#[test]
fn an_agent_that_lingers_after_its_result_is_ended() {
    let home = home_with(
        "trap 'exit 143' TERM; cat out; sleep 611.5 & wait",
        "linger_timeout = \"300ms\"\nquiet = false",
    );
    home.write("out", &recorded("claude-code/ok.jsonl"));
    assert_eq!(home.ok(&["once", "job"]).out, "MOCK-OK.\n");
    let run = &home.runs("job")[0];
    assert_eq!((&run["outcome"], &run["lingered"]), (&json!("ok"), &json!(true)));
    assert_eq!(crate::support::sleeper("611.5"), None);
}
