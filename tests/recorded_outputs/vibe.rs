//! What mistral-vibe printed.

use harnessd::base::ExitStatus::{Code, Signal};
use harnessd::base::Outcome::{self, AuthRequired, Budget, Failed, MaxTurns, Ok, RateLimited};
use harnessd::report::Decoder;
use harnessd::report::Format::Vibe;

use crate::fixtures::{Fixture, UNSTATED, of};
use crate::{outcome, rendered};

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    vec![
        of("vibe/ok", Vibe, Code(0), Ok, ""),
        of("vibe/tool", Vibe, Code(0), Ok, ""),
        of("vibe/quoted", Vibe, Code(0), Ok, ""),
        of("vibe/refused", Vibe, Code(0), Ok, ""),
        of(
            "vibe/401",
            Vibe,
            Code(1),
            AuthRequired,
            "Invalid API key (from env var MOCK_KEY). Please check your API key and try again.",
        ),
        of(
            "vibe/429",
            Vibe,
            Code(2),
            RateLimited,
            "Client error '429 Too Many Requests' for url 'http://127.0.0.1:8080/run/vibe-429/v1/chat/completions'",
        ),
        of(
            "vibe/500",
            Vibe,
            Code(2),
            Failed,
            "Server error '500 Internal Server Error' for url 'http://127.0.0.1:8080/run/vibe-500/v1/chat/completions'",
        ),
        of(
            "vibe/cut",
            Vibe,
            Code(2),
            Failed,
            "Model stream from mockprov (mock-model) ended without a finish reason.",
        ),
        of("vibe/max-turns", Vibe, Code(3), MaxTurns, "Stopped: turn_limit"),
        of("vibe/sigterm", Vibe, Code(3), Failed, "Stopped: terminated"),
    ]
}

const PROMPT: &str = "{\"type\":\"message\",\"role\":\"user\",\"sessionId\":\"s\",\"content\":[]}\n";
const TOOL: &str = "{\"type\":\"effect\",\"sessionId\":\"s\",\"detail\":{\"toolName\":\"file_system.bash\",\"input\":{\"command\":\"true\"}}}\n";

fn answer(session: &str, outcome: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"role\":\"assistant\",\"sessionId\":\"{session}\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"words\"}}],\"outcome\":{{\"type\":\"{outcome}\"}}}}\n"
    )
}

/// RUN-0, RUN-8: a message of the model's is the end only if nothing follows, so that it is none before.
#[test]
fn a_message_is_the_end_if_nothing_follows() {
    let (said, dropped, other) =
        (answer("s", "committed"), answer("s", "discarded"), answer("t", "committed"));
    let limit = |limit: &str| format!("{PROMPT}{said}Stopped: {limit}\n");
    let cases: Vec<(String, i32, Outcome, Option<&str>)> = vec![
        (format!("{PROMPT}{said}"), 0, Ok, None),
        (format!("{PROMPT}{said}{TOOL}"), 0, Failed, Some(UNSTATED)),
        (format!("{PROMPT}{said}{TOOL}{said}"), 0, Ok, None),
        (format!("{PROMPT}{said}{PROMPT}"), 0, Failed, Some(UNSTATED)),
        (format!("{PROMPT}{dropped}"), 0, Failed, Some(UNSTATED)),
        (format!("{PROMPT}{other}"), 0, Failed, Some(UNSTATED)),
        (format!("{PROMPT}{said}"), 1, Failed, Some("exit status 1 after it stated success")),
        (format!("{PROMPT}{said}Error: no\n"), 2, Failed, Some("no")),
        (limit("turn_limit"), 3, MaxTurns, Some("Stopped: turn_limit")),
        (limit("token_limit"), 3, Budget, Some("Stopped: token_limit")),
        (limit("price_limit"), 3, Budget, Some("Stopped: price_limit")),
        (limit("deadline"), 3, Failed, Some("Stopped: deadline")),
    ];
    for (output, status, stated, cause) in cases {
        let report = outcome(Vibe, output.as_bytes(), Code(status)).unwrap();
        assert_eq!((report.outcome, report.cause.as_deref()), (stated, cause), "{output}");
    }
    let mut decoder = Decoder::new(Vibe);
    decoder.feed(format!("{PROMPT}{said}").as_bytes());
    assert_eq!((decoder.stated(), decoder.session()), (None, Some("s")));
    assert_eq!(rendered(Vibe, format!("{PROMPT}{TOOL}{said}\n").as_bytes(), false), "[bash] true\nwords\n");
}

/// RUN-0: what it says before a tool is no answer, and the tool's record comes after the tool: killed meanwhile, it
/// has stated nothing.
#[test]
fn a_killed_one_has_not_answered() {
    let output = format!("{PROMPT}{}", answer("s", "committed"));
    for status in [Signal(9), Signal(15), Code(137), Code(143)] {
        assert_eq!(outcome(Vibe, output.as_bytes(), status), None, "{status:?}");
    }
}

/// RUN-0: servers of tools share its other output. A line of theirs is an error of its own only if it ends as failed.
#[test]
fn an_error_of_another_program_makes_no_failure() {
    let output = format!("{PROMPT}{}Error: cannot close the cache\n", answer("s", "committed"));
    let comes_to = |status| outcome(Vibe, output.as_bytes(), Code(status)).unwrap();
    assert_eq!((comes_to(0).outcome, comes_to(0).cause), (Ok, None));
    assert_eq!((comes_to(1).outcome, comes_to(1).cause.as_deref()), (Failed, Some("cannot close the cache")));
}
