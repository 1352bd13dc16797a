//! What GitHub Copilot CLI printed.

use harnessd::base::ExitStatus::{Code, Signal};
use harnessd::base::Outcome::{self, AuthRequired, Failed, Ok, Overloaded, RateLimited};
use harnessd::report::Format::Copilot;

use crate::fixtures::{Fixture, none, of};
use crate::{outcome, rendered};

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    vec![
        of("copilot/ok", Copilot, Code(0), Ok, ""),
        of("copilot/tool", Copilot, Code(0), Ok, ""),
        of("copilot/quoted", Copilot, Code(0), Ok, ""),
        of("copilot/refused", Copilot, Code(0), Ok, ""),
        of("copilot/subagent", Copilot, Code(0), Ok, ""),
        of(
            "copilot/401",
            Copilot,
            Code(1),
            AuthRequired,
            "Authentication failed with provider at http://127.0.0.1:8080/run/copilot-401/v1 (HTTP 401).",
        ),
        of(
            "copilot/429",
            Copilot,
            Code(1),
            RateLimited,
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 58.02 seconds) Last error: 429 mock error 429",
        ),
        of(
            "copilot/503",
            Copilot,
            Code(1),
            Overloaded,
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 15.76 seconds) Last error: 503 mock error 503",
        ),
        of(
            "copilot/500",
            Copilot,
            Code(1),
            Failed,
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 14.40 seconds) Last error: 500 mock error 500",
        ),
        of(
            "copilot/cut",
            Copilot,
            Code(1),
            Failed,
            "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.00 seconds) Last error: Failed to finalize chat-completions stream: missing finish_reason for choice 0",
        ),
        none("copilot/sigterm", Copilot, Signal(15)),
    ]
}

fn comes_to(records: &[&str], status: i32) -> Option<(Outcome, Option<String>)> {
    let report = outcome(Copilot, records.join("\n").as_bytes(), Code(status));
    report.map(|report| (report.outcome, report.cause))
}

/// RUN-0: its result holds a status alone; the error is the last one of its own that it did not go on after.
#[test]
fn the_error_before_the_result_is_what_it_met() {
    let done = "{\"type\":\"result\",\"exitCode\":0}";
    let failed = "{\"type\":\"result\",\"exitCode\":1}";
    let error = "{\"type\":\"session.error\",\"data\":{\"message\":\"no\",\"statusCode\":429}}";
    let other =
        "{\"type\":\"session.error\",\"agentId\":\"a\",\"data\":{\"message\":\"no\",\"statusCode\":429}}";
    let turn = "{\"type\":\"assistant.turn_start\",\"data\":{}}";
    let answer = "{\"type\":\"assistant.message\",\"data\":{\"content\":\"DONE\"}}";
    let others = "{\"type\":\"assistant.message\",\"agentId\":\"a\",\"data\":{\"content\":\"DONE\"}}";
    let abort = "{\"type\":\"abort\",\"data\":{\"reason\":\"user_abort\"}}";
    let bare = "its result states the exit status 1";
    for (records, status, expected) in [
        (&[done][..], 0, (Ok, None)),
        (&[error, failed], 1, (RateLimited, Some("no"))),
        (&[error, done], 0, (RateLimited, Some("no"))),
        (&[error, turn, done], 0, (Ok, None)),
        (&[error, answer, done], 0, (Ok, None)),
        (&[error, others, done], 0, (RateLimited, Some("no"))),
        (&[other, done], 0, (Ok, None)),
        (&[turn, failed], 1, (Failed, Some(bare))),
        (&[turn, abort, done], 0, (Failed, Some("it broke off: user_abort"))),
        (&[turn, abort], 0, (Failed, Some("ended without stating a result"))),
        (&[error], 1, (Failed, Some("no"))),
    ] {
        let (outcome, cause) = expected;
        assert_eq!(comes_to(records, status), Some((outcome, cause.map(str::to_owned))), "{records:?}");
    }
}

/// RUN-2: a sub-agent's words are not the answer, and its tools are shown.
#[test]
fn a_subagent_is_seen_by_its_tools() {
    let say = |agent: &str| {
        format!(
            "{{\"type\":\"assistant.message\",{agent}\"data\":{{\"content\":\"words\",\"toolRequests\":\
             [{{\"name\":\"bash\",\"arguments\":{{\"command\":\"true\"}}}}]}}}}\n"
        )
    };
    assert_eq!(rendered(Copilot, say("").as_bytes(), false), "words\n[bash] true\n");
    assert_eq!(rendered(Copilot, say("\"agentId\":\"a\",").as_bytes(), false), "[bash] true\n");
}
