//! What each real agent printed, and what it comes to.
//!
//! The files under `tests/data/report` are outputs of the programs named in `docs/agents.md`, with
//! a model server that answered from a script; standard output and error as they came.

use std::path::PathBuf;

use harnessd::base::ExitStatus::{self, Code, Signal};
use harnessd::base::Outcome::{self, AuthRequired, Budget, Failed, MaxTurns, Ok, Overloaded, RateLimited};
use harnessd::base::{Report, Wall};
use harnessd::report::Format::{self, ClaudeCode, Codex, Gemini, OpenCode, Pi, Qwen};

/// One output of one agent.
pub(super) struct Fixture {
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) status: ExitStatus,
    outcome: Option<(Outcome, &'static str)>,
    until: Option<&'static str>,
}

impl Fixture {
    pub(super) fn path(&self) -> PathBuf {
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/report");
        data.join(format!("{}.jsonl", self.name))
    }
}

/// An output that comes to this outcome, for this cause.
pub(super) const fn of(
    name: &'static str,
    format: Format,
    status: ExitStatus,
    outcome: Outcome,
    cause: &'static str,
) -> Fixture {
    Fixture { name, format, status, outcome: Some((outcome, cause)), until: None }
}

/// An output that states nothing.
pub(super) const fn none(name: &'static str, format: Format, status: ExitStatus) -> Fixture {
    Fixture { name, format, status, outcome: None, until: None }
}

pub(super) const UNSTATED: &str = "ended without stating a result";

/// Every output that is kept; no outcome: the end of the program alone decides.
pub(super) fn all() -> Vec<Fixture> {
    let limited = |until, fixture| Fixture { until: Some(until), ..fixture };
    let mut all = vec![
        of("claude-code/ok", ClaudeCode, Code(0), Ok, ""),
        of("claude-code/tool", ClaudeCode, Code(0), Ok, ""),
        of("claude-code/quoted", ClaudeCode, Code(0), Ok, ""),
        of("claude-code/cut", ClaudeCode, Code(0), Ok, ""),
        of("claude-code/401", ClaudeCode, Code(1), AuthRequired, "Invalid API key · Fix external API key"),
        of("claude-code/401-oauth", ClaudeCode, Code(1), AuthRequired, "Not logged in · Please run /login"),
        of("claude-code/no-key", ClaudeCode, Code(1), AuthRequired, "Not logged in · Please run /login"),
        of(
            "claude-code/429",
            ClaudeCode,
            Code(1),
            RateLimited,
            "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
        ),
        limited(
            "2026-11-30T18:55:44Z",
            of(
                "claude-code/usage-limit",
                ClaudeCode,
                Code(1),
                RateLimited,
                "You've hit your 5-hour limit · resets 6:55pm (UTC)",
            ),
        ),
        limited(
            "2026-11-30T18:55:45Z",
            of(
                "claude-code/usage-limit-week",
                ClaudeCode,
                Code(1),
                RateLimited,
                "You've hit your weekly limit · resets 6:55pm (UTC)",
            ),
        ),
        of(
            "claude-code/529",
            ClaudeCode,
            Code(1),
            Overloaded,
            "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).",
        ),
        of(
            "claude-code/500",
            ClaudeCode,
            Code(1),
            Failed,
            "API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).",
        ),
        of("claude-code/max-turns", ClaudeCode, Code(1), MaxTurns, "Reached maximum number of turns (2)"),
        of("claude-code/budget", ClaudeCode, Code(1), Budget, "Reached maximum budget ($0.001)"),
        of(
            "claude-code/sigint",
            ClaudeCode,
            Code(0),
            Failed,
            "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use",
        ),
        none("claude-code/sigterm", ClaudeCode, Code(143)),
        of("codex/ok", Codex, Code(0), Ok, ""),
        of("codex/tool", Codex, Code(0), Ok, ""),
        of("codex/quoted", Codex, Code(0), Ok, ""),
        of(
            "codex/401",
            Codex,
            Code(1),
            AuthRequired,
            "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:8080/run/codex-401/v1/responses",
        ),
        of(
            "codex/429",
            Codex,
            Code(1),
            RateLimited,
            "exceeded retry limit, last status: 429 Too Many Requests",
        ),
        of(
            "codex/529",
            Codex,
            Code(1),
            Overloaded,
            "unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1:8080/run/codex-529/v1/responses",
        ),
        of(
            "codex/500",
            Codex,
            Code(1),
            Overloaded,
            "We’re currently experiencing high demand, which may cause temporary errors.",
        ),
        of(
            "codex/cut",
            Codex,
            Code(1),
            Failed,
            "stream disconnected before completion: stream closed before response.completed",
        ),
        of("codex/no-key", Codex, Code(1), Failed, "Missing environment variable: `MOCK_KEY`."),
        none("codex/sigint", Codex, Code(1)),
        none("codex/sigterm", Codex, Signal(15)),
        of("gemini/ok", Gemini, Code(0), Ok, ""),
        of("gemini/tool", Gemini, Code(0), Ok, ""),
        of("gemini/quoted", Gemini, Code(0), Ok, ""),
        of(
            "gemini/401",
            Gemini,
            Code(145),
            AuthRequired,
            "[API Error: {\"error\":{\"code\":401,\"message\":\"invalid x-api-key\",\"status\":\"UNAUTHENTICATED\"}}]",
        ),
        of(
            "gemini/429",
            Gemini,
            Code(173),
            RateLimited,
            "[API Error: Resource has been exhausted (e.g. check quota).]",
        ),
        of(
            "gemini/500",
            Gemini,
            Code(244),
            Failed,
            "[API Error: {\"error\":{\"code\":500,\"message\":\"Internal error encountered.\",\"status\":\"INTERNAL\"}}]",
        ),
        of(
            "gemini/503",
            Gemini,
            Code(247),
            Overloaded,
            "[API Error: The model is overloaded. Please try again later.]",
        ),
        of(
            "gemini/max-turns",
            Gemini,
            Code(53),
            MaxTurns,
            "Reached max session turns for this session. Increase the number of turns by specifying maxSessionTurns in settings.json.",
        ),
        of("gemini/sigterm", Gemini, Code(0), Failed, UNSTATED),
        of("opencode/ok", OpenCode, Code(0), Ok, ""),
        of("opencode/tool", OpenCode, Code(0), Ok, ""),
        of("opencode/quoted", OpenCode, Code(0), Ok, ""),
        of("opencode/401", OpenCode, Code(1), AuthRequired, "invalid x-api-key"),
        of(
            "opencode/429",
            OpenCode,
            Code(1),
            RateLimited,
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        of("opencode/529", OpenCode, Code(1), Overloaded, "Overloaded"),
        of("opencode/500", OpenCode, Code(1), Failed, "Internal server error"),
        none("opencode/sigterm", OpenCode, Signal(15)),
        of("pi/ok", Pi, Code(0), Ok, ""),
        of("pi/tool", Pi, Code(0), Ok, ""),
        of("pi/quoted", Pi, Code(0), Ok, ""),
        of(
            "pi/401",
            Pi,
            Code(0),
            AuthRequired,
            "401: {\"message\":\"invalid x-api-key\",\"type\":\"authentication_error\",\"code\":\"authentication_error\"}",
        ),
        of(
            "pi/429",
            Pi,
            Code(0),
            RateLimited,
            "429: {\"message\":\"This request would exceed your account's rate limit. Please try again later.\",\"type\":\"rate_limit_error\",\"code\":\"rate_limit_error\"}",
        ),
        of(
            "pi/529",
            Pi,
            Code(0),
            Overloaded,
            "529: {\"message\":\"Overloaded\",\"type\":\"overloaded_error\",\"code\":\"overloaded_error\"}",
        ),
        of(
            "pi/500",
            Pi,
            Code(0),
            Failed,
            "500: {\"message\":\"Internal server error\",\"type\":\"api_error\",\"code\":\"api_error\"}",
        ),
        of("pi/cut", Pi, Code(0), Failed, "Stream ended without finish_reason"),
        none("pi/sigint", Pi, Signal(2)),
        none("pi/sigterm", Pi, Code(143)),
        of("qwen/ok", Qwen, Code(0), Ok, ""),
        of("qwen/tool", Qwen, Code(0), Ok, ""),
        of("qwen/quoted", Qwen, Code(0), Ok, ""),
        of("qwen/500", Qwen, Code(1), Failed, "[API Error: 500 Internal server error]"),
        of(
            "qwen/429",
            Qwen,
            Code(1),
            RateLimited,
            "[API Error: 429 Resource has been exhausted (e.g. check quota).]",
        ),
        of("qwen/401", Qwen, Code(1), AuthRequired, "[API Error: 401 invalid x-api-key]"),
        of("qwen/max-turns", Qwen, Code(53), MaxTurns, "exit status 53: it used up its turns"),
        none("qwen/sigterm", Qwen, Signal(15)),
    ];
    all.extend(crate::copilot::all());
    all.extend(crate::goose::all());
    all.extend(crate::grok::all());
    all.extend(crate::hermes::all());
    all.extend(crate::kimi::all());
    all.extend(crate::vibe::all());
    all
}

/// RUN-0: the outcome is read from what each agent really prints.
#[test]
fn every_recorded_output_comes_to_what_the_agent_met() {
    for fixture in all() {
        let output = std::fs::read(fixture.path()).unwrap();
        let expected = fixture.outcome.map(|(outcome, cause)| Report {
            outcome,
            cause: (!cause.is_empty()).then(|| cause.to_owned()),
            until: fixture.until.map(|at| Wall::parse_rfc3339(at).unwrap()),
        });
        assert_eq!(crate::outcome(fixture.format, &output, fixture.status), expected, "{}", fixture.name);
    }
}

/// RUN-0: none of the recorded outputs is left out, and each format has its own.
#[test]
fn every_recorded_output_is_looked_at() {
    let mut named: Vec<PathBuf> = all().iter().map(Fixture::path).collect();
    named.sort();
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/report");
    let agents = std::fs::read_dir(data).unwrap().map(|agent| agent.unwrap().path());
    let mut found: Vec<PathBuf> =
        agents.flat_map(|agent| std::fs::read_dir(agent).unwrap()).map(|one| one.unwrap().path()).collect();
    found.sort();
    assert_eq!(named, found);
    for &format in Format::ALL {
        assert!(all().iter().any(|one| one.format == format), "{format:?}");
        assert_eq!(format.as_str().parse::<Format>().ok(), Some(format));
    }
    assert_eq!("Codex".parse::<Format>().unwrap_err().to_string(), "`Codex` is no report format");
}
