//! The frontmatter of a skill as far as its rules look at it, with the place of each key.
//!
//! Invariant: every span lies inside of the YAML, on character boundaries.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::skills::frontmatter::{first_line, parse};

/// A table of YAML.
pub(super) struct Document {
    pub(super) entries: Vec<Entry>,
}

/// A key with its value.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: Range<usize>,
    pub(super) value: Node,
    pub(super) value_at: Range<usize>,
}

/// A value.
pub(super) enum Node {
    Empty,
    Text(String),
    List,
    /// `nested`: some of its values are no texts.
    Table {
        nested: bool,
    },
}

impl Node {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "nothing",
            Self::Text(_) => "a text",
            Self::List => "a list",
            Self::Table { .. } => "a table",
        }
    }
}

/// Why there is no document.
pub(super) struct Wrong {
    pub(super) cause: String,
    pub(super) at: Range<usize>,
}

impl Document {
    pub(super) fn read(yaml: &str) -> Result<Self, Wrong> {
        let wrong = |cause: String, at| Wrong { cause, at };
        let read: Option<Table> = parse(yaml).map_err(|error| {
            let at = error.location().map_or(0..0, |location| span(yaml, location));
            // Its own count of lines is not the file's.
            let said = first_line(&error);
            wrong(said.split(" at line ").next().unwrap_or(&said).to_owned(), at)
        })?;
        let entry = |(key, value): (Spanned<String>, Spanned<Raw>)| {
            let (key_at, value_at) = (span(yaml, key.referenced), span(yaml, value.referenced));
            let value = match value.value {
                Raw::Empty => Node::Empty,
                Raw::Text(text) => Node::Text(text),
                // As it is written, whatever YAML takes it for.
                Raw::Scalar => Node::Text(yaml.get(value_at.clone()).unwrap_or_default().trim().to_owned()),
                Raw::List => Node::List,
                Raw::Table { nested } => Node::Table { nested },
            };
            Entry { key: key.value, key_at, value, value_at }
        };
        Ok(Self { entries: read.map_or_else(Vec::new, |table| table.0).into_iter().map(entry).collect() })
    }
}

/// Where something stands; the first line of what goes over several.
fn span(yaml: &str, location: Location) -> Range<usize> {
    let found = location.span();
    let number = |found: u64| usize::try_from(found).unwrap_or(usize::MAX);
    let start = found.byte_offset().map_or_else(
        || offset(yaml, number(location.line()), number(location.column())),
        |at| boundary(yaml, number(at)),
    );
    let end = boundary(yaml, start.saturating_add(found.byte_len().map_or(0, number)));
    let line = yaml.get(start..end.max(start)).and_then(|text| text.lines().next()).map_or(0, str::len);
    start..start + line
}

/// The last boundary of characters up to a byte.
fn boundary(yaml: &str, at: usize) -> usize {
    (0..=at.min(yaml.len())).rev().find(|at| yaml.is_char_boundary(*at)).unwrap_or(0)
}

/// The byte of a line and a column, both from 1; the column in characters.
fn offset(yaml: &str, line: usize, column: usize) -> usize {
    let mut before = 0;
    for (number, text) in yaml.split_inclusive('\n').enumerate() {
        if number + 1 == line {
            let inside = text.char_indices().nth(column.saturating_sub(1));
            return before + inside.map_or(text.trim_end_matches(['\n', '\r']).len(), |(at, _)| at);
        }
        before += text.len();
    }
    yaml.len()
}

/// The keys of a table in their order, each with its value.
struct Table(Vec<(Spanned<String>, Spanned<Raw>)>);

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Table;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of `KEY: VALUE` lines")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Table(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A value as YAML takes it.
enum Raw {
    Empty,
    Text(String),
    /// A number or a truth.
    Scalar,
    List,
    Table {
        nested: bool,
    },
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: Error>(self) -> Result<Raw, E> {
                Ok(Raw::Empty)
            }

            fn visit_none<E: Error>(self) -> Result<Raw, E> {
                Ok(Raw::Empty)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
                deserializer.deserialize_any(self)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Text(text.to_owned()))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_i128<E: Error>(self, _: i128) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_u128<E: Error>(self, _: u128) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Raw, E> {
                Ok(Raw::Scalar)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Raw::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let mut nested = false;
                while let Some((IgnoredAny, value)) = map.next_entry::<IgnoredAny, Raw>()? {
                    nested |= matches!(value, Raw::List | Raw::Table { .. });
                }
                Ok(Raw::Table { nested })
            }
        }
        deserializer.deserialize_any(Any)
    }
}
