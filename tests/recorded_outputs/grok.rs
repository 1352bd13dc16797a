//! What Grok Build printed.

use harnessd::base::ExitStatus::{Code, Signal};
use harnessd::base::Outcome::{AuthRequired, Failed, MaxTurns, Ok, Overloaded, RateLimited};
use harnessd::base::Report;
use harnessd::report::Format::Grok;

use crate::fixtures::{Fixture, none, of};
use crate::{outcome, rendered};

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    let turns = "it used up its turns";
    vec![
        of("grok/ok", Grok, Code(0), Ok, ""),
        of("grok/tool", Grok, Code(0), Ok, ""),
        of("grok/quoted", Grok, Code(0), Ok, ""),
        of("grok/cut", Grok, Code(0), Ok, ""),
        of(
            "grok/401",
            Grok,
            Code(1),
            AuthRequired,
            "Unauthorized (401) from http://127.0.0.1:8080/v1/chat/completions: authentication_error: invalid x-api-key",
        ),
        of(
            "grok/no-login",
            Grok,
            Code(1),
            AuthRequired,
            "Not signed in. To authenticate without a browser, run:",
        ),
        of("grok/429", Grok, Code(1), RateLimited, "rate_limit_error: Rate limit reached for requests"),
        of(
            "grok/529",
            Grok,
            Code(1),
            Overloaded,
            "API error (status 529 <unknown status code>): overloaded_error: Overloaded",
        ),
        of(
            "grok/500",
            Grok,
            Code(1),
            Failed,
            "API error (status 500 Internal Server Error): Internal server error",
        ),
        of("grok/max-turns", Grok, Code(1), MaxTurns, turns),
        of(
            "grok/refused",
            Grok,
            Code(0),
            Failed,
            "it cancelled its turn, as it does where it may not use a tool",
        ),
        of(
            "grok/no-model",
            Grok,
            Code(1),
            Failed,
            "Couldn't set model 'nope': Invalid params: \"unknown model id\". Run 'grok models' to see available models.",
        ),
        none("grok/sigint", Grok, Signal(2)),
        none("grok/sigterm", Grok, Signal(15)),
    ]
}

/// RUN-0: the reason that it stopped for is what it states; one that is not known is no success.
#[test]
fn the_reason_that_it_stopped_for_decides() {
    for (reason, stated, cause) in [
        ("end_turn", Ok, None),
        ("max_turn_requests", MaxTurns, Some("it used up its turns")),
        ("max_tokens", Failed, Some("its answer was cut at the limit of tokens")),
        ("refusal", Failed, Some("the model refused")),
        ("bored", Failed, Some("it stopped for the reason `bored`")),
        ("", Failed, Some("it stopped for the reason ``")),
    ] {
        let output = format!("{{\"type\":\"end\",\"stopReason\":\"{reason}\"}}\n");
        let report = Report { outcome: stated, cause: cause.map(str::to_owned), until: None };
        assert_eq!(outcome(Grok, output.as_bytes(), Code(0)), Some(report), "{reason}");
    }
}

/// RUN-0: turns that were used up before it went on are not those that it ends with.
#[test]
fn used_up_turns_count_for_their_own_end() {
    let output = "{\"type\":\"max_turns_reached\"}\n{\"type\":\"end\",\"stopReason\":\"cancelled\"}\n\
                  {\"type\":\"text\",\"data\":\"x\"}\n{\"type\":\"end\",\"stopReason\":\"cancelled\"}\n";
    assert_eq!(outcome(Grok, output.as_bytes(), Code(0)).map(|report| report.outcome), Some(Failed));
}

/// RUN-2: what it says of an error on standard error too is shown once, and only what it says.
#[test]
fn an_error_that_it_says_twice_is_shown_once() {
    let record = "{\"type\":\"error\",\"message\":\"first\\nsecond\"}\n";
    let shown = |after: &str| rendered(Grok, format!("{record}{after}").as_bytes(), true);
    assert_eq!(shown("Error: first\nsecond\n"), "error: first\nsecond\n");
    assert_eq!(shown("Error: first\nother\nsecond\n"), "error: first\nsecond\nother\n");
    assert_eq!(shown("Error: first\nsecond\nsecond\n"), "error: first\nsecond\nsecond\n");
}

/// RUN-0: of a limit it hands on what the provider calls it, without the status.
#[test]
fn a_limit_is_known_by_what_its_provider_calls_it() {
    for (message, stated) in [
        ("Some resource has been exhausted: Your team has used all available credits.", RateLimited),
        ("requests: Rate limit reached for gpt-x in organization o", RateLimited),
        ("requests: slow down", RateLimited),
        ("insufficient_quota: You exceeded your quota", RateLimited),
        ("Request failed (HTTP 429).", RateLimited),
        ("many requests: none", Failed),
        ("slow down", Failed),
    ] {
        let record = serde_json::json!({"type": "error", "message": message}).to_string();
        let report = Report { outcome: stated, cause: Some(message.to_owned()), until: None };
        assert_eq!(outcome(Grok, record.as_bytes(), Code(1)), Some(report), "{message}");
    }
}
