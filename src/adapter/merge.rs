//! Laying one plain value over another.
//!
//! Invariant: what the upper value does not name, the lower one keeps.

use std::collections::BTreeMap;

use serde_json::Value;

/// Tables merge key by key, everything else is replaced.
pub(super) fn deep_merge(lower: &mut Value, upper: Value) {
    lay(lower, upper, false);
}

/// As [`deep_merge`], but a list is added to the list below it.
pub(super) fn join(lower: &mut Value, upper: Value) {
    lay(lower, upper, true);
}

/// The same for documents, each with that of its name.
pub(super) fn join_documents(lower: &mut BTreeMap<String, Value>, upper: &BTreeMap<String, Value>) {
    for (name, document) in upper {
        join(lower.entry(name.clone()).or_insert(Value::Null), document.clone());
    }
}

fn lay(lower: &mut Value, upper: Value, lists_add_up: bool) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (key, value) in upper {
                lay(lower.entry(key).or_insert(Value::Null), value, lists_add_up);
            }
        }
        (Value::Array(lower), Value::Array(upper)) if lists_add_up => lower.extend(upper),
        (lower, upper) => *lower = upper,
    }
}
