//! From written tables to typed ones: figment merges and says which key is
//! wrong, the document says where it stands.
//!
//! Invariant: extraction ends, and each wrong key of a table is reported once:
//! figment stops at its first error, so that key is taken out and extraction
//! is tried again.

use std::collections::BTreeSet;

use figment::error::{Actual, Kind};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};
use serde::de::DeserializeOwned;
use toml_edit::{Item, TableLike};

use super::codes::{BAD_VALUE, UNKNOWN_KEY, WRONG_TYPE};
use super::document::File;
use super::keys::{self, Key};
use crate::base::{Diagnostic, nearest, quoted};

/// One table as a figment provider.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    name: &'static str,
    dict: Dict,
}

impl Layer {
    /// A layer of that name.
    pub(super) const fn new(name: &'static str, dict: Dict) -> Self {
        Self { name, dict }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.dict.clone()))
    }
}

/// A TOML table as figment's value.
pub(super) fn dict_of(table: &dyn TableLike) -> Dict {
    table.iter().map(|(key, item)| (key.to_owned(), value_of_item(item))).collect()
}

fn value_of_item(item: &Item) -> Value {
    match item {
        Item::Value(value) => value_of(value),
        Item::Table(table) => dict_of(table).into(),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| Value::from(dict_of(table))).collect::<Vec<_>>().into()
        }
        Item::None => no_value(),
    }
}

pub(super) fn value_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(switch) => (*switch.value()).into(),
        toml_edit::Value::Datetime(_) => no_value(),
        toml_edit::Value::Array(list) => list.iter().map(value_of).collect::<Vec<_>>().into(),
        toml_edit::Value::InlineTable(table) => dict_of(table).into(),
    }
}

/// figment knows no dates, and no key takes one: a number that no key takes
/// either stands for it. What it really is, the message takes from the document.
fn no_value() -> Value {
    f64::NAN.into()
}

/// A typed table, and what was wrong with it.
#[derive(Debug)]
pub(super) struct Extracted<T> {
    /// The table without its wrong keys.
    pub(super) value: Option<T>,
    /// The layer that was extracted, without its wrong keys.
    pub(super) dict: Dict,
    /// The keys that were taken out because of their values.
    pub(super) broken: BTreeSet<String>,
    /// What was wrong.
    pub(super) found: Vec<Diagnostic>,
}

/// Extracts the table at `path` of `file`, merged over `base`.
pub(super) fn extract<T: DeserializeOwned>(
    base: &Figment,
    file: &File,
    path: &[&str],
    mut dict: Dict,
    keys: &'static [Key],
) -> Extracted<T> {
    let mut broken = BTreeSet::new();
    let mut found = Vec::new();
    let value = loop {
        let layer = Layer::new("table", dict.clone());
        let error = match base.clone().merge(layer).extract::<T>() {
            Ok(value) => break Some(value),
            Err(error) => error,
        };
        match &error.kind {
            Kind::UnknownField(_, known) => {
                let parent = error.path.split_last().map_or(&[][..], |(_, parent)| parent);
                let unknown = take_unknown(&mut dict, parent, known);
                for name in &unknown {
                    found.push(unknown_key(file, path, parent, name, known));
                }
                if unknown.is_empty() {
                    break None;
                }
            }
            _ => {
                if !take_out(&mut dict, &error.path) {
                    break None;
                }
                found.push(wrong_value(file, path, &error, keys));
                broken.extend(error.path.first().cloned());
            }
        }
    };
    Extracted { value, dict, broken, found }
}

/// Takes the key at a path out, or the innermost one before it that is there.
fn take_out(dict: &mut Dict, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let nested = match dict.get_mut(first) {
        Some(Value::Dict(_, inner)) => take_out(inner, rest),
        _ => false,
    };
    nested || dict.remove(first).is_some()
}

/// Takes all keys that are not `known` out of the table at `parent`.
fn take_unknown(dict: &mut Dict, parent: &[String], known: &[&str]) -> Vec<String> {
    let mut table = dict;
    for step in parent {
        match table.get_mut(step) {
            Some(Value::Dict(_, inner)) => table = inner,
            _ => return Vec::new(),
        }
    }
    let unknown: Vec<String> = table.keys().filter(|name| !known.contains(&name.as_str())).cloned().collect();
    table.retain(|name, _| known.contains(&name.as_str()));
    unknown
}

fn unknown_key(file: &File, path: &[&str], parent: &[String], name: &str, known: &[&str]) -> Diagnostic {
    let mut full: Vec<&str> = path.to_vec();
    full.extend(parent.iter().map(String::as_str));
    full.push(name);
    let shown = parent.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
    let message = format!("unknown key `{}`", quoted(&shown));
    let near = nearest(name, known.iter().copied());
    let help = match near.as_slice() {
        [] if known.len() <= 8 => format!("known keys here: {}", listed(known)),
        [] => "`harnessd schema` lists every key that this version knows".to_owned(),
        near => format!(
            "did you mean {}?",
            near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ")
        ),
    };
    Diagnostic::error(UNKNOWN_KEY, file.key(&full), message).help(help)
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn wrong_value(file: &File, path: &[&str], error: &Error, keys: &'static [Key]) -> Diagnostic {
    let mut full: Vec<&str> = path.to_vec();
    full.extend(error.path.iter().map(String::as_str));
    let place = file.value(&full);
    let name = error.path.join(".");
    let key = keys::find(keys, &error.path);
    let takes = key.map_or("another value", |key| key.takes);
    let example = key.map_or_else(String::new, |key| format!("for example `{}`", key.example));
    match &error.kind {
        Kind::Message(text) => {
            let (message, help) = text.split_once('\n').unwrap_or((text, &example));
            Diagnostic::error(BAD_VALUE, place, format!("`{name}`: {message}")).help(help)
        }
        Kind::InvalidValue(actual, _) => {
            let written = file.source(&full).map_or_else(|| number(actual), str::to_owned);
            let message = format!("`{name}` takes {takes}, not `{written}`");
            Diagnostic::error(BAD_VALUE, place, message).help(example)
        }
        _ => {
            let kind = file.node(&full).map_or("this", |node| node.kind());
            let message = format!("`{name}` takes {takes}, not {kind}");
            Diagnostic::error(WRONG_TYPE, place, message).help(example)
        }
    }
}

fn number(actual: &Actual) -> String {
    match actual {
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}
