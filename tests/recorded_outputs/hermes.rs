//! What Hermes printed.

use harnessd::base::ExitStatus::Code;
use harnessd::base::Outcome::{AuthRequired, Failed, RateLimited};
use harnessd::report::Format::Hermes;

use crate::fixtures::{Fixture, none, of};
use crate::{outcome, rendered};

/// Every output that is kept.
pub(super) fn all() -> Vec<Fixture> {
    vec![
        none("hermes/ok", Hermes, Code(0)),
        none("hermes/tool", Hermes, Code(0)),
        none("hermes/quoted", Hermes, Code(0)),
        // It asked again, and what had come by then was its answer.
        none("hermes/cut", Hermes, Code(0)),
        // With its turns used up it asks for a summary, which is its answer.
        none("hermes/max-turns", Hermes, Code(0)),
        of("hermes/401", Hermes, Code(1), AuthRequired, "HTTP 401: mock error 401"),
        of(
            "hermes/429",
            Hermes,
            Code(1),
            RateLimited,
            "API call failed after 3 retries: HTTP 429: mock error 429",
        ),
        of(
            "hermes/500",
            Hermes,
            Code(1),
            Failed,
            "API call failed after 3 retries: HTTP 500: mock error 500",
        ),
        none("hermes/sigterm", Hermes, Code(130)),
    ]
}

/// RUN-0: with the status 0 the words of an error are the model's, and without known words the status decides.
#[test]
fn words_of_an_error_count_with_its_exit_status_alone() {
    for output in
        ["HTTP 401: mock error 401\n", "API call failed after 3 retries: HTTP 429\n", "{\"a\":1}\n", ""]
    {
        assert_eq!(outcome(Hermes, output.as_bytes(), Code(0)), None, "{output}");
        assert_eq!(outcome(Hermes, output.as_bytes(), Code(130)), None, "{output}");
    }
    for output in ["I saw HTTP 401: no\n", "It isn't configured yet\n", ""] {
        assert_eq!(outcome(Hermes, output.as_bytes(), Code(1)), None, "{output}");
    }
    let billing = outcome(Hermes, b"Billing or credits exhausted: HTTP 402: no\n\nmore\n", Code(1)).unwrap();
    assert_eq!(billing.outcome, Failed);
    assert_eq!(billing.cause.as_deref(), Some("Billing or credits exhausted: HTTP 402: no"));
}

/// RUN-2: what it prints is text, and shown as it is.
#[test]
fn its_text_is_shown_as_it_is() {
    let output = "HTTP 401: no\n\n{\"type\":\"result\"}\n  indented\n";
    for quiet in [true, false] {
        assert_eq!(rendered(Hermes, output.as_bytes(), quiet), output);
    }
}
