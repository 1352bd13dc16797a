//! Laying one plain value over another.
//!
//! Invariant: what the upper value does not name, the lower one keeps.

use serde_json::Value;

/// Tables merge key by key, everything else is replaced.
pub(super) fn deep_merge(lower: &mut Value, upper: Value) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (key, value) in upper {
                match lower.get_mut(&key) {
                    Some(below) => deep_merge(below, value),
                    None => {
                        lower.insert(key, value);
                    }
                }
            }
        }
        (lower, upper) => *lower = upper,
    }
}

/// As [`deep_merge`], but a list is added to the list below it.
pub(super) fn join(lower: &mut Value, upper: Value) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (key, value) in upper {
                match lower.get_mut(&key) {
                    Some(below) => join(below, value),
                    None => {
                        lower.insert(key, value);
                    }
                }
            }
        }
        (Value::Array(lower), Value::Array(upper)) => lower.extend(upper),
        (lower, upper) => *lower = upper,
    }
}
