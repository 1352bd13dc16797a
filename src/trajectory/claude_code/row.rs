//! The facts and numbers of a row, without its texts.
//!
//! Invariant: what `fast` makes of a line is what `loose` makes of the same line.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::trajectory::model::Tokens;
use crate::trajectory::record;

/// A text that is borrowed from the line where nothing in it is escaped.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Row<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Word<'a>>,
    session_id: Option<Word<'a>>,
    request_session_id: Option<Word<'a>>,
    request_id: Option<Word<'a>>,
    uuid: Option<Word<'a>>,
    timestamp: Option<Word<'a>>,
    cwd: Option<Word<'a>>,
    effort: Option<Word<'a>>,
    is_sidechain: Option<bool>,
    is_api_error_message: Option<bool>,
    message: Option<Message<'a>>,
    #[serde(rename = "totalCostUSD")]
    total_cost: Option<f64>,
    model_usage: Option<BTreeMap<Word<'a>, IgnoredAny>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Word<'a>>,
    model: Option<Word<'a>>,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

macro_rules! words {
    ($($name:ident,)+) => {
        $(pub(super) fn $name(&self) -> Option<&str> {
            self.$name.as_ref().map(|word| &*word.0)
        })+
    };
}

impl<'a> Row<'a> {
    /// The usual shapes.
    pub(super) fn fast(line: &'a [u8]) -> Option<Self> {
        let object = line.trim_ascii_start().starts_with(b"{");
        object.then(|| serde_json::from_slice(line).ok()).flatten()
    }

    /// Any shape: what is of another type is absent.
    pub(super) fn loose(value: &'a Value) -> Self {
        let word = |keys: &[&str]| record::text(value, keys).map(|text| Word(Cow::Borrowed(text)));
        let flag = |key| value.get(key).and_then(Value::as_bool);
        let usage = |key| record::number(value, &["message", "usage", key]);
        let has = |keys: &[&str]| record::at(value, keys).is_some_and(Value::is_object);
        Self {
            kind: word(&["type"]),
            session_id: word(&["sessionId"]),
            request_session_id: word(&["requestSessionId"]),
            request_id: word(&["requestId"]),
            uuid: word(&["uuid"]),
            timestamp: word(&["timestamp"]),
            cwd: word(&["cwd"]),
            effort: word(&["effort"]),
            is_sidechain: flag("isSidechain"),
            is_api_error_message: flag("isApiErrorMessage"),
            message: has(&["message"]).then(|| Message {
                id: word(&["message", "id"]),
                model: word(&["message", "model"]),
                usage: has(&["message", "usage"]).then(|| Usage {
                    input_tokens: usage("input_tokens"),
                    cache_creation_input_tokens: usage("cache_creation_input_tokens"),
                    cache_read_input_tokens: usage("cache_read_input_tokens"),
                    output_tokens: usage("output_tokens"),
                }),
            }),
            total_cost: value.get("totalCostUSD").and_then(Value::as_f64),
            model_usage: value
                .get("modelUsage")
                .and_then(Value::as_object)
                .map(|models| models.keys().map(|model| (Word(Cow::Borrowed(model)), IgnoredAny)).collect()),
        }
    }

    words! { session_id, request_session_id, request_id, uuid, timestamp, cwd, effort, }

    pub(super) fn kind(&self) -> &str {
        self.kind.as_ref().map_or("", |word| &*word.0)
    }

    pub(super) fn message_id(&self) -> Option<&str> {
        self.message.as_ref()?.id.as_ref().map(|word| &*word.0)
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.message.as_ref()?.model.as_ref().map(|word| &*word.0)
    }

    pub(super) fn sidechain(&self) -> bool {
        self.is_sidechain == Some(true)
    }

    pub(super) fn api_error(&self) -> bool {
        self.is_api_error_message == Some(true)
    }

    /// The program wrote the row in the model's place.
    pub(super) fn synthetic(&self) -> bool {
        self.api_error() || self.model() == Some("<synthetic>")
    }

    pub(super) fn usage(&self) -> Option<Tokens> {
        let usage = self.message.as_ref()?.usage?;
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let written = usage.cache_creation_input_tokens.unwrap_or(0);
        let input = usage.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written);
        Some(Tokens { input, cached, output: usage.output_tokens.unwrap_or(0) })
    }

    pub(super) const fn total_cost(&self) -> Option<f64> {
        self.total_cost
    }

    /// The model of a `cost-state` that names only one.
    pub(super) fn sole_model(&self) -> Option<String> {
        let mut models = self.model_usage.as_ref()?.keys();
        let model = models.next()?;
        models.next().is_none().then(|| model.0.clone().into_owned())
    }
}
