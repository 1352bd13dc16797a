//! Whether a value fits a JSON Schema: the words that ours use, and no others.
//!
//! Invariant: a word that is not understood here is a panic, never a value that passes.

use regex_lite::Regex;
use serde_json::{Map, Value};

/// What of a value does not fit a schema, each with its place: the one in `root` at a pointer, which is empty
/// for `root` itself.
pub(crate) fn misfits(root: &Value, pointer: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let schema = root.pointer(pointer).unwrap_or_else(|| panic!("there is no `{pointer}`"));
    Checker { root }.check(schema, value, "", &mut found);
    found
}

struct Checker<'a> {
    root: &'a Value,
}

/// Words that tell people something and ask nothing of the value.
const TOLD: &[&str] =
    &["$schema", "title", "description", "default", "examples", "$defs", "definitions", "format"];

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let words = match schema {
            Value::Bool(true) => return,
            Value::Object(words) => words,
            _ => return found.push(format!("{at}: nothing may stand here")),
        };
        for (word, asked) in words {
            let fits = match word.as_str() {
                "$ref" => {
                    let pointer = asked.as_str().unwrap().strip_prefix('#').unwrap();
                    let target = self.root.pointer(pointer);
                    self.check(target.unwrap_or_else(|| panic!("no `{pointer}`")), value, at, found);
                    true
                }
                "type" => is_a(asked.as_str().unwrap_or_else(|| panic!("{asked}")), value),
                "const" => value == asked,
                "enum" => asked.as_array().unwrap().contains(value),
                "pattern" => {
                    let pattern = Regex::new(asked.as_str().unwrap()).unwrap();
                    value.as_str().is_none_or(|text| pattern.is_match(text))
                }
                "minLength" => {
                    value.as_str().is_none_or(|text| text.chars().count() as u64 >= asked.as_u64().unwrap())
                }
                "minimum" => value.as_f64().is_none_or(|number| number >= asked.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= asked.as_f64().unwrap()),
                "minItems" => {
                    value.as_array().is_none_or(|list| list.len() as u64 >= asked.as_u64().unwrap())
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(asked, item, &format!("{at}[{number}]"), found);
                    }
                    true
                }
                "required" => {
                    let lacks =
                        |key: &&Value| value.is_object() && value.get(key.as_str().unwrap()).is_none();
                    !asked.as_array().unwrap().iter().any(|key| lacks(&key))
                }
                "properties" | "patternProperties" => true,
                "additionalProperties" => {
                    self.properties(words, value, at, found);
                    true
                }
                "anyOf" => self.fitting(asked, value) > 0,
                "oneOf" => self.fitting(asked, value) == 1,
                "allOf" => {
                    asked.as_array().unwrap().iter().for_each(|one| self.check(one, value, at, found));
                    true
                }
                told if TOLD.contains(&told) => true,
                other => panic!("`{other}` is not understood"),
            };
            if !fits {
                found.push(format!("{at}: {value} is against {word} {asked}"));
            }
        }
        let names_keys = words.contains_key("properties") || words.contains_key("patternProperties");
        if names_keys && !words.contains_key("additionalProperties") {
            self.properties(words, value, at, found);
        }
    }

    fn fitting(&self, schemas: &Value, value: &Value) -> usize {
        let fits = |schema: &&Value| {
            let mut found = Vec::new();
            self.check(schema, value, "", &mut found);
            found.is_empty()
        };
        schemas.as_array().unwrap().iter().filter(fits).count()
    }

    fn properties(&self, words: &Map<String, Value>, value: &Value, at: &str, found: &mut Vec<String>) {
        for (key, item) in value.as_object().into_iter().flatten() {
            let at = format!("{at}.{key}");
            let named = words.get("properties").and_then(|properties| properties.get(key));
            let patterned = words.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
            let patterned = patterned.filter(|(pattern, _)| Regex::new(pattern).unwrap().is_match(key));
            let mut schemas: Vec<&Value> =
                named.into_iter().chain(patterned.map(|(_, schema)| schema)).collect();
            if schemas.is_empty() {
                schemas.extend(words.get("additionalProperties"));
            }
            for schema in schemas {
                self.check(schema, item, &at, found);
            }
        }
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("`{other}` is no type"),
    }
}

/// CFG-11: the checker can refuse.
#[test]
fn what_does_not_fit_is_found() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": true}]}},
        "patternProperties": {"^x": {"type": "string", "pattern": "^[0-9]+$"}},
        "additionalProperties": false,
        "required": ["a"],
        "$defs": {"a": {"type": "array", "items": {"enum": ["one"]}, "minItems": 1}},
    });
    let count = |value: Value| misfits(&schema, "", &value).len();
    assert_eq!(count(serde_json::json!({"a": ["one"], "b": 1, "x1": "7"})), 0);
    let wrong = [
        serde_json::json!({}),
        serde_json::json!([]),
        serde_json::json!({"a": []}),
        serde_json::json!({"a": ["two"]}),
        serde_json::json!({"a": ["one"], "b": 0}),
        serde_json::json!({"a": ["one"], "b": false}),
        serde_json::json!({"a": ["one"], "x": "seven"}),
        serde_json::json!({"a": ["one"], "c": 1}),
    ];
    for value in wrong {
        assert_eq!(count(value.clone()), 1, "{value}");
    }
}
