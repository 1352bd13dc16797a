//! Outputs as people see them.

use harnessd::report::Format;

use crate::fixtures::all;
use crate::rendered;

fn shown(name: &str, quiet: bool) -> String {
    let fixture = all().into_iter().find(|one| one.name == name).unwrap();
    rendered(fixture.format, &std::fs::read(fixture.path()).unwrap(), quiet)
}

/// RUN-2: what the agent did and what it answered, one line a tool, the answer once.
#[test]
fn a_run_with_a_tool_reads_as_text() {
    for (name, text) in [
        ("claude-code/tool", "[Bash] echo limit reached; echo Claude AI usage limit reached\nDONE\n"),
        ("goose/tool", "[shell] echo limit reached; echo Claude AI usage limit reached\nDONE\n"),
        (
            "grok/tool",
            "[run_terminal_command] echo limit reached; echo Claude AI usage limit reached\nDONE\n",
        ),
        ("opencode/tool", "[bash] echo limit reached\nDONE\n"),
        ("pi/tool", "[bash] echo limit reached; echo Claude AI usage limit reached\nDONE\n"),
    ] {
        assert_eq!(shown(name, false), text, "{name}");
        assert_eq!(shown(name, true), "DONE\n", "{name}");
    }
}

/// RUN-2: what Kimi Code's tool prints is no record, so it is shown, and once.
#[test]
fn what_a_tool_prints_beside_the_records_is_shown() {
    let printed = "limit reached\nClaude AI usage limit reached\n";
    let call = "[Bash] echo limit reached; echo Claude AI usage limit reached\n";
    assert_eq!(shown("kimi/tool", false), format!("{printed}{call}DONE\n"));
    assert_eq!(shown("kimi/tool", true), format!("{printed}DONE\n"));
}

/// RUN-2: errors are shown once, whatever is wanted, and so is everything that is no record.
#[test]
fn errors_and_foreign_lines_are_shown_once() {
    let warned = "error: Model metadata for `mock-model` not found. Defaulting to fallback metadata; \
                  this can degrade performance and cause issues.\n";
    let codex = "Reading additional input from stdin...\n";
    for (name, text) in [
        (
            "claude-code/401",
            "error: 401 authentication_failed, tries again\nInvalid API key · Fix external API key\n"
                .to_owned(),
        ),
        ("claude-code/usage-limit", "You've hit your 5-hour limit · resets 6:55pm (UTC)\n".to_owned()),
        ("claude-code/budget", "[Bash] true\nerror: Reached maximum budget ($0.001)\n".to_owned()),
        (
            "codex/429",
            format!("{codex}{warned}error: exceeded retry limit, last status: 429 Too Many Requests\n"),
        ),
        (
            "codex/tool",
            format!(
                "{codex}{warned}[shell] /bin/bash -lc 'echo limit reached; echo Claude AI usage limit reached'\n\
                 DONE\n"
            ),
        ),
        ("grok/429", "error: rate_limit_error: Rate limit reached for requests\n".to_owned()),
        (
            "grok/500",
            "error: API error (status 500 Internal Server Error): Internal server error\n".to_owned(),
        ),
        (
            "grok/max-turns",
            "[run_terminal_command] true\n[run_terminal_command] true\nerror: it used up its turns\n"
                .to_owned(),
        ),
        (
            "kimi/429",
            "error: 429 Rate limit reached for requests, tries again\n\
             error: provider.rate_limit: 429 Rate limit reached for requests\n\
             See log: /home/u/.kimi-code/logs/kimi-code.log\n"
                .to_owned(),
        ),
        ("opencode/401", "error: invalid x-api-key\n".to_owned()),
        (
            "pi/401",
            "error: 401: {\"message\":\"invalid x-api-key\",\"type\":\"authentication_error\",\
             \"code\":\"authentication_error\"}\n"
                .to_owned(),
        ),
        ("pi/sigterm", "[bash] python3 -c 'import time;time.sleep(47)'\n".to_owned()),
    ] {
        assert_eq!(shown(name, false), text, "{name}");
        let quiet: String = text.split_inclusive('\n').filter(|line| !line.starts_with('[')).collect();
        assert_eq!(shown(name, true), quiet, "{name}");
    }
}

/// RUN-2: a text that comes in pieces is one text; a record of a kind that is not known is shown whole.
#[test]
fn pieces_make_one_text_and_unknown_records_stay() {
    let piece = |words: &str| {
        format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{words}\",\"delta\":true}}\n")
    };
    let foreign = "{\"type\":\"weather\",\"sky\":\"grey\"}\n";
    let success = "{\"type\":\"result\",\"status\":\"success\"}\n";
    let output =
        [&piece("two "), &piece("words\\n"), foreign, "plain\n", &piece("the end"), success].concat();
    let text = format!("two words\n{foreign}plain\nthe end\n");
    assert_eq!(rendered(Format::Gemini, output.as_bytes(), false), text);
    assert_eq!(rendered(Format::Gemini, output.as_bytes(), true), format!("{foreign}plain\nthe end\n"));
    // What has no end yet is shown when nothing follows.
    assert_eq!(rendered(Format::Gemini, piece("half").as_bytes(), true), "half\n");
    assert_eq!(rendered(Format::Gemini, b"\xff\nno line break", true), "\u{fffd}\nno line break\n");
}

/// A line that is too long for the memory is counted in place of being shown.
#[test]
fn a_line_that_is_too_long_is_said() {
    let output = [&vec![b'x'; 5 << 20][..], b"\nnext\n"].concat();
    assert_eq!(rendered(Format::Pi, &output, true), "[a line of 5242880 bytes is not shown]\nnext\n");
}
