//! Looking into a record: a JSON value whose shape nobody promises.

use serde_json::Value;

use crate::base::Wall;

/// The value at a path of keys.
pub(super) fn at<'a>(record: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(record, |value, key| value.get(*key))
}

/// The text at a path of keys.
pub(super) fn text<'a>(record: &'a Value, keys: &[&str]) -> Option<&'a str> {
    at(record, keys)?.as_str()
}

/// Longer texts are no names and no ids.
const LONGEST_NAME: usize = 256;

/// A text that may be remembered: a name or an id, and not a text of the transcript.
pub(super) fn short(text: &str) -> Option<&str> {
    (text.len() <= LONGEST_NAME).then_some(text)
}

/// The whole number at a path of keys; a negative one is none.
pub(super) fn number(record: &Value, keys: &[&str]) -> Option<u64> {
    at(record, keys)?.as_u64()
}

/// The items of the list at a path of keys.
pub(super) fn items<'a>(record: &'a Value, keys: &[&str]) -> &'a [Value] {
    at(record, keys).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// An instant as RFC 3339 text.
pub(super) fn instant(value: Option<&Value>) -> Option<Wall> {
    Wall::parse_rfc3339(value?.as_str()?).ok()
}

/// An instant as a number of milliseconds since 1970.
pub(super) fn milliseconds(value: Option<&Value>) -> Option<Wall> {
    value?.as_i64()?.checked_mul(1000).map(Wall)
}

/// An instant as a number of seconds since 1970, whole or with a fraction.
pub(super) fn seconds(value: Option<&Value>) -> Option<Wall> {
    let value = value?;
    match value.as_i64() {
        Some(whole) => whole.checked_mul(1_000_000).map(Wall),
        None => {
            let micros = value.as_f64()? * 1e6;
            #[expect(clippy::cast_possible_truncation, reason = "bounded just before")]
            (micros.abs() < 9e18).then_some(Wall(micros as i64))
        }
    }
}

/// A line as a JSON object. A stray byte that is no UTF-8 must not lose the record that holds it.
pub(super) fn object(line: &[u8]) -> Option<Value> {
    let record: Value = match serde_json::from_slice(line) {
        Ok(record) => record,
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)).ok()?,
    };
    record.is_object().then_some(record)
}
