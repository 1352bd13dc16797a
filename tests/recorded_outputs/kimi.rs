//! What Kimi Code printed.

use harnessd::base::ExitStatus::{self, Code, Signal};
use harnessd::base::Outcome::{AuthRequired, Failed, MaxTurns, Ok, Overloaded, RateLimited};
use harnessd::base::Report;
use harnessd::report::Decoder;
use harnessd::report::Format::Kimi;

use crate::fixtures::{Fixture, UNSTATED, none, of};
use crate::outcome;

const HINT: &str = "{\"role\":\"meta\",\"type\":\"session.resume_hint\",\"session_id\":\"session_1\"}\n";
const CALL: &str =
    "{\"role\":\"assistant\",\"content\":\"I look\",\"tool_calls\":[{\"function\":{\"name\":\"Bash\"}}]}\n";
const RESULT: &str = "{\"role\":\"tool\",\"content\":\"\"}\n";
const ANSWER: &str = "{\"role\":\"assistant\",\"content\":\"DONE\"}\n";

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    vec![
        of("kimi/ok", Kimi, Code(0), Ok, ""),
        of("kimi/tool", Kimi, Code(0), Ok, ""),
        of("kimi/quoted", Kimi, Code(0), Ok, ""),
        of("kimi/cut", Kimi, Code(0), Ok, ""),
        of("kimi/401", Kimi, Code(1), AuthRequired, "provider.auth_error: 401 invalid x-api-key"),
        of(
            "kimi/no-login",
            Kimi,
            Code(1),
            AuthRequired,
            "No model configured. Run `kimi` and use /login to sign in, then retry; or set default_model in config.toml.",
        ),
        of(
            "kimi/429",
            Kimi,
            Code(1),
            RateLimited,
            "provider.rate_limit: 429 Rate limit reached for requests",
        ),
        of("kimi/529", Kimi, Code(1), Overloaded, "provider.overloaded: 529 Overloaded"),
        of("kimi/500", Kimi, Code(1), Failed, "provider.api_error: 500 Internal server error"),
        of(
            "kimi/max-turns",
            Kimi,
            Code(1),
            MaxTurns,
            "loop.max_steps_exceeded: Turn exceeded maxSteps=2. If max_steps_per_turn is too small, raise it in config.toml (loop_control.max_steps_per_turn), or run \"/update-config\" to update it, then \"/reload\".",
        ),
        of("kimi/no-model", Kimi, Code(1), Failed, "Model \"nope\" is not configured in config.toml."),
        none("kimi/sigint", Kimi, Code(130)),
        none("kimi/sigterm", Kimi, Code(143)),
    ]
}

fn ended(pieces: &[&str], status: ExitStatus) -> Option<Report> {
    outcome(Kimi, pieces.concat().as_bytes(), status)
}

/// RUN-0: a tool's output goes by as it is while the tool runs, and states nothing, whatever it holds.
#[test]
fn what_a_tool_prints_states_nothing() {
    let failed = "error: failed to run prompt: provider.auth_error: 401 invalid\n";
    let unstated = Report { outcome: Failed, cause: Some(UNSTATED.to_owned()), until: None };
    for printed in [HINT, failed] {
        let mut decoder = Decoder::new(Kimi);
        decoder.feed(printed.as_bytes());
        assert_eq!((decoder.stated(), decoder.session()), (None, None), "{printed}");
        // Its parent is killed then, or the tool is done and something else goes wrong.
        assert_eq!(ended(&[printed], Signal(9)), None, "{printed}");
        assert_eq!(ended(&[printed], Code(143)), None, "{printed}");
        assert_eq!(ended(&[printed, CALL, RESULT], Code(1)), None, "{printed}");
        assert_eq!(ended(&[printed, CALL, RESULT], Code(0)), Some(unstated.clone()), "{printed}");
        let ok = Report { outcome: Ok, cause: None, until: None };
        assert_eq!(ended(&[printed, CALL, RESULT, ANSWER, HINT], Code(0)), Some(ok), "{printed}");
    }
    assert_eq!(ended(&[CALL, RESULT, HINT], Code(0)), Some(unstated.clone()));
    assert_eq!(ended(&[CALL, HINT], Code(0)), Some(unstated));
}

/// RUN-0: the id of the session is known once it says it.
#[test]
fn its_session_is_known_at_its_end() {
    let mut decoder = Decoder::new(Kimi);
    decoder.feed([ANSWER, HINT].concat().as_bytes());
    assert_eq!(decoder.session(), Some("session_1"));
}

/// RUN-0: a goal that it did not reach shows in its exit status.
#[test]
fn a_goal_that_is_not_reached_is_no_success() {
    let cause = Some("exit status 3 after it stated success".to_owned());
    let report = Report { outcome: Failed, cause, until: None };
    let goal = "{\"type\":\"goal.summary\",\"status\":\"blocked\"}\n";
    assert_eq!(ended(&[ANSWER, goal, HINT], Code(3)), Some(report));
    let ok = Report { outcome: Ok, cause: None, until: None };
    assert_eq!(ended(&[ANSWER, goal, HINT], Code(0)), Some(ok));
}
