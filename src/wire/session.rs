//! Which session of a harness is meant, as a client says it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A session that a harness is to go on with, or to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Value", try_from = "Value")]
pub enum Which {
    /// (`true`) Its own last one.
    Last,
    /// One of its own: its id in `trajectories`, a beginning of that, or the agent's own id.
    Session(String),
}

impl JsonSchema for Which {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Which".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"const": true}, {"type": "string", "minLength": 1}]})
    }
}

impl From<Which> for Value {
    fn from(which: Which) -> Self {
        match which {
            Which::Last => Self::Bool(true),
            Which::Session(id) => Self::String(id),
        }
    }
}

impl TryFrom<Value> for Which {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Bool(true) => Ok(Self::Last),
            Value::String(id) if !id.is_empty() => Ok(Self::Session(id)),
            _ => Err("a session is `true` or a string that is not empty"),
        }
    }
}
