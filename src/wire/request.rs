//! Reading a request line strictly.
//!
//! Invariant: no unknown op, unknown field or field of a wrong type passes,
//! and each refusal names the culprit. serde alone cannot promise that:
//! `flatten` switches `deny_unknown_fields` off for ops without fields.

use serde_json::{Map, Value};

use super::message::{ErrorBody, ErrorCode, Op, Request};
use crate::base::nearest;

/// The type of a field, in the words of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    Flag,
    Count,
    Session,
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Flag => value.is_boolean(),
            Self::Session => value == &Value::Bool(true) || value.as_str().is_some_and(|id| !id.is_empty()),
            Self::Count => value.as_u64().is_some_and(|count| u32::try_from(count).is_ok()),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Texts => "a list of strings",
            Self::Flag => "`true` or `false`",
            Self::Session => "`true` or the id of a session",
            Self::Count => "a whole number from 0 to 4294967295",
        }
    }
}

pub(super) struct Field {
    pub(super) name: &'static str,
    kind: Kind,
    needed: bool,
}

const fn needed(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, needed: true }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, needed: false }
}

const NAME: &[Field] = &[needed("name", Kind::Text)];
const SELECTION: &[Field] =
    &[optional("names", Kind::Texts), optional("all", Kind::Flag), optional("wait", Kind::Flag)];

const START: &[Field] = &[
    optional("names", Kind::Texts),
    optional("all", Kind::Flag),
    optional("wait", Kind::Flag),
    optional("resume", Kind::Session),
    optional("fork", Kind::Session),
];

const USE_PROFILE: &[Field] =
    &[needed("name", Kind::Text), optional("exclusive", Kind::Flag), optional("wait", Kind::Flag)];

/// Every op with its fields; a test compares it with what [`Op`] reads.
pub(super) const OPS: &[(&str, &[Field])] = &[
    ("hello", &[needed("protocol", Kind::Count), needed("version", Kind::Text)]),
    ("status", &[]),
    ("list", &[]),
    ("describe", NAME),
    ("start", START),
    ("stop", SELECTION),
    ("restart", SELECTION),
    ("use-profile", USE_PROFILE),
    ("agents", &[]),
    ("doctor", &[]),
    ("reload", &[]),
    ("reexec", &[]),
    ("up", &[needed("file", Kind::Text)]),
    ("down", &[optional("name", Kind::Text), optional("file", Kind::Text)]),
    ("ps", &[optional("file", Kind::Text)]),
    (
        "runs",
        &[
            optional("name", Kind::Text),
            optional("limit", Kind::Count),
            optional("failed", Kind::Flag),
            optional("since", Kind::Text),
        ],
    ),
    ("show", &[needed("run", Kind::Text)]),
    ("skills", NAME),
    ("skills-sync", &[needed("name", Kind::Text), optional("dry_run", Kind::Flag)]),
    ("plan", NAME),
    (
        "trajectories",
        &[
            optional("name", Kind::Text),
            optional("run", Kind::Text),
            optional("from", Kind::Text),
            optional("to", Kind::Text),
            optional("limit", Kind::Count),
        ],
    ),
    (
        "trajectory",
        &[needed("session", Kind::Text), optional("skip", Kind::Count), optional("limit", Kind::Count)],
    ),
    ("usage", &[optional("name", Kind::Text), optional("by", Kind::Text), optional("since", Kind::Text)]),
    ("subscribe", &[]),
];

/// Reads one request line.
///
/// # Errors
/// A `bad_request` that says what is wrong and what was probably meant, with
/// the id of the request where it could be read.
pub fn decode_request(line: &[u8]) -> Result<Request, (Option<u64>, ErrorBody)> {
    let mut object = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err((None, bad("a request must be a JSON object"))),
        Err(cause) => return Err((None, bad(format!("a request must be a JSON object: {cause}")))),
    };
    let id = match object.remove("id") {
        Some(id) => match id.as_u64() {
            Some(id) => id,
            None => return Err((None, bad("`id` must be a whole number from 0"))),
        },
        None => return Err((None, bad("the request has no `id`"))),
    };
    decode_op(object).map(|op| Request { id, op }).map_err(|error| (Some(id), error))
}

fn decode_op(object: Map<String, Value>) -> Result<Op, ErrorBody> {
    let word = match object.get("op") {
        Some(Value::String(word)) => word.clone(),
        Some(_) => return Err(bad("`op` must be a string")),
        None => return Err(bad("the request has no `op`")),
    };
    let Some((_, fields)) = OPS.iter().find(|(known, _)| *known == word) else {
        let help = advice(&word, "the ops are", OPS.iter().map(|(known, _)| *known));
        return Err(bad(format!("unknown op `{}`", word.escape_debug())).help(help));
    };
    for (key, value) in object.iter().filter(|(key, _)| *key != "op") {
        let Some(field) = fields.iter().find(|field| field.name == key) else {
            let help = match fields {
                [] => "it takes no fields".to_owned(),
                _ => advice(key, "its fields are", fields.iter().map(|field| field.name)),
            };
            return Err(bad(format!("op `{word}` has no field `{}`", key.escape_debug())).help(help));
        };
        if !field.kind.fits(value) {
            return Err(bad(format!("field `{key}` of op `{word}` must be {}", field.kind.words())));
        }
    }
    if let Some(missing) = fields.iter().find(|field| field.needed && !object.contains_key(field.name)) {
        return Err(bad(format!("op `{word}` needs the field `{}`", missing.name)));
    }
    serde_json::from_value(Value::Object(object)).map_err(|cause| bad(format!("op `{word}`: {cause}")))
}

fn bad(message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(ErrorCode::BadRequest, message)
}

/// The nearest known words, or all of them.
fn advice<'a>(text: &str, all: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(text, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{all} {}", known.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests;
