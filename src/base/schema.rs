//! What all JSON Schemas of this program have in common.
//!
//! Invariant: a schema tells nothing but JSON Schema's own words, and never `null`: what is absent is left out.

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

/// A generator of schemas as editors and clients are to read them.
#[must_use]
pub fn schema_generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.transforms.insert(0, Box::new(RecursiveTransform(tidy)));
    settings.into_generator()
}

/// Takes out what comes from Rust: `null` for an absent option, formats of numbers, the ends of lines in comments.
fn tidy(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    without_null(object);
    match object.get("format").and_then(Value::as_str) {
        Some("uint32") => {
            object.remove("format");
            object.entry("maximum").or_insert_with(|| u32::MAX.into());
        }
        Some("int32" | "uint64" | "uint" | "double") => {
            object.remove("format");
        }
        _ => {}
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|lines| lines.replace('\n', " "));
        // Links are for the documentation of the code.
        *text = paragraphs.collect::<Vec<_>>().join("\n\n").replace("[`", "`").replace("`]", "`");
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [one] = kinds.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let Some(Value::Array(kinds)) = object.get_mut("anyOf") else { return };
    kinds.retain(|kind| kind["type"] != "null");
    if let [Value::Object(one)] = kinds.as_slice() {
        let one = one.clone();
        object.remove("anyOf");
        for (key, value) in one {
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::json;

    use super::schema_generator;

    /// A word.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its form counts")]
    enum Word {
        One,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its form counts")]
    struct Sample {
        /// A comment
        /// of [`Sample`].
        ///
        /// And a paragraph.
        number: Option<u32>,
        list: Option<Vec<String>>,
        word: Option<Word>,
    }

    /// CFG-11: what is absent is left out, so `null` is no value, and a comment's lines are one text.
    #[test]
    fn a_schema_knows_no_null() {
        let schema = schema_generator(SchemaSettings::draft07()).into_root_schema_for::<Sample>();
        let expected = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Sample",
            "type": "object",
            "properties": {
                "number": {
                    "description": "A comment of `Sample`.\n\nAnd a paragraph.",
                    "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32,
                },
                "list": {"type": "array", "items": {"type": "string"}},
                "word": {"$ref": "#/definitions/Word"},
            },
            "definitions": {"Word": {"description": "A word.", "type": "string", "enum": ["One"]}},
        });
        assert_eq!(schema.to_value(), expected);
    }
}
