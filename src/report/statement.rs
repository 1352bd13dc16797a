//! What an agent's terminal record states, and how an error of it is classed.
//!
//! Invariant: words are looked at only where the agent's record marks an error, and only in
//! that record's own fields: what a model or a tool said decides nothing.

use std::time::Duration;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{reset, words};
use crate::base::{Outcome, Report, Wall};

/// The bytes of an error that are looked at.
const LOOKED_AT: usize = 4096;
/// What stands before a status of HTTP.
const BEFORE_STATUS: [&str; 7] = ["status", "error", "code", "http", "rejected", "response", "unauthorized"];

/// Words of limits that pass by themselves.
const LIMITS: [&str; 16] = [
    "usage limit reached",
    "hit your limit",
    "hit your usage limit",
    "hit your session limit",
    "hit your weekly limit",
    "hit your 5-hour limit",
    "-hour limit reached",
    "weekly limit reached",
    "opus limit reached",
    "rate limit",
    "rate_limit",
    "too many requests",
    "resource_exhausted",
    "resource has been exhausted",
    "request a quota increase",
    "exceeded your current quota",
];
/// Words of a provider that has too much to do.
const OVERLOAD: [&str; 5] =
    ["overloaded", "high demand", "service unavailable", "service is currently unavailable", "at capacity"];
/// Words of a login that is missing or no longer good.
const LOGIN: [&str; 16] = [
    "not logged in",
    "not signed in",
    "please run /login",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "api key not valid",
    "authentication_error",
    "authentication_failed",
    "failed to authenticate",
    "invalid authentication",
    "unauthenticated",
    "oauth token",
    "please log in",
    "sign in again",
    "token_expired",
];

/// What an agent states about its own end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    outcome: Outcome,
    /// Its own words, where it is no success.
    words: Option<String>,
    /// The end of a limit, where it is stated as a number.
    until: Option<Wall>,
    /// How long to wait, where the provider says so.
    wait: Option<Duration>,
}

/// An error as a record tells it.
#[derive(Debug, Default)]
pub(super) struct Trouble<'a> {
    /// The status that the provider answered with.
    pub(super) status: Option<u64>,
    /// The kinds that the record names.
    pub(super) kinds: [Option<&'a str>; 2],
    /// What it says.
    pub(super) words: &'a str,
    /// When a limit ends, in seconds since 1970.
    pub(super) resets_at: Option<i64>,
    /// The provider's `retry-after`, in seconds.
    pub(super) retry_after: Option<&'a str>,
}

impl Statement {
    pub(super) const fn ok() -> Self {
        Self { outcome: Outcome::Ok, words: None, until: None, wait: None }
    }

    /// An outcome that the record names.
    pub(super) fn of(outcome: Outcome, words: &str) -> Self {
        Self { outcome, words: Some(first(words).to_owned()), until: None, wait: None }
    }

    /// An error, classed by what the record says of it.
    pub(super) fn error(trouble: &Trouble<'_>) -> Self {
        let words = first(trouble.words);
        let until = trouble.resets_at.and_then(reset::epoch);
        let wait = trouble.retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        Self { outcome: class(trouble, words), words: Some(words.to_owned()), until, wait }
    }

    /// How it ended.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Its words; none for a success.
    pub(super) fn words(&self) -> Option<&str> {
        self.words.as_deref()
    }

    /// The same for a record, as it is understood at `now`.
    pub(super) fn report(&self, now: Wall, zone: Tz) -> Report {
        let limited = matches!(self.outcome, Outcome::RateLimited | Outcome::Overloaded);
        let read = || self.words.as_deref().and_then(|words| reset::parse(words, now, zone));
        let cause = match (self.outcome, self.words.as_deref().and_then(words::cause)) {
            (Outcome::Ok, _) => None,
            (_, Some(cause)) => Some(cause),
            (outcome, None) => Some(format!("the agent states `{outcome}` and no cause")),
        };
        let until = self.until.or_else(|| self.wait.map(|wait| now + wait)).or_else(read);
        Report { outcome: self.outcome, cause, until: until.filter(|_| limited) }
    }
}

/// As much of an error as is looked at.
fn first(words: &str) -> &str {
    match words.char_indices().find(|(at, c)| at + c.len_utf8() > LOOKED_AT) {
        Some((end, _)) => &words[..end],
        None => words,
    }
}

fn class(trouble: &Trouble<'_>, words: &str) -> Outcome {
    let inner = embedded(words);
    let field = |key: &str| inner.as_ref().and_then(|inner| inner.get(key));
    let status =
        trouble.status.or_else(|| field("code").and_then(Value::as_u64)).or_else(|| status_in(words));
    let kinds = trouble.kinds.into_iter().flatten();
    let inner_kinds = ["type", "status", "code"].into_iter().filter_map(|key| field(key)?.as_str());
    let named: Vec<String> = kinds.chain(inner_kinds).map(str::to_ascii_lowercase).collect();
    let said = words.to_ascii_lowercase();
    let any = |phrases: &[&str]| {
        let holds = |text: &String| phrases.iter().any(|phrase| text.contains(phrase));
        named.iter().any(holds) || holds(&said)
    };
    match status {
        Some(401) => return Outcome::AuthRequired,
        Some(429) => return Outcome::RateLimited,
        Some(503 | 529) => return Outcome::Overloaded,
        _ => {}
    }
    if any(&LOGIN) {
        Outcome::AuthRequired
    } else if any(&LIMITS) {
        Outcome::RateLimited
    } else if any(&OVERLOAD) {
        Outcome::Overloaded
    } else {
        Outcome::Failed
    }
}

/// The provider's own error, where the agent hands it on as JSON inside its words.
fn embedded(words: &str) -> Option<Value> {
    let begin = words.find('{')?;
    // What follows the object does not matter.
    let mut values = serde_json::Deserializer::from_str(&words[begin..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    match value.get("error") {
        Some(error) if error.is_object() => Some(error.clone()),
        _ => Some(value),
    }
}

/// `API Error: 529 …`, `last status: 429 …`, `500: …`, `rejected (429)`
fn status_in(words: &str) -> Option<u64> {
    let mut before = None;
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).take(40) {
        let expected = before.is_none_or(|before: &str| {
            BEFORE_STATUS.iter().any(|expected| before.eq_ignore_ascii_case(expected))
        });
        if expected
            && word.len() == 3
            && let Ok(status @ 400..=599) = word.parse()
        {
            return Some(status);
        }
        before = Some(word);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Statement, Trouble};
    use crate::base::Outcome::{self, AuthRequired, Failed, Overloaded, RateLimited};

    fn class(words: &str) -> Outcome {
        Statement::error(&Trouble { words, ..Trouble::default() }).outcome()
    }

    /// RUN-0: an error is classed by the status, the kind or the words that the agent gives.
    #[test]
    fn errors_are_classed_by_what_the_agent_says() {
        for (words, outcome) in [
            ("Claude AI usage limit reached|1764000000", RateLimited),
            ("You've hit your limit · resets 7pm (Asia/Tokyo)", RateLimited),
            ("5-hour limit reached ∙ resets 3pm", RateLimited),
            ("exceeded retry limit, last status: 429 Too Many Requests", RateLimited),
            ("You've hit your usage limit. Upgrade, or try again in 1 day 2 hours.", RateLimited),
            ("429: {\"message\":\"slow down\"}", RateLimited),
            (
                "[API Error: {\"error\":{\"code\":429,\"message\":\"no\",\"status\":\"RESOURCE_EXHAUSTED\"}}]",
                RateLimited,
            ),
            (
                "[API Error: slow down]\nPlease wait and try again later. To increase your limits, request a quota increase",
                RateLimited,
            ),
            ("[API Error: Resource has been exhausted (e.g. check quota).]", RateLimited),
            ("[API Error: The service is currently unavailable.]", Overloaded),
            ("API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", Overloaded),
            ("{\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", Overloaded),
            ("unexpected status 503 Service Unavailable: busy", Overloaded),
            ("We’re currently experiencing high demand, which may cause temporary errors.", Overloaded),
            ("unexpected status 401 Unauthorized: invalid x-api-key, url: http://h/v1", AuthRequired),
            ("Not logged in · Please run /login", AuthRequired),
            ("Invalid API key · Fix external API key", AuthRequired),
            (
                "API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"OAuth token has expired\"}}",
                AuthRequired,
            ),
            ("Your access token could not be refreshed. Please log out and sign in again.", AuthRequired),
            ("API Error: 500 Internal server error", Failed),
            ("500: {\"message\":\"Internal server error\"}", Failed),
            ("API Error: 400 mock error 400", Failed),
            ("stream disconnected before completion", Failed),
            ("read 429 files and 503 lines", Failed),
            ("", Failed),
            ("{", Failed),
        ] {
            assert_eq!(class(words), outcome, "{words}");
        }
    }

    /// RUN-0: a status counts before words, whatever these are.
    #[test]
    fn a_stated_status_counts_before_words() {
        let trouble = Trouble { status: Some(429), words: "overloaded", ..Trouble::default() };
        assert_eq!(Statement::error(&trouble).outcome(), RateLimited);
        let trouble = Trouble { kinds: [None, Some("rate_limit_error")], words: "no", ..Trouble::default() };
        assert_eq!(Statement::error(&trouble).outcome(), RateLimited);
    }
}
