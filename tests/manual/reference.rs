//! The keys of a configuration as rows, from the schemas and the lists of keys.

use harnessd::config::{FileKind, TableKind, known_keys, schema};
use serde_json::Value;

/// One key of a table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) takes: String,
    pub(crate) default: String,
    pub(crate) meaning: String,
}

/// A table by the name of its definition, and the file that may hold it.
pub(crate) const TABLES: [(&str, TableKind, FileKind); 5] = [
    ("Harness", TableKind::Harness, FileKind::Global),
    ("Daemon", TableKind::Daemon, FileKind::Global),
    ("Notify", TableKind::Notify, FileKind::Global),
    ("Profile", TableKind::Profile, FileKind::Global),
    ("Project", TableKind::Project, FileKind::Project),
];

/// The keys of a table, in their order, without those that this version refuses.
pub(crate) fn rows(table: &str) -> Vec<Row> {
    let (_, kind, file) = TABLES.iter().find(|(name, ..)| *name == table).unwrap();
    let schema = schema(*file);
    let table = &schema["definitions"][table];
    let keys = known_keys(*kind).iter().filter(|key| !key.later);
    keys.map(|key| row(key.name, key.takes, table)).collect()
}

/// The tables of an adapter: the name of the definition, and its keys.
pub(crate) fn adapter() -> Vec<(String, Vec<Row>)> {
    let schema = schema(FileKind::Global);
    let mut names = vec!["Adapter".to_owned()];
    let mut tables = Vec::new();
    while let Some(name) = names.get(tables.len()).cloned() {
        let table = &schema["definitions"][&name];
        let properties = table["properties"].as_object().unwrap();
        let rows = properties.iter().map(|(key, property)| {
            let takes = takes(&schema, property);
            if let Some(inner) =
                takes.split('*').nth(1).filter(|inner| !names.iter().any(|name| name == inner))
            {
                names.push(inner.to_owned());
            }
            row(key, &takes, table)
        });
        let rows = rows.collect();
        tables.push((name, rows));
    }
    tables
}

fn row(key: &str, takes: &str, table: &Value) -> Row {
    let property = &table["properties"][key];
    let text = property["description"].as_str().unwrap_or_else(|| panic!("`{key}` is not described"));
    let (meaning, words) = match text.split_once("\n\nDefault: ") {
        Some((meaning, words)) => (meaning, Some(words.trim_end_matches('.'))),
        None => (text, None),
    };
    let required = table["required"].as_array().is_some_and(|keys| keys.iter().any(|known| known == key));
    let default = match (words, property.get("default")) {
        (Some(words), _) => words.to_owned(),
        (None, Some(Value::Object(_))) => "`{}`".to_owned(),
        (None, Some(default)) => format!("`{default}`"),
        (None, None) if required => "required".to_owned(),
        (None, None) => "none".to_owned(),
    };
    assert!(!meaning.contains(['|', '\n']), "`{key}`: {meaning}");
    Row { key: key.to_owned(), takes: takes.to_owned(), default, meaning: meaning.to_owned() }
}

/// What a key of an adapter takes; the name of a table stands between asterisks.
fn takes(schema: &Value, property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str().or(property["allOf"][0]["$ref"].as_str()) {
        let name = reference.rsplit('/').next().unwrap();
        let target = &schema["definitions"][name];
        if let Some(words) = target["oneOf"].as_array() {
            let words: Vec<String> =
                words.iter().map(|word| format!("`{}`", word["const"].as_str().unwrap())).collect();
            return words.join(", ");
        }
        return format!("*{name}*");
    }
    match property["type"].as_str() {
        Some("string") => "a string".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("array") if property["items"]["type"] == "string" => "a list of strings".to_owned(),
        Some("array") => format!("a list of {}", takes(schema, &property["items"])),
        Some("object") if property["additionalProperties"]["type"] == "string" => {
            "a table of strings".to_owned()
        }
        Some("object") => "a table of documents".to_owned(),
        _ => panic!("{property}"),
    }
}
