//! TRJ-8, COR-8: how each agent is told in which session to work.

use super::{PLAIN, builtin, command, one_shot, strings};
use crate::adapter::{Invocation, Session, SynthesisError};

const FRESH: Session<'_> = Session::Fresh("new");
const RESUME: Session<'_> = Session::Resume("old");
const FORK: Session<'_> = Session::Fork { of: "old", fresh: "new" };

/// A one-shot of an agent, and the session that it will work in as far as it is told.
fn once(agent: &str, session: Session<'_>) -> (String, Option<String>) {
    let made =
        builtin(agent).synthesize(&Invocation { session: Some(session), ..one_shot("P", &PLAIN) }).unwrap();
    (made.argv.join(" "), made.session)
}

/// The same of an agent in its terminal mode.
fn resident(agent: &str, session: Session<'_>) -> (String, Option<String>) {
    let wanted = Invocation { session: Some(session), resident: true, ..one_shot("P", &PLAIN) };
    let made = builtin(agent).synthesize(&wanted).unwrap();
    (made.argv.join(" "), made.session)
}

fn told(argv: &str, session: Option<&str>) -> (String, Option<String>) {
    (argv.to_owned(), session.map(str::to_owned))
}

/// COR-8: a start with a prompt chooses the session's id where the agent takes one; that is evidence.
#[test]
fn a_prompt_begins_a_session_of_a_chosen_id() {
    let claude = "claude -p --session-id new --output-format stream-json --verbose -- P";
    assert_eq!(once("claude-code", FRESH), told(claude, Some("new")));
    assert_eq!(once("pi", FRESH), told("pi -p --session-id new --mode json -- P", Some("new")));
    assert_eq!(resident("claude-code", FRESH), told("claude --session-id new -- P", Some("new")));
    assert_eq!(resident("pi", FRESH), told("pi --session-id new -- P", Some("new")));
    assert_eq!(
        once("grok", FRESH),
        told("grok -s new --output-format streaming-json --single=P", Some("new"))
    );
    // It keeps it beside an id of its own.
    assert_eq!(
        once("goose", FRESH),
        told("goose run -q -n new --output-format stream-json --text=P", Some("new"))
    );
    assert_eq!(once("hermes", FRESH), told("hermes chat -Q --query=P", None));
    let codex = "codex exec --skip-git-repo-check -c analytics.enabled=false --json -- P";
    assert_eq!(once("codex", FRESH), told(codex, None), "it takes none");
    assert_eq!(once("opencode", FRESH), told("opencode run --format json", None));
}

/// TRJ-6, RUN-6: a command is shown without the ids of its sessions; the user's own words stand as they are.
#[test]
fn the_ids_of_sessions_are_not_shown() {
    let shown = |agent: &str, session| {
        let wanted = Invocation { session: Some(session), ..one_shot("P", &PLAIN) };
        builtin(agent).synthesize(&wanted).unwrap().shown.join(" ")
    };
    let rest = "--output-format stream-json --verbose -- <prompt>";
    assert_eq!(shown("claude-code", FRESH), format!("claude -p --session-id <session> {rest}"));
    assert_eq!(shown("claude-code", RESUME), format!("claude -p --resume <session> {rest}"));
    let forked = "claude -p --resume <session> --fork-session --session-id <session>";
    assert_eq!(shown("claude-code", FORK), format!("{forked} {rest}"));
    assert!(shown("copilot", RESUME).contains(" --resume=<session> "), "{}", shown("copilot", RESUME));
    let args = strings(&["-r", "old2"]);
    let wanted = Invocation { session: Some(RESUME), resident: true, ..command("claude", &args) };
    let made = builtin("claude-code").synthesize(&wanted).unwrap();
    assert_eq!(made.shown, strings(&["claude", "--resume", "<session>", "-r", "old2"]));
}

/// Arguments of one's own may name a session: nothing is added to them.
#[test]
fn a_plain_command_is_told_no_id() {
    let args = strings(&["--continue"]);
    let wanted = Invocation { session: Some(FRESH), resident: true, ..command("claude", &args) };
    let made = builtin("claude-code").synthesize(&wanted).unwrap();
    assert_eq!((made.argv, made.session), (strings(&["claude", "--continue"]), None));
}

/// TRJ-8: a one-shot goes on with a session, or a copy of it, and is given its prompt in that.
#[test]
fn a_one_shot_goes_on_with_a_session() {
    let claude = "claude -p --resume old --output-format stream-json --verbose -- P";
    assert_eq!(once("claude-code", RESUME), told(claude, Some("old")));
    let forked =
        "claude -p --resume old --fork-session --session-id new --output-format stream-json --verbose -- P";
    assert_eq!(once("claude-code", FORK), told(forked, Some("new")));
    assert_eq!(once("pi", RESUME), told("pi -p --session old --mode json -- P", Some("old")));
    let forked = "pi -p --fork old --session-id new --mode json -- P";
    assert_eq!(once("pi", FORK), told(forked, Some("new")));
    let forked = "grok -r old --fork-session -s new --output-format streaming-json --single=P";
    assert_eq!(once("grok", FORK), told(forked, Some("new")));
    assert_eq!(once("opencode", RESUME), told("opencode run -s old --format json", Some("old")));
    assert_eq!(once("opencode", FORK), told("opencode run -s old --fork --format json", None));
    let codex = "codex exec --skip-git-repo-check -c analytics.enabled=false";
    assert_eq!(once("codex", RESUME), told(&format!("{codex} resume old --json -- P"), Some("old")));
    assert_eq!(once("codex", FORK), told(&format!("{codex} fork old --json -- P"), None));
    let dash = Invocation { session: Some(RESUME), ..one_shot("-", &PLAIN) };
    let made = builtin("codex").synthesize(&dash).unwrap();
    assert_eq!(made.argv.join(" "), format!("{codex} resume old --json -"));
    assert_eq!(made.stdin.as_deref(), Some(&b"-"[..]), "what it would misread goes by standard input");
}

/// TRJ-8: a resident agent goes on without its prompt.
#[test]
fn a_resident_agent_goes_on_without_its_prompt() {
    assert_eq!(resident("claude-code", RESUME), told("claude --resume old", Some("old")));
    let forked = "claude --resume old --fork-session --session-id new";
    assert_eq!(resident("claude-code", FORK), told(forked, Some("new")));
    assert_eq!(resident("codex", RESUME), told("codex -c analytics.enabled=false resume old", Some("old")));
    assert_eq!(resident("codex", FORK), told("codex -c analytics.enabled=false fork old", None));
    assert_eq!(resident("opencode", RESUME), told("opencode -s old", Some("old")));
    assert_eq!(resident("opencode", FORK), told("opencode -s old --fork", None));
    assert_eq!(resident("pi", RESUME), told("pi --session old", Some("old")));
    assert_eq!(resident("pi", FORK), told("pi --fork old --session-id new", Some("new")));
    let args = strings(&["--verbose"]);
    let wanted = Invocation { session: Some(RESUME), resident: true, ..command("claude", &args) };
    let made = builtin("claude-code").synthesize(&wanted).unwrap();
    assert_eq!(made.argv, ["claude", "--resume", "old", "--verbose"]);
}

/// TRJ-8: what an agent cannot do is said, never left out.
#[test]
fn an_agent_without_a_template_is_refused() {
    let cases = [("gemini", false, FORK, "fork"), ("kimi", true, RESUME, "go on with")];
    for (agent, resident, session, verb) in cases {
        let wanted = Invocation { session: Some(session), resident, ..one_shot("P", &PLAIN) };
        let refused = builtin(agent).synthesize(&wanted).unwrap_err();
        assert_eq!(refused, SynthesisError::NoSession { adapter: agent.into(), verb });
    }
}
