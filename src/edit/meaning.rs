//! What a document says, without how it is written: for comparing.
//!
//! Invariant: two documents have one meaning exactly if every reader of TOML finds the same in both.

use std::collections::BTreeMap;

use toml_edit::{Item, TableLike, Value};

use super::site::Parsed;

/// A value, list or table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A single value: its type and itself.
    One(&'static str, String),
    /// A list.
    List(Vec<Self>),
    /// A table.
    Table(BTreeMap<String, Self>),
}

impl Meaning {
    /// What a document says.
    pub(super) fn of(parsed: &Parsed<'_>) -> Self {
        Self::of_table(parsed.root())
    }

    /// A table without entries.
    pub(super) const fn table() -> Self {
        Self::Table(BTreeMap::new())
    }

    fn of_table(table: &dyn TableLike) -> Self {
        Self::Table(table.iter().map(|(key, item)| (key.to_owned(), Self::of_item(item))).collect())
    }

    fn of_item(item: &Item) -> Self {
        match item {
            Item::None => Self::table(),
            Item::Value(value) => Self::of_value(value),
            Item::Table(table) => Self::of_table(table),
            Item::ArrayOfTables(tables) => {
                Self::List(tables.iter().map(|table| Self::of_table(table)).collect())
            }
        }
    }

    /// What a value says.
    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::One("string", text.value().clone()),
            Value::Integer(number) => Self::One("integer", number.value().to_string()),
            // By its bits: what is no number is still itself.
            Value::Float(number) => Self::One("float", number.value().to_bits().to_string()),
            Value::Boolean(switch) => Self::One("boolean", switch.value().to_string()),
            Value::Datetime(at) => Self::One("time", at.value().to_string()),
            Value::Array(list) => Self::List(list.iter().map(Self::of_value).collect()),
            Value::InlineTable(table) => Self::of_table(table),
        }
    }

    /// What stands at a path.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |meaning, step| match meaning {
            Self::Table(entries) => entries.get(*step),
            _ => None,
        })
    }

    /// Puts something at a path; false if something on the way is no table.
    pub(super) fn set(&mut self, path: &[&str], meaning: Self) -> bool {
        let Self::Table(entries) = self else { return false };
        match path {
            [] => false,
            [last] => {
                entries.insert((*last).to_owned(), meaning);
                true
            }
            [first, rest @ ..] => {
                entries.entry((*first).to_owned()).or_insert_with(Self::table).set(rest, meaning)
            }
        }
    }

    /// Takes out what stands at a path; false if nothing does.
    pub(super) fn unset(&mut self, path: &[&str]) -> bool {
        let Self::Table(entries) = self else { return false };
        match path {
            [] => false,
            [last] => entries.remove(*last).is_some(),
            [first, rest @ ..] => entries.get_mut(*first).is_some_and(|inner| inner.unset(rest)),
        }
    }

    /// Without the tables on the way to a path that hold nothing: whether one is left of a table whose
    /// last entry went depends on how it is written.
    pub(super) fn pruned(mut self, path: &[&str]) -> Self {
        self.prune(path);
        self
    }

    fn prune(&mut self, path: &[&str]) {
        let (Self::Table(entries), [first, rest @ ..]) = (self, path) else { return };
        if let Some(inner) = entries.get_mut(*first) {
            inner.prune(rest);
            if !rest.is_empty() && *inner == Self::table() {
                entries.remove(*first);
            }
        }
    }
}
