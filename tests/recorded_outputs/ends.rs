//! Which of the things that Claude Code, Codex and pi say is how they ended.

use chrono_tz::Tz;
use harnessd::base::ExitStatus::{Code, Signal};
use harnessd::base::Outcome::{Failed, Ok, RateLimited};
use harnessd::base::{Report, Wall};
use harnessd::report::Format::{ClaudeCode, Codex, Pi};
use harnessd::report::{Decoder, Statement};

use crate::fixtures::UNSTATED;
use crate::{now, outcome};

fn claude(result: &str) -> Report {
    outcome(ClaudeCode, result.as_bytes(), Code(0)).unwrap()
}

fn limited(cause: &str, until: &str) -> Report {
    let until = Some(Wall::parse_rfc3339(until).unwrap());
    Report { outcome: RateLimited, cause: Some(cause.to_owned()), until }
}

/// RUN-0, complaints 5, 8 and 20: limits that come as `subtype: success` with exit 0, in the words of
/// several versions; the time is read in the zone that is stated, else in the harness's.
#[test]
fn a_limit_that_calls_itself_a_success_is_a_limit() {
    for (words, until) in [
        ("Claude AI usage limit reached|1796064944", "2026-11-30T18:55:44Z"),
        ("You've hit your limit · resets 7pm (Asia/Tokyo)", "2026-12-01T10:00:00Z"),
        ("5-hour limit reached ∙ resets 3pm", "2026-12-01T15:00:00Z"),
    ] {
        let record =
            serde_json::json!({"type": "result", "subtype": "success", "is_error": true, "result": words});
        assert_eq!(claude(&record.to_string()), limited(words, until));
        // Without the mark, but as the program's own text in place of the model's answer.
        let text = serde_json::json!([{"type": "text", "text": words}]);
        let message =
            serde_json::json!({"type": "assistant", "message": {"model": "<synthetic>", "content": text}});
        let result =
            serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": words});
        assert_eq!(claude(&format!("{message}\n{result}\n")), limited(words, until));
    }
}

/// RUN-0, complaint 7: the same words said by the model or printed by a tool are no limit.
#[test]
fn a_limit_that_is_only_quoted_is_none() {
    let words = "Claude AI usage limit reached|1796064944";
    let text = serde_json::json!([{"type": "text", "text": words}]);
    let message = serde_json::json!({"type": "assistant", "message": {"model": "claude", "content": text}});
    let result =
        serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": words});
    let ok = Report { outcome: Ok, cause: None, until: None };
    assert_eq!(claude(&format!("{message}\n{words}\n{result}\n")), ok);
}

/// RUN-0: what was stated and how it ended are told together.
#[test]
fn a_success_that_exits_with_a_failure_is_none() {
    let output = b"{\"type\":\"turn.started\"}\n{\"type\":\"turn.completed\"}\n";
    let ok = Some(Report { outcome: Ok, cause: None, until: None });
    let failed = |cause: &str| Some(Report { outcome: Failed, cause: Some(cause.to_owned()), until: None });
    for (status, report) in [
        (Code(0), ok.clone()),
        (Code(1), failed("exit status 1 after it stated success")),
        (Code(3), failed("exit status 3 after it stated success")),
        // Ended from outside after it was done.
        (Signal(15), ok.clone()),
        (Code(143), ok),
    ] {
        assert_eq!(outcome(Codex, output, status), report, "{status:?}");
    }
    assert_eq!(outcome(Codex, b"", Code(0)), failed(UNSTATED));
    assert_eq!(outcome(Codex, b"", Code(2)), None);
    let error = b"{\"type\":\"error\",\"message\":\"last status: 429\"}\n";
    let limit = Report { outcome: RateLimited, cause: Some("last status: 429".to_owned()), until: None };
    assert_eq!(outcome(Codex, error, Code(1)), Some(limit));
    assert_eq!(outcome(Codex, error, Signal(9)), None);
}

/// RUN-8: a result counts as the end only while nothing follows it, and not while an agent works on
/// in the background.
#[test]
fn a_result_that_is_followed_by_more_is_not_the_end() {
    let mut decoder = Decoder::new(ClaudeCode);
    let result = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\"}\n";
    let tasks = |tasks: &str| {
        format!("{{\"type\":\"system\",\"subtype\":\"background_tasks_changed\",\"tasks\":[{tasks}]}}\n")
    };
    decoder.feed(tasks("{\"task_type\":\"local_agent\"}").as_bytes());
    decoder.feed(result.as_bytes());
    assert_eq!(decoder.stated(), None);
    let ok = Some(Report { outcome: Ok, cause: None, until: None });
    assert_eq!(decoder.report(Some(Code(0)), now(), Tz::UTC), ok);
    decoder.feed(tasks("").as_bytes());
    decoder.feed(b"{\"type\":\"system\",\"subtype\":\"init\"}\n");
    decoder.feed(result.as_bytes());
    assert_eq!(decoder.stated().map(Statement::outcome), Some(Ok));
    decoder.feed(b"{\"type\":\"system\",\"subtype\":\"init\"}\n");
    assert_eq!(decoder.stated(), None);
}

/// RUN-8: pi has ended when it has settled; an output that ends before says it all the same.
#[test]
fn pi_has_ended_when_it_has_settled() {
    let message = "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"stopReason\":\"stop\"}}\n";
    let report = |decoder: &Decoder| {
        let report = decoder.report(Some(Code(0)), now(), Tz::UTC).unwrap();
        (decoder.stated().is_some(), report.outcome)
    };
    let mut decoder = Decoder::new(Pi);
    decoder.feed(format!("{{\"type\":\"agent_start\"}}\n{message}").as_bytes());
    assert_eq!(report(&decoder), (false, Failed));
    decoder.feed(b"{\"type\":\"agent_end\",\"willRetry\":true}\n");
    assert_eq!(report(&decoder), (false, Failed));
    decoder.feed(format!("{{\"type\":\"agent_start\"}}\n{message}").as_bytes());
    decoder.feed(b"{\"type\":\"agent_end\"}\n");
    assert_eq!(report(&decoder), (false, Ok));
    decoder.feed(b"{\"type\":\"agent_settled\"}\n");
    assert_eq!(report(&decoder), (true, Ok));
    decoder.feed(b"{\"type\":\"agent_start\"}\n");
    assert_eq!(report(&decoder), (false, Failed));
}
