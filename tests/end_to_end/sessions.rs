//! TRJ-8: going on with a session, a copy of one, and restarts that go on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::{Home, path_with, until};

/// An agent that keeps transcripts as Claude Code does, and says how it was called, but for what asks for its
/// output or hands skills over. A resident one ends when it is told to.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit 0
resident=1 said=
while [ $# -gt 0 ]; do
    case $1 in
    -p) resident= ;;
    --session-id) id=$2 ;;
    --resume) old=$2 ;;
    --verbose) shift; continue ;;
    --plugin-dir | --settings | --output-format) shift 2; continue ;;
    esac
    said="$said $1"
    shift
done
printf '%s\n' "${said# }" >> "$HOME/calls"
id=${id:-$old}
dir=$HOME/.claude/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$dir"
printf '{"type":"user","uuid":"%s","sessionId":"%s","cwd":"%s","timestamp":"%s","message":{"role":"user","content":"x"}}\n' \
    "$$" "$id" "$(pwd -P)" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" >> "$dir/$id.jsonl"
[ "$resident" ] || exec cat "$ANSWER"
until [ -e "$HOME/end" ]; do sleep 0.02; done
rm "$HOME/end"
exit 1
"#;

fn home(config: &str) -> Home {
    let mut home = Home::new(config);
    home.write("bin/claude", AGENT);
    fs::set_permissions(home.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(home.path("work")).unwrap();
    let path = path_with(&home.path("bin"));
    home.set("PATH", &path);
    let answer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report/claude-code/ok.jsonl");
    home.set("ANSWER", answer.to_str().unwrap());
    home
}

const ONE_SHOT: &str = "[harness.sweep]\nagent = \"claude-code\"\nprompt = \"go\"\nworkdir = \"~/work\"\n";

/// How the agent was called so far.
fn calls(home: &Home) -> Vec<String> {
    home.read("calls").lines().map(str::to_owned).collect()
}

/// The call with this number, once it is there.
fn call(home: &Home, number: usize) -> String {
    until("the agent is called", || calls(home).get(number - 1).cloned())
}

/// The id in a call, which was chosen for it.
fn chosen(call: &str) -> String {
    let id = call.split("--session-id ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'), "a UUID of version 4: {call}");
    id.to_owned()
}

fn transcript(home: &Home, session: &str) -> PathBuf {
    let work = home.path("work").canonicalize().unwrap();
    let encoded: String =
        work.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    home.path(format!(".claude/projects/{encoded}/{session}.jsonl"))
}

/// TRJ-8, COR-8: a start goes on with the harness's own last session, never with the newest of the directory,
/// or works in a copy of it; each new session has an id that was chosen for it.
#[test]
fn a_start_goes_on_with_the_last_session_of_the_harness() {
    let mut home = home(ONE_SHOT);
    home.start_daemon();
    let none = home.harnessd(&["start", "sweep", "--resume"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("no session of `sweep` is known"), "{none:?}");
    assert!(none.err.contains("start it without `--resume` or `--fork`"), "{none:?}");
    assert_eq!(home.runs("sweep").len(), 0, "nothing was started");

    home.ok(&["start", "sweep", "--wait"]);
    let id = chosen(&call(&home, 1));
    // Somebody works by hand in the same directory, while nothing of ours runs.
    let by_hand = home.read(transcript(&home, &id)).replace(&id, "by-hand");
    let (now, then) = ("2099-01-01T00:00:00.000Z", by_hand.split("\"timestamp\":\"").nth(1).unwrap());
    fs::write(transcript(&home, "by-hand"), by_hand.replace(&then[..24], now)).unwrap();

    home.ok(&["start", "sweep", "--wait", "--resume"]);
    assert_eq!(call(&home, 2), format!("-p --resume {id} -- go"));
    home.ok(&["start", "sweep", "--wait", "--fork"]);
    let forked = chosen(&call(&home, 3));
    assert_eq!(call(&home, 3), format!("-p --resume {id} --fork-session --session-id {forked} -- go"));
    home.ok(&["start", "sweep", "--wait", "--resume"]);
    assert_eq!(call(&home, 4), format!("-p --resume {forked} -- go"), "the copy was in use last");
    home.ok(&["start", "sweep", "--wait", "--resume", &id]);
    assert_eq!(call(&home, 5), format!("-p --resume {id} -- go"));
    let foreign = home.harnessd(&["start", "sweep", "--resume", "by-hand"]);
    assert_eq!(foreign.code, 1);
    assert!(foreign.err.contains("`sweep` has no session `by-hand`"), "{foreign:?}");
    assert_eq!(calls(&home).len(), 5);
}

/// TRJ-8: a session is one harness's own, and what an agent cannot do is refused before anything starts.
#[test]
fn a_session_that_cannot_be_is_refused() {
    let other = "[harness.other]\nagent = \"gemini\"\nprompt = \"go\"\nworkdir = \"~/work\"\n\
                 [harness.plain]\ncmd = \"true\"\noneshot = true\n";
    let mut home = home(&format!("{ONE_SHOT}{other}"));
    home.start_daemon();
    for (args, said) in [
        (&["start", "sweep", "other", "--resume"][..], "a session is one harness's own"),
        (&["start", "plain", "--resume"], "agent `generic` cannot go on with a session as a one-shot"),
        (&["start", "other", "--fork"], "agent `gemini` cannot fork a session as a one-shot"),
    ] {
        let refused = home.harnessd(args);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    let both = home.harnessd(&["start", "sweep", "--resume", "--fork"]);
    assert_eq!(both.code, 2, "{both:?}");
    assert_eq!(home.runs("sweep").len() + home.runs("other").len(), 0);
}

/// TRJ-8: `resume = true`: the first start is as usual; each restart, by the policy, by hand and with the daemon,
/// goes on with the agent's own last session, without its prompt; where its files are gone a new one is begun.
#[test]
fn a_resident_agent_goes_on_at_each_restart() {
    let mut home = home(
        "[harness.chat]\nagent = \"claude-code\"\nprompt = \"go\"\noneshot = false\nworkdir = \"~/work\"\n\
         resume = true\nrestart_delay = \"10ms\"\ntty = false\n",
    );
    home.start_daemon();
    home.ok(&["start", "chat"]);
    let id = chosen(&call(&home, 1));
    assert_eq!(call(&home, 1), format!("--session-id {id} -- go"));
    until("it has written", || transcript(&home, &id).exists().then_some(()));
    home.write("end", "");
    assert_eq!(call(&home, 2), format!("--resume {id}"));
    home.wait_state("chat", "running");
    home.ok(&["restart", "chat"]);
    assert_eq!(call(&home, 3), format!("--resume {id}"));
    home.wait_state("chat", "running");
    home.stop_daemon();
    home.start_daemon();
    assert_eq!(call(&home, 4), format!("--resume {id}"));
    assert!(!home.daemon_log().contains("a new session is begun"), "{}", home.daemon_log());

    home.wait_state("chat", "running");
    // An agent that was called and has not written yet would make the file anew.
    let mark = format!("\"uuid\":\"{}\"", home.pid("chat"));
    until("it has written", || home.read(transcript(&home, &id)).contains(&mark).then_some(()));
    fs::remove_file(transcript(&home, &id)).unwrap();
    home.write("end", "");
    let fresh = chosen(&call(&home, 5));
    assert_eq!(call(&home, 5), format!("--session-id {fresh} -- go"));
    let log = home.daemon_log();
    assert!(log.contains("a new session is begun"), "{log}");
}

/// RUN-6, TRJ-8: a plan tells whether the next start that nobody asks for by hand goes on with a session, and
/// never which.
#[test]
fn a_plan_tells_that_a_session_goes_on() {
    let mut home = home(
        "[harness.chat]\nagent = \"claude-code\"\nprompt = \"go\"\noneshot = false\nworkdir = \"~/work\"\n\
         resume = true\nrestart_delay = \"10ms\"\ntty = false\n",
    );
    home.start_daemon();
    assert_eq!(home.ok(&["plan", "chat", "--json"]).json()["session"], "new");
    home.ok(&["start", "chat"]);
    let id = chosen(&call(&home, 1));
    until("it has written", || transcript(&home, &id).exists().then_some(()));
    let said = home.ok(&["plan", "chat", "--json"]);
    assert!(!said.out.contains(&id), "{}", said.out);
    let plan = said.json();
    assert_eq!(plan["session"], "resumed");
    home.ok(&["restart", "chat"]);
    assert_eq!(call(&home, 2), format!("--resume {id}"));
    home.wait_state("chat", "running");
    assert_eq!(home.runs("chat")[0]["command"], plan["command"]);
}
