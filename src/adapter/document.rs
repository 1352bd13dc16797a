//! TOML text to plain values.
//!
//! Invariant: what TOML can say and JSON cannot (dates, numbers that are no
//! numbers) is refused, never bent.

use serde_json::{Map, Value};
use thiserror::Error;

/// Why a text gives no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum DocumentError {
    /// It is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// A value that an adapter cannot hold.
    #[error("`{0}` holds a date or a number that is not finite")]
    Foreign(String),
}

/// The value of a whole document.
pub(super) fn read(text: &str) -> Result<Value, DocumentError> {
    let document = toml_edit::Document::parse(text)
        .map_err(|error| DocumentError::Syntax(error.message().to_owned()))?;
    table(document.as_table())
}

fn table(table: &dyn toml_edit::TableLike) -> Result<Value, DocumentError> {
    table
        .iter()
        .map(|(key, item)| Ok((key.to_owned(), item_value(key, item)?)))
        .collect::<Result<Map<_, _>, _>>()
        .map(Value::Object)
}

fn item_value(key: &str, item: &toml_edit::Item) -> Result<Value, DocumentError> {
    match item {
        toml_edit::Item::None => Ok(Value::Null),
        toml_edit::Item::Value(inner) => value(key, inner),
        toml_edit::Item::Table(inner) => table(inner),
        toml_edit::Item::ArrayOfTables(tables) => {
            tables.iter().map(|inner| table(inner)).collect::<Result<_, _>>().map(Value::Array)
        }
    }
}

fn value(key: &str, value_: &toml_edit::Value) -> Result<Value, DocumentError> {
    let foreign = || DocumentError::Foreign(key.to_owned());
    Ok(match value_ {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            Value::Number(serde_json::Number::from_f64(*number.value()).ok_or_else(foreign)?)
        }
        toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
        toml_edit::Value::Datetime(_) => return Err(foreign()),
        toml_edit::Value::Array(list) => {
            list.iter().map(|inner| value(key, inner)).collect::<Result<_, _>>().map(Value::Array)?
        }
        toml_edit::Value::InlineTable(inner) => table(inner)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DocumentError, read};

    #[test]
    fn a_document_becomes_the_same_value() {
        let text = "a = 1\nb = [true, 'x']\n[t.u]\nv = 1.5\n[[l]]\ni = {}\n";
        assert_eq!(
            read(text),
            Ok(json!({"a": 1, "b": [true, "x"], "t": {"u": {"v": 1.5}}, "l": [{"i": {}}]}))
        );
        assert_eq!(read("d = 1979-05-27"), Err(DocumentError::Foreign("d".to_owned())));
        assert_eq!(read("d = [nan]"), Err(DocumentError::Foreign("d".to_owned())));
        assert!(matches!(read("d = "), Err(DocumentError::Syntax(_))));
    }
}
