//! The exact command of each agent, as a table under the name of each case.

use super::{PLAIN, builtin, command, one_shot, strings, variables};
use crate::adapter::{Invocation, PromptOptions};

struct Case {
    name: &'static str,
    agent: &'static str,
    options: PromptOptions,
    argv: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    stdin: bool,
}

fn all() -> PromptOptions {
    PromptOptions { model: Some("m/x".to_owned()), auto_accept: true, ..PLAIN }
}

fn turns(turns: u32) -> PromptOptions {
    PromptOptions { max_turns: Some(turns), ..PLAIN }
}

const CLAUDE: &[(&str, &str)] =
    &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")];
const CLAUDE_ACCEPTING: &[(&str, &str)] =
    &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1"), ("IS_SANDBOX", "1")];
/// How claude is asked for machine-readable output.
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
const CRUSH: &[(&str, &str)] = &[("CRUSH_DISABLE_METRICS", "1"), ("CRUSH_DISABLE_PROVIDER_AUTO_UPDATE", "1")];
const GOOSE: &[(&str, &str)] = &[("GOOSE_TELEMETRY_ENABLED", "false")];
const GOOSE_ACCEPTING: &[(&str, &str)] = &[("GOOSE_MODE", "auto"), ("GOOSE_TELEMETRY_ENABLED", "false")];
const GROK: &[(&str, &str)] =
    &[("GROK_DISABLE_AUTOUPDATER", "1"), ("GROK_TELEMETRY_ENABLED", "0"), ("GROK_TURN_SUMMARY", "0")];
const KIMI: &[(&str, &str)] = &[("KIMI_CODE_NO_AUTO_UPDATE", "1"), ("KIMI_DISABLE_TELEMETRY", "1")];
const KIMI_TURNS: &[(&str, &str)] = &[
    ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
    ("KIMI_DISABLE_TELEMETRY", "1"),
    ("KIMI_LOOP_MAX_STEPS_PER_TURN", "3"),
];
const OPENCODE: &[(&str, &str)] = &[("OPENCODE_DISABLE_AUTOUPDATE", "1")];
const GEMINI: &[(&str, &str)] = &[("GEMINI_CLI_NO_RELAUNCH", "true")];
const QWEN: &[(&str, &str)] = &[("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")];
const COPILOT: &[(&str, &str)] = &[("COPILOT_AUTO_UPDATE", "false")];

fn one_shots() -> Vec<Case> {
    let case = |name, agent, options, argv, env, stdin| Case { name, agent, options, argv, env, stdin };
    vec![
        case(
            "claude_plain",
            "claude-code",
            PLAIN,
            &["claude", "-p", STREAM[0], STREAM[1], STREAM[2], "--", "P"],
            CLAUDE,
            false,
        ),
        case(
            "claude_all",
            "claude-code",
            PromptOptions { max_turns: Some(3), ..all() },
            &[
                "claude",
                "-p",
                STREAM[0],
                STREAM[1],
                STREAM[2],
                "--model",
                "m/x",
                "--dangerously-skip-permissions",
                "--max-turns",
                "3",
                "--",
                "P",
            ],
            CLAUDE_ACCEPTING,
            false,
        ),
        case(
            "claude_no_limit",
            "claude-code",
            turns(0),
            &["claude", "-p", STREAM[0], STREAM[1], STREAM[2], "--", "P"],
            CLAUDE,
            false,
        ),
        case(
            "codex_plain",
            "codex",
            PLAIN,
            &["codex", "exec", "--skip-git-repo-check", "-c", "analytics.enabled=false", "--json", "--", "P"],
            &[],
            false,
        ),
        case(
            "codex_all",
            "codex",
            all(),
            &[
                "codex",
                "exec",
                "--skip-git-repo-check",
                "-c",
                "analytics.enabled=false",
                "--json",
                "-m",
                "m/x",
                "--dangerously-bypass-approvals-and-sandbox",
                "--",
                "P",
            ],
            &[],
            false,
        ),
        case("opencode_plain", "opencode", PLAIN, &["opencode", "run", "--format", "json"], OPENCODE, true),
        case(
            "opencode_all",
            "opencode",
            all(),
            &["opencode", "run", "--format", "json", "-m", "m/x", "--auto"],
            OPENCODE,
            true,
        ),
        case("pi_plain", "pi", PLAIN, &["pi", "-p", "--mode", "json", "--", "P"], &[], false),
        case("pi_all", "pi", all(), &["pi", "-p", "--mode", "json", "--model", "m/x", "--", "P"], &[], false),
        case(
            "gemini_plain",
            "gemini",
            PLAIN,
            &["gemini", "--skip-trust", "-o", "stream-json", "--prompt=P"],
            GEMINI,
            false,
        ),
        case(
            "gemini_all",
            "gemini",
            all(),
            &["gemini", "--skip-trust", "-o", "stream-json", "-m", "m/x", "-y", "--prompt=P"],
            GEMINI,
            false,
        ),
        case(
            "qwen_plain",
            "qwen",
            turns(3),
            &["qwen", "--output-format", "stream-json", "--max-session-turns", "3", "--prompt=P"],
            QWEN,
            false,
        ),
        case(
            "qwen_all",
            "qwen",
            all(),
            &["qwen", "--output-format", "stream-json", "-m", "m/x", "--yolo", "--prompt=P"],
            QWEN,
            false,
        ),
        case(
            "copilot_plain",
            "copilot",
            PLAIN,
            &["copilot", "--output-format", "json", "-s", "--prompt=P"],
            COPILOT,
            false,
        ),
        case(
            "copilot_all",
            "copilot",
            PromptOptions { quiet: true, ..all() },
            &["copilot", "--output-format", "json", "--model", "m/x", "--allow-all", "-s", "--prompt=P"],
            COPILOT,
            false,
        ),
        case("crush_plain", "crush", PLAIN, &["crush", "run", "-q", "--", "P"], CRUSH, false),
        case("crush_all", "crush", all(), &["crush", "run", "-q", "-m", "m/x", "--", "P"], CRUSH, false),
        case(
            "goose_plain",
            "goose",
            PLAIN,
            &["goose", "run", "-q", "--output-format", "stream-json", "--text=P"],
            GOOSE,
            false,
        ),
        case(
            "goose_all",
            "goose",
            PromptOptions { max_turns: Some(3), ..all() },
            &[
                "goose",
                "run",
                "-q",
                "--output-format",
                "stream-json",
                "--model",
                "m/x",
                "--max-turns",
                "3",
                "--text=P",
            ],
            GOOSE_ACCEPTING,
            false,
        ),
        case("hermes_plain", "hermes", PLAIN, &["hermes", "chat", "-Q", "--query=P"], &[], false),
        case(
            "hermes_all",
            "hermes",
            PromptOptions { max_turns: Some(3), ..all() },
            &["hermes", "chat", "-Q", "-m", "m/x", "--yolo", "--max-turns", "3", "--query=P"],
            &[],
            false,
        ),
        case(
            "kimi_plain",
            "kimi",
            PLAIN,
            &["kimi", "--output-format", "stream-json", "--prompt=P"],
            KIMI,
            false,
        ),
        case(
            "kimi_all",
            "kimi",
            all(),
            &["kimi", "--output-format", "stream-json", "-m", "m/x", "--prompt=P"],
            KIMI,
            false,
        ),
        case(
            "kimi_turns",
            "kimi",
            turns(3),
            &["kimi", "--output-format", "stream-json", "--prompt=P"],
            KIMI_TURNS,
            false,
        ),
        case(
            "grok_plain",
            "grok",
            PLAIN,
            &["grok", "--output-format", "streaming-json", "--single=P"],
            GROK,
            false,
        ),
        case(
            "grok_all",
            "grok",
            PromptOptions { max_turns: Some(3), ..all() },
            &[
                "grok",
                "--output-format",
                "streaming-json",
                "-m",
                "m/x",
                "--always-approve",
                "--max-turns",
                "3",
                "--single=P",
            ],
            GROK,
            false,
        ),
        case("vibe_plain", "vibe", PLAIN, &["vibe", "--output", "streaming", "--prompt=P"], &[], false),
        case(
            "vibe_all",
            "vibe",
            PromptOptions { max_turns: Some(3), ..all() },
            &["vibe", "--output", "streaming", "--auto-approve", "--max-turns", "3", "--prompt=P"],
            &[("VIBE_ACTIVE_MODEL", "m/x")],
            false,
        ),
        case("antigravity_plain", "antigravity", PLAIN, &["agy", "-p", "P"], &[], false),
    ]
}

fn check(case: &Case, wanted: &Invocation<'_>) {
    let made = builtin(case.agent).synthesize(wanted).unwrap();
    let shown: Vec<String> = case
        .argv
        .iter()
        .map(|&word| match word {
            "P"
            | "--prompt=P"
            | "--prompt-interactive=P"
            | "--interactive=P"
            | "--text=P"
            | "--query=P"
            | "--single=P" => word.replace('P', "<prompt>"),
            word => word.to_owned(),
        })
        .collect();
    assert_eq!(made.argv, strings(case.argv), "{}", case.name);
    assert_eq!(made.shown, shown, "{}", case.name);
    assert_eq!(made.env, variables(case.env), "{}", case.name);
    assert_eq!(made.stdin, case.stdin.then(|| b"P".to_vec()), "{}", case.name);
    assert_eq!(made.documents, [], "{}", case.name);
    // The output of the others has no format that is known.
    let reports = [
        "claude-code",
        "codex",
        "copilot",
        "gemini",
        "goose",
        "grok",
        "hermes",
        "kimi",
        "opencode",
        "pi",
        "qwen",
        "vibe",
    ];
    let reports = reports.contains(&case.agent) && !wanted.resident;
    assert_eq!(made.report.as_deref(), reports.then_some(case.agent), "{}", case.name);
}

/// PRM-5: the command of a one-shot comes from the template alone, options folded in.
#[test]
fn a_one_shot_is_its_template_with_the_options_folded_in() {
    for case in one_shots() {
        check(&case, &one_shot("P", &case.options));
    }
}

/// CFG-6: `cmd` takes the place of the template's first word.
#[test]
fn cmd_replaces_the_first_word_of_the_template() {
    let wanted = Invocation { program: Some("/opt/wrap"), ..one_shot("P", &PLAIN) };
    let made = builtin("pi").synthesize(&wanted).unwrap();
    assert_eq!(made.argv, ["/opt/wrap", "-p", "--mode", "json", "--", "P"]);
    assert_eq!(made.report.as_deref(), Some("pi"));
}

/// With this, claude's terminal mode does not ask whether it may act without asking.
const UNASKED: &str = r#"{"skipDangerousModePermissionPrompt":true}"#;

/// ADP-3: a resident agent is given its prompt by the terminal mode's own template.
#[test]
fn a_resident_agent_is_given_its_prompt_by_argument() {
    let case = |name, agent, options, argv, env| Case { name, agent, options, argv, env, stdin: false };
    for case in [
        case("claude", "claude-code", PLAIN, &["claude", "--", "P"] as &[_], CLAUDE),
        case(
            "claude_all",
            "claude-code",
            all(),
            &["claude", "--model", "m/x", "--dangerously-skip-permissions", "--settings", UNASKED, "--", "P"],
            CLAUDE_ACCEPTING,
        ),
        case("codex", "codex", PLAIN, &["codex", "-c", "analytics.enabled=false", "--", "P"], &[]),
        case("opencode", "opencode", all(), &["opencode", "-m", "m/x", "--auto", "--prompt=P"], OPENCODE),
        case("pi", "pi", all(), &["pi", "--model", "m/x", "--", "P"], &[]),
        case("gemini", "gemini", all(), &["gemini", "-m", "m/x", "-y", "--prompt-interactive=P"], GEMINI),
        case("qwen", "qwen", all(), &["qwen", "-m", "m/x", "--yolo", "--prompt-interactive=P"], QWEN),
        case(
            "copilot",
            "copilot",
            all(),
            &["copilot", "--model", "m/x", "--allow-all", "--interactive=P"],
            COPILOT,
        ),
        case("goose", "goose", all(), &["goose", "run", "-s", "--model", "m/x", "--text=P"], GOOSE_ACCEPTING),
        case("grok", "grok", all(), &["grok", "-m", "m/x", "--always-approve", "--", "P"], GROK),
        case("antigravity", "antigravity", PLAIN, &["agy", "-i", "P"], &[]),
    ] {
        let wanted = Invocation { resident: true, ..one_shot("P", &case.options) };
        check(&case, &wanted);
    }
}

/// A workdir whose name looks like a placeholder is not expanded again.
#[test]
fn what_was_filled_in_is_not_read_again() {
    let args = strings(&["{workdir}"]);
    let wanted = Invocation { workdir: Some("/a{workdir}".into()), ..command("p", &args) };
    assert_eq!(builtin("generic").synthesize(&wanted).unwrap().argv, ["p", "/a{workdir}"]);

    let options = PromptOptions { model: Some("{prompt}{value}".to_owned()), ..PLAIN };
    let made = builtin("claude-code").synthesize(&one_shot("SECRET", &options)).unwrap();
    let words = |prompt| {
        ["claude", "-p", STREAM[0], STREAM[1], STREAM[2], "--model", "{prompt}{value}", "--", prompt]
    };
    assert_eq!(made.argv, words("SECRET"));
    assert_eq!(made.shown, words("<prompt>"));
}

/// CFG-6: An option that the agent can neither be asked for nor does anyway is no silent drop.
#[test]
fn an_option_without_a_means_is_an_error() {
    let options = turns(3);
    for (agent, key) in [
        ("codex", "max_turns"),
        ("opencode", "max_turns"),
        ("pi", "max_turns"),
        ("gemini", "max_turns"),
        ("copilot", "max_turns"),
    ] {
        let error = builtin(agent).synthesize(&one_shot("P", &options)).unwrap_err();
        assert_eq!(error.to_string(), format!("adapter `{agent}` has no means for `{key}`"));
    }
    let wanted = Invocation { resident: true, ..one_shot("P", &options) };
    let error = builtin("claude-code").synthesize(&wanted).unwrap_err();
    assert_eq!(error.to_string(), "adapter `claude-code` has no means for `max_turns`");
}
