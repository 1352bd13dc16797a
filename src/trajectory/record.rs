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
    natural(at(record, keys)?)
}

/// A whole number, which some programs write with a fraction of zero.
pub(super) fn natural(value: &Value) -> Option<u64> {
    /// Above this not every whole number is one of these.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number =
            value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and bounded")]
        Some(number as u64)
    })
}

/// The items of the list at a path of keys.
pub(super) fn items<'a>(record: &'a Value, keys: &[&str]) -> &'a [Value] {
    at(record, keys).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The words of a content: a text, a part with a text, or a list of either.
pub(super) fn words(content: Option<&Value>) -> String {
    let Some(content) = content else { return String::new() };
    let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let words = parts.iter().filter_map(|part| part.as_str().or_else(|| text(part, &["text"])));
    words.collect::<Vec<_>>().join("\n")
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::natural;
    use crate::trajectory::{Decoder, Event, Format, Needs, Tokens, What};

    /// USE-1: `12.0` is twelve, and what is no count is none.
    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        for (text, number) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("1.2e1", Some(12)),
            ("-0.0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("12.5", None),
            ("-12.0", None),
            ("1e300", None),
            ("\"12\"", None),
            ("null", None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap_or_else(|_| json!("no JSON"));
            assert_eq!(natural(&value), number, "{text}");
        }
    }

    /// USE-1: so it is where a line is first tried as one of the usual shape.
    #[test]
    fn counts_with_a_fraction_of_zero_are_counted() {
        let claude =
            r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":12.0,"output_tokens":3}}}"#;
        let codex =
            r#"{"type":"token_usage_record","payload":{"usage":{"input_tokens":12.0,"output_tokens":3.0}}}"#;
        for (format, line) in [(Format::ClaudeCode, claude), (Format::Codex, codex)] {
            for needs in [Needs::Usage, Needs::Everything] {
                let mut told = Vec::new();
                let mut emit = |event: Event| {
                    if let What::Usage(call) = event.what {
                        told.extend(call.tokens);
                    }
                };
                Decoder::new(format, "x.jsonl").line(line.as_bytes(), 0, needs, &mut emit);
                assert_eq!(told, [Tokens { input: 12, cached: 0, output: 3 }], "{format} {needs:?}");
            }
        }
    }
}
