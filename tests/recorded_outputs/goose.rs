//! What Goose printed.

use harnessd::base::ExitStatus::{Code, Signal};
use harnessd::base::Outcome::{AuthRequired, Failed, MaxTurns, Ok, Overloaded, RateLimited};
use harnessd::base::Report;
use harnessd::report::Format::Goose;
use serde_json::{Value, json};

use crate::fixtures::{Fixture, UNSTATED, none, of};
use crate::{outcome, rendered};

const SERVER: &str = "Server error: Server error (500 Internal Server Error) at http://127.0.0.1:8080/v1/chat/completions: Internal server error";

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    vec![
        of("goose/ok", Goose, Code(0), Ok, ""),
        of("goose/tool", Goose, Code(0), Ok, ""),
        of("goose/quoted", Goose, Code(0), Ok, ""),
        of("goose/cut", Goose, Code(0), Ok, ""),
        of("goose/length", Goose, Code(0), Failed, "its answer was cut at the limit of tokens"),
        of(
            "goose/empty",
            Goose,
            Code(0),
            Failed,
            "The model returned an empty response. Please resend your message to continue.",
        ),
        of(
            "goose/401",
            Goose,
            Code(1),
            AuthRequired,
            "Authentication error: Authentication failed for http://127.0.0.1:8080/v1/chat/completions. Status: 401 Unauthorized. Response: invalid x-api-key",
        ),
        of(
            "goose/429",
            Goose,
            Code(0),
            RateLimited,
            "Rate limit exceeded: This request would exceed your account's rate limit. Please try again later.",
        ),
        of(
            "goose/credits",
            Goose,
            Code(0),
            Failed,
            "Please check your account with your provider to add more credits, then resend your message to continue.",
        ),
        of(
            "goose/529",
            Goose,
            Code(0),
            Overloaded,
            "Server error: Server error (529 <unknown status code>) at http://127.0.0.1:8080/v1/chat/completions: Overloaded",
        ),
        of("goose/500", Goose, Code(0), Failed, SERVER),
        of("goose/late-500", Goose, Code(0), Failed, SERVER),
        of(
            "goose/no-model",
            Goose,
            Code(0),
            Failed,
            "Request failed: Resource not found (404) at http://127.0.0.1:8080/v1/chat/completions: The model `x` does not exist",
        ),
        of(
            "goose/context",
            Goose,
            Code(0),
            Failed,
            "Failed to compact: the base prompt (system prompt, tool schemas, and conversation) exceeds the model's effective context window, and there are no tool responses to remove. Use a model or configuration with a larger usable context, disable some extensions to reduce the tool-schema payload, or start a…",
        ),
        of(
            "goose/no-network",
            Goose,
            Code(0),
            Failed,
            "Network error: Network error — check your network connection and try again.",
        ),
        of("goose/max-turns", Goose, Code(0), MaxTurns, "it used up its turns"),
        none("goose/no-provider", Goose, Code(1)),
        none("goose/sigint", Goose, Code(1)),
        none("goose/sigterm", Goose, Signal(15)),
    ]
}

fn message(id: &str, inference: &Value, content: &Value) -> String {
    let metadata = json!({"userVisible": true, "inference": inference});
    let message = json!({"id": id, "role": "assistant", "content": [content], "metadata": metadata});
    json!({"type": "message", "message": message}).to_string() + "\n"
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

/// How the messages end, and for what cause.
fn ended(messages: &[String]) -> Report {
    let output = messages.concat() + "{\"type\":\"complete\",\"total_tokens\":7}\n";
    outcome(Goose, output.as_bytes(), Code(0)).unwrap()
}

fn report(outcome: harnessd::base::Outcome, cause: &str) -> Report {
    Report { outcome, cause: (!cause.is_empty()).then(|| cause.to_owned()), until: None }
}

/// RUN-0: the same words are an error from the program itself, and an answer from a model.
#[test]
fn who_speaks_decides_and_not_the_words() {
    let model = json!({"provider": "openai", "requestedModel": "m"});
    for (words, stated, cause) in [
        (
            "Ran into this error: Rate limit exceeded: no.\n\nPlease retry",
            RateLimited,
            "Rate limit exceeded: no",
        ),
        ("Ran into this error: Server error: 503 busy.", Overloaded, "Server error: 503 busy"),
        ("Network error: gone\n\nPlease resend", Failed, "Network error: gone"),
        ("The provider refused this request.", Failed, "The provider refused this request."),
        (
            "I've reached the maximum number of actions I can do without user input. Would you like me to continue?",
            MaxTurns,
            "it used up its turns",
        ),
        // What it answers by itself, as to a prompt that is a command of its own.
        ("Compaction complete", Ok, ""),
    ] {
        assert_eq!(ended(&[message("1", &Value::Null, &text(words))]), report(stated, cause), "{words}");
        assert_eq!(ended(&[message("1", &model, &text(words))]), report(Ok, ""), "{words}");
    }
}

/// RUN-0: `complete` says nothing by itself: the last message does, and a call of a tool is no answer.
#[test]
fn the_last_message_is_what_it_ends_with() {
    let model = json!({"provider": "openai", "requestedModel": "m"});
    let answer = message("1", &model, &text("x"));
    let call =
        message("2", &model, &json!({"type": "toolRequest", "toolCall": {"value": {"name": "shell"}}}));
    let error = message("3", &Value::Null, &text("Ran into this error: Server error: no."));
    let notice = json!({"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compaction complete"});
    let notice = message("4", &Value::Null, &notice);
    assert_eq!(ended(&[answer.clone(), call.clone()]), report(Failed, UNSTATED));
    assert_eq!(ended(&[call, answer.clone()]), report(Ok, ""));
    assert_eq!(ended(&[error.clone(), answer.clone()]), report(Ok, ""));
    assert_eq!(ended(&[answer.clone(), error]), report(Failed, "Server error: no"));
    assert_eq!(ended(&[answer, notice]), report(Failed, UNSTATED));
    assert_eq!(ended(&[]), report(Failed, UNSTATED));
}

/// RUN-2: an error is shown once, though it stands in a message, in a record and on standard error.
#[test]
fn an_error_that_it_says_three_times_is_shown_once() {
    for fixture in all() {
        let shown = rendered(Goose, &std::fs::read(fixture.path()).unwrap(), true);
        match fixture.name {
            "goose/401" => assert_eq!(
                shown,
                "error: Authentication error: Authentication failed for http://127.0.0.1:8080/v1/chat/completions. Status: 401 Unauthorized. Response: invalid x-api-key\n"
            ),
            "goose/500" | "goose/late-500" => assert_eq!(shown, format!("error: {SERVER}\n")),
            "goose/max-turns" => assert_eq!(shown, "error: it used up its turns\n"),
            "goose/ok" => assert_eq!(shown, "the answer of the model\n"),
            _ => {}
        }
    }
}
