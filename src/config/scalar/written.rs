//! How the values of a configuration may be written, as JSON Schema (CFG-11).
//!
//! Invariant: what is refused here is refused by `FromText` and its like too. A pattern may let pass what they
//! refuse: it is for editors, the reader decides.

use std::borrow::Cow;

use chrono_tz::Tz;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Amount, Bound, Delay, Element, Memory, Parsed, Pause, Positive, Signal, Size, Weight, Words};
use crate::base::{Word, signal_names};

/// A value whose forms are known.
pub(super) trait Written {
    /// Its forms.
    fn schema() -> Schema;
}

/// A number with a unit, and more of them; zero needs none.
const DURATION: &str = r"^\s*(0|[0-9][0-9.\s]*[A-Za-zµ][0-9A-Za-zµ.\s]*)\s*$";
/// A number, perhaps with a unit.
const SIZE: &str = r"^\s*[0-9.]+\s*[A-Za-z]*\s*$";

impl Written for Pause {
    fn schema() -> Schema {
        json_schema!({"type": "string", "pattern": DURATION})
    }
}

impl Written for Bound {
    fn schema() -> Schema {
        Pause::schema()
    }
}

impl Written for Delay {
    fn schema() -> Schema {
        json_schema!({"anyOf": [Pause::schema(), {"type": "integer", "minimum": 0}]})
    }
}

impl Written for Size {
    fn schema() -> Schema {
        json_schema!({"anyOf": [{"type": "string", "pattern": SIZE}, {"type": "integer", "minimum": 1}]})
    }
}

impl Written for Memory {
    fn schema() -> Schema {
        json_schema!({"anyOf": [{"type": "string", "pattern": SIZE}, {"type": "integer", "minimum": Self::LEAST}]})
    }
}

impl Written for Signal {
    fn schema() -> Schema {
        let names: Vec<&str> = signal_names().collect();
        let long: Vec<String> = names.iter().map(|name| format!("SIG{name}")).collect();
        json_schema!({"anyOf": [{"enum": names}, {"enum": long}]})
    }
}

impl Written for Tz {
    fn schema() -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<T: Word> Written for T {
    fn schema() -> Schema {
        json_schema!({"enum": T::WORDS})
    }
}

/// Implements [`JsonSchema`] for a type whose schema stands where it is used.
macro_rules! inline_schema {
    ($({$($generic:tt)*})? $name:ty, $schema:expr) => {
        impl $($($generic)*)? JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline_schema!({<T: Written>} Parsed<T>, T::schema());
inline_schema!(Element, json_schema!({"type": "string"}));
inline_schema!(
    Words,
    json_schema!({"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ]})
);
inline_schema!(Positive, json_schema!({"type": "integer", "minimum": 1, "maximum": u32::MAX}));
inline_schema!(Weight, json_schema!({"type": "integer", "minimum": 1, "maximum": 10_000}));
inline_schema!(Amount, json_schema!({"type": "number", "minimum": 0}));
