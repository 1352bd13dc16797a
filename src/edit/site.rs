//! Where things stand in a document.
//!
//! A *body* is what entries are written in: the lines below a header (or before the first one), or
//! the braces of an inline table. A dotted table has none of its own: its entries stand in the body
//! around it. A table that exists only because a header below it names it has none at all.

use std::ops::Range;

use toml_edit::{Document, Item, Table, TableLike, Value};

use super::EditError;
use super::word::dotted;

/// A text and its document.
#[derive(Debug)]
pub(super) struct Parsed<'t> {
    /// The text.
    pub(super) text: &'t str,
    document: Document<&'t str>,
}

/// What entries are written in.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    table: &'a dyn TableLike,
    /// How many steps of the path lead to it.
    pub(super) depth: usize,
    /// Braces or lines.
    pub(super) form: Form,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines, the first of which begins here.
    Lines(usize),
    /// An inline table: from behind its first brace up to its last one.
    Braces(usize, usize),
}

/// One entry of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf<'a> {
    /// Its path from the body.
    pub(super) path: Vec<&'a str>,
    /// Where the last part of its key begins.
    pub(super) key: usize,
    /// Where its value ends.
    pub(super) end: usize,
}

impl<'a> Body<'a> {
    /// The lines of a table, from an offset on.
    pub(super) fn of_lines(table: &'a Table, from: usize) -> Self {
        Self { table, depth: 0, form: Form::Lines(from) }
    }

    /// Its entries as they stand in the text.
    pub(super) fn leaves(&self) -> Vec<Leaf<'_>> {
        let all = self.table.get_values().into_iter();
        let mut leaves: Vec<Leaf<'_>> = all
            .filter_map(|(keys, value)| {
                let key = keys.last()?.span()?.start;
                Some(Leaf { path: keys.iter().map(|key| key.get()).collect(), key, end: value.span()?.end })
            })
            .collect();
        leaves.sort_by_key(|leaf| leaf.key);
        leaves
    }
}

/// How far a path leads.
pub(super) struct Site<'a> {
    /// How many steps lead to tables that exist.
    pub(super) known: usize,
    /// The body that the last of them is written in.
    pub(super) body: Option<Body<'a>>,
}

impl<'t> Parsed<'t> {
    /// Reads a text.
    pub(super) fn of(text: &'t str) -> Result<Self, EditError> {
        let document =
            Document::parse(text).map_err(|error| EditError::Syntax(error.message().to_owned()))?;
        Ok(Self { text, document })
    }

    /// The root table.
    pub(super) fn root(&self) -> &Table {
        self.document.as_table()
    }

    /// What stands at a path.
    pub(super) fn node(&self, path: &[&str]) -> Option<&Item> {
        path.iter().try_fold(self.document.as_item(), |item, step| item.as_table_like()?.get(step))
    }

    /// Whether anything stands at a path.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.node(path).is_some()
    }

    /// The bytes of the value at a path, if it is written as one.
    pub(super) fn value_span(&self, path: &[&str]) -> Option<Range<usize>> {
        match self.node(path)? {
            Item::Value(Value::InlineTable(table)) if table.is_dotted() => None,
            Item::Value(value) => value.span(),
            _ => None,
        }
    }

    /// The header of the table at a path, else its key.
    pub(super) fn place(&self, path: &[&str]) -> Option<Range<usize>> {
        if let Some(header) = self.node(path)?.as_table().and_then(header) {
            return Some(header);
        }
        let (last, parents) = path.split_last()?;
        let (key, _) = self.node(parents)?.as_table_like()?.get_key_value(last)?;
        key.span()
    }

    /// The first step of a path that leads to no table.
    pub(super) fn obstacle(&self, path: &[&str]) -> String {
        let steps = (1..=path.len()).map(|length| &path[..length]);
        let blocked = |steps: &&[&str]| self.node(steps).is_some_and(|item| item.as_table_like().is_none());
        dotted(steps.into_iter().find(blocked).unwrap_or(path))
    }

    /// How far a path leads over tables, and what the entries of the last one are written in.
    pub(super) fn site(&self, path: &[&str]) -> Site<'_> {
        let root = self.root();
        let mut body = Some(Body { table: root, depth: 0, form: Form::Lines(0) });
        let mut table: &dyn TableLike = root;
        let mut known = 0;
        for step in path {
            let depth = known + 1;
            match table.get(step) {
                Some(Item::Table(inner)) => {
                    if let Some(header) = header(inner) {
                        let first = super::splice::next_line(self.text, header.end);
                        body = Some(Body { table: inner, depth, form: Form::Lines(first) });
                    } else if !inner.is_dotted() {
                        body = None;
                    }
                    table = inner;
                }
                Some(Item::Value(Value::InlineTable(inner))) => {
                    if let Some(span) = inner.span().filter(|_| !inner.is_dotted()) {
                        let form = Form::Braces(span.start + 1, span.end - 1);
                        body = Some(Body { table: inner, depth, form });
                    }
                    table = inner;
                }
                _ => break,
            }
            known = depth;
        }
        Site { known, body }
    }
}

/// The header of a table, if it has one of its own.
pub(super) fn header(table: &Table) -> Option<Range<usize>> {
    table.span().filter(|_| !table.is_dotted() && !table.is_implicit())
}
