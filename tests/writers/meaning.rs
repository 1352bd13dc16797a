//! What a file says, told by another reader than the one that writers use: figures and words only.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Value};

/// Every value of a file by its path; what holds nothing is not there.
pub(crate) type Meaning = BTreeMap<Vec<String>, String>;

/// What a text says, if it is TOML.
pub(crate) fn meaning(text: &str) -> Option<Meaning> {
    let document: DocumentMut = text.parse().ok()?;
    let mut found = Meaning::new();
    walk(document.as_item(), &mut Vec::new(), &mut found);
    Some(found)
}

/// One value as a path leads to it.
pub(crate) fn said(value: &str) -> Meaning {
    meaning(&format!("x = {value}\n")).unwrap()
}

fn walk(item: &Item, path: &mut Vec<String>, found: &mut Meaning) {
    if let Some(table) = item.as_table_like() {
        for (key, inner) in table.iter() {
            path.push(key.to_owned());
            walk(inner, path, found);
            path.pop();
        }
        return;
    }
    if let Some(tables) = item.as_array_of_tables() {
        for (at, table) in tables.iter().enumerate() {
            path.push(format!("#{at}"));
            found.insert(path.clone(), "table".to_owned());
            walk(&Item::Table(table.clone()), path, found);
            path.pop();
        }
    } else if let Some(list) = item.as_array() {
        found.insert(path.clone(), format!("list of {}", list.len()));
        for (at, value) in list.iter().enumerate() {
            path.push(format!("#{at}"));
            walk(&Item::Value(value.clone()), path, found);
            path.pop();
        }
    } else if let Some(value) = item.as_value() {
        let word = match value {
            Value::String(text) => format!("{:?}", text.value()),
            Value::Float(number) => format!("{:x}", number.value().to_bits()),
            Value::Integer(number) => number.value().to_string(),
            Value::Boolean(switch) => switch.value().to_string(),
            other => other.to_string().trim().to_owned(),
        };
        found.insert(path.clone(), format!("{} {word}", value.type_name()));
    }
}
