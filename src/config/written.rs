//! How a value that a person gives is written into a file.
//!
//! Invariant: what a key takes is told by the structures of `raw` themselves, which are asked to
//! read the value.

use figment::Figment;
use figment::error::Kind;
use figment::value::{Dict, Value};

use super::layers::{Layer, value_of};
use super::raw::RawHarness;
use crate::edit;

/// A value for the key at `path` of a harness's table, as TOML: `text` itself where it is TOML of a
/// type other than text that the key takes (a switch, a number, a list, a table), else a string.
/// Whether it is a value that the key likes is for the rules.
#[must_use]
pub fn written(path: &[&str], text: &str) -> String {
    let given = edit::value(text).filter(|value| !value.is_str());
    match given {
        Some(value) if takes(path, value_of(&value)) => text.to_owned(),
        _ => edit::string(text),
    }
}

/// Whether the key takes values of this one's type.
fn takes(path: &[&str], value: Value) -> bool {
    let [first, rest @ ..] = path else { return false };
    // Variables are texts, though any type is read, to be refused with its place.
    if *first == "env" && !rest.is_empty() {
        return false;
    }
    let nested = rest.iter().rfold(value, |inner, key| Dict::from([((*key).to_owned(), inner)]).into());
    let layer = Layer::new("given", Dict::from([((*first).to_owned(), nested)]));
    match Figment::from(layer).extract::<RawHarness>() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind, Kind::InvalidType(..)),
    }
}

#[cfg(test)]
mod tests {
    use super::written;

    /// WRT-1: what is TOML of a type that the key takes is taken as that; all else is the text itself.
    #[test]
    fn a_value_is_toml_where_the_key_takes_it_and_else_text() {
        let cases = [
            ("model", "sonnet", "\"sonnet\""),
            ("model", "5", "\"5\""),
            ("model", "true", "\"true\""),
            ("prompt", "[\"x\"]", "'[\"x\"]'"),
            ("prompt", "\"quoted\"", "'\"quoted\"'"),
            ("auto_accept", "true", "true"),
            ("auto_accept", "yes", "\"yes\""),
            ("max_turns", "40", "40"),
            ("max_turns", "-1", "-1"),
            ("restart_delay", "5", "5"),
            ("restart_delay", "5s", "\"5s\""),
            ("timeout", "5", "\"5\""),
            ("memory_max", "2097152", "2097152"),
            ("args", "[\"-c\", 'x']", "[\"-c\", 'x']"),
            ("args", "-c", "\"-c\""),
            ("check", "[\"cargo\", \"test\"]", "[\"cargo\", \"test\"]"),
            ("check", "make", "\"make\""),
            ("env", "{ A = \"1\" }", "{ A = \"1\" }"),
            ("description", "2026-01-01", "\"2026-01-01\""),
            ("description", "", "\"\""),
            ("schedule", "30 6 * * 1-5", "\"30 6 * * 1-5\""),
            ("workdir", "~/src/app", "\"~/src/app\""),
            ("promt", "5", "5"),
        ];
        for (key, text, expected) in cases {
            assert_eq!(written(&[key], text), expected, "{key} {text}");
        }
        assert_eq!(written(&["env", "A"], "1"), "\"1\"");
        assert_eq!(written(&["budget", "max_tokens"], "5"), "5");
        assert_eq!(written(&["budget", "max_cost_usd"], "2.5"), "2.5");
    }
}
