//! One file, parsed once: where each key and value stands.
//!
//! Invariant: every span that leaves this file lies inside its text, on
//! character boundaries, and covers one line at most, so that a diagnostic
//! never prints a whole prompt.

use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use toml_edit::{Document, Item, Key, Table, TableLike, Value};

use super::codes::SYNTAX;
use super::{FileKind, Input};
use crate::base::{Diagnostic, Place, SourceText};

/// A parsed file.
#[derive(Debug)]
pub(super) struct File {
    /// As it was named.
    pub(super) file: Utf8PathBuf,
    /// Global or project.
    pub(super) kind: FileKind,
    /// The directory of `file`, from which relative paths are taken.
    pub(super) dir: Utf8PathBuf,
    document: Document<Arc<str>>,
    text: SourceText,
}

/// What a path leads to: tables hold items, lists hold values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node<'a> {
    /// A table's entry.
    Item(&'a Item),
    /// A list's element.
    Value(&'a Value),
}

impl<'a> Node<'a> {
    fn table(self) -> Option<&'a dyn TableLike> {
        match self {
            Self::Item(item) => item.as_table_like(),
            Self::Value(value) => value.as_inline_table().map(|table| table as &dyn TableLike),
        }
    }

    fn element(self, index: &str) -> Option<Self> {
        let list = match self {
            Self::Item(item) => item.as_array(),
            Self::Value(value) => value.as_array(),
        };
        list?.get(index.parse().ok()?).map(Self::Value)
    }

    fn span(self) -> Option<Range<usize>> {
        match self {
            Self::Item(item) => item.span(),
            Self::Value(value) => value.span(),
        }
    }

    /// What it is, as a noun phrase.
    pub(super) fn kind(self) -> &'static str {
        let value = match self {
            Self::Item(Item::None) => return "nothing",
            Self::Item(Item::Table(_)) => return "a table",
            Self::Item(Item::ArrayOfTables(_)) => return "a list of tables",
            Self::Item(Item::Value(value)) | Self::Value(value) => value,
        };
        match value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number with a fraction",
            Value::Boolean(_) => "a boolean",
            Value::Datetime(_) => "a date or time",
            Value::Array(_) => "a list",
            Value::InlineTable(_) => "a table",
        }
    }

    /// Whether it is a single value that quotes would turn into a string.
    pub(super) const fn is_bare(self) -> bool {
        match self {
            Self::Item(Item::Value(value)) | Self::Value(value) => {
                matches!(value, Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_))
            }
            Self::Item(_) => false,
        }
    }
}

impl File {
    /// Parses a file; `shared` and `text` are its contents.
    pub(super) fn parse(input: &Input, shared: &Arc<str>, text: SourceText) -> Result<Self, Box<Diagnostic>> {
        let document = Document::parse(Arc::clone(shared))
            .map_err(|error| Box::new(syntax_error(&input.file, &input.text, &error)))?;
        let dir = input.file.parent().unwrap_or(Utf8Path::new("")).to_owned();
        Ok(Self { file: input.file.clone(), kind: input.kind, dir, document, text })
    }

    /// What can be read of a file before its first syntax error: whole lines, so that a setting above
    /// a slip further down is still known.
    pub(super) fn salvage(input: &Input) -> Option<Self> {
        let read = |text: &str| {
            let shared: Arc<str> = text.into();
            let input = Input { file: input.file.clone(), kind: input.kind, text: text.to_owned() };
            Self::parse(&input, &shared, SourceText::new(Arc::clone(&shared)))
        };
        match read(&input.text) {
            Ok(file) => Some(file),
            Err(error) => {
                let before = input.text.get(..error.place.span.as_ref()?.start)?;
                read(&before[..before.rfind('\n').map_or(0, |end| end + 1)]).ok()
            }
        }
    }

    /// The root table.
    pub(super) fn root(&self) -> &Table {
        self.document.as_table()
    }

    /// The table at a path.
    pub(super) fn table(&self, path: &[&str]) -> Option<&dyn TableLike> {
        self.node(path)?.table()
    }

    /// The line of an offset.
    pub(super) fn line(&self, place: &Place) -> usize {
        place.span.as_ref().map_or(1, |span| self.text.line_column(span.start).0)
    }

    /// What stands at a path.
    pub(super) fn node(&self, path: &[&str]) -> Option<Node<'_>> {
        let root = Node::Item(self.document.as_item());
        path.iter().try_fold(root, |node, step| step_into(node, step).map(|(_, inner)| inner))
    }

    /// The text of the value at a path, if it stands on one line.
    pub(super) fn source(&self, path: &[&str]) -> Option<&str> {
        let span = self.node(path)?.span()?;
        self.document.raw().get(span).filter(|text| !text.contains('\n'))
    }

    /// The place of a value; of a table its header.
    pub(super) fn value(&self, path: &[&str]) -> Place {
        self.locate(path, |key, node| node.span().or_else(|| key.and_then(Key::span)))
    }

    /// The place of a key; of a list's element the element itself.
    pub(super) fn key(&self, path: &[&str]) -> Place {
        self.locate(path, |key, node| key.and_then(Key::span).or_else(|| node.span()))
    }

    /// The place of a table's header; of an inline or dotted table its key.
    pub(super) fn header(&self, path: &[&str]) -> Place {
        let written = |node: &Node<'_>| match node {
            Node::Item(Item::Table(table)) => !table.is_dotted() && !table.is_implicit(),
            Node::Item(Item::ArrayOfTables(_)) => true,
            _ => false,
        };
        self.locate(path, |key, node| {
            let header = if written(&node) { node.span() } else { None };
            header.or_else(|| key.and_then(Key::span)).or_else(|| node.span())
        })
    }

    /// The place of a part of a string, if it is written on one line without escapes.
    pub(super) fn part(&self, path: &[&str], part: Range<usize>) -> Place {
        let mut place = self.value(path);
        let Some(Node::Item(Item::Value(Value::String(text)))) = self.node(path) else { return place };
        let inner = place.span.as_ref().map(|span| span.start + 1..span.end - 1);
        let plain = inner.filter(|inner| self.text.as_str().get(inner.clone()) == Some(text.value()));
        if let Some(inner) = plain.filter(|inner| !part.is_empty() && part.end <= inner.len()) {
            place.span = Some(inner.start + part.start..inner.start + part.end);
        }
        place
    }

    /// The place that `pick` chooses at the end of `path`, or at the nearest
    /// step before it that has one.
    fn locate(&self, path: &[&str], pick: impl Fn(Option<&Key>, Node<'_>) -> Option<Range<usize>>) -> Place {
        let mut node = Node::Item(self.document.as_item());
        let mut best = None;
        for step in path {
            let Some((key, inner)) = step_into(node, step) else { break };
            best = pick(key, inner).or(best);
            node = inner;
        }
        let span = best.unwrap_or(0..0);
        Place { file: self.file.clone(), span: Some(one_line(self.document.raw(), span)) }
    }
}

fn step_into<'a>(node: Node<'a>, step: &str) -> Option<(Option<&'a Key>, Node<'a>)> {
    match node.table() {
        Some(table) => table.get_key_value(step).map(|(key, item)| (Some(key), Node::Item(item))),
        None => node.element(step).map(|element| (None, element)),
    }
}

/// The part of a span that stands on its first line with any text.
fn one_line(text: &str, span: Range<usize>) -> Range<usize> {
    let start = floor(text, span.start);
    let end = floor(text, span.end).max(start);
    let length = text[start..end].find(['\n', '\r']).unwrap_or(end - start);
    start..start + length
}

fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn syntax_error(file: &Utf8Path, text: &str, error: &toml_edit::TomlError) -> Diagnostic {
    let span = visible(text, error.span().unwrap_or(0..0));
    let place = Place { file: file.to_owned(), span: Some(span.clone()) };
    if error.message() != "duplicate key" {
        let message = format!("this is no TOML: {}", error.message());
        return Diagnostic::error(SYNTAX, place, message)
            .help("the rest of this file is checked once this is mended");
    }
    let name = text[span.clone()].to_owned();
    let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let is_header = text[line_start..span.start].trim_start().starts_with('[');
    let (what, help) = if is_header {
        (format!("the table `{name}` is defined twice"), "merge the two tables or rename one of them")
    } else {
        (format!("the key `{name}` is defined twice"), "remove one of the two lines")
    };
    let diagnostic = Diagnostic::error(SYNTAX, place, what).help(help);
    match first_definition(text, line_start, is_header, &name) {
        Some(first) => {
            let place = Place { file: file.to_owned(), span: Some(first) };
            diagnostic.related(place, "first defined here")
        }
        None => diagnostic,
    }
}

/// Where the duplicate that stands on the line at `line_start` was defined
/// first: what precedes the line is parsed by itself and searched.
fn first_definition(text: &str, line_start: usize, is_header: bool, name: &str) -> Option<Range<usize>> {
    let before = Document::parse(text[..line_start].to_owned()).ok()?;
    let line = |start: usize| text[start..].lines().next().unwrap_or_default();
    let header_start = if is_header { Some(line_start) } else { last_header(text, line_start) };
    let mut path = match header_start {
        Some(start) => path_of_header(line(start))?,
        None => Vec::new(),
    };
    if !is_header {
        path.push(name.trim_matches(['"', '\'']).to_owned());
    }
    let mut node = Node::Item(before.as_item());
    let mut found = None;
    for step in &path {
        let (key, inner) = step_into(node, step)?;
        found = if is_header { inner.span() } else { None }.or_else(|| key.and_then(Key::span));
        node = inner;
    }
    found.map(|span| one_line(text, span))
}

fn last_header(text: &str, before: usize) -> Option<usize> {
    let mut end = before;
    while end > 0 {
        let start = text[..end - 1].rfind('\n').map_or(0, |at| at + 1);
        if text[start..end].trim_start().starts_with('[') {
            return Some(start);
        }
        end = start;
    }
    None
}

fn path_of_header(line: &str) -> Option<Vec<String>> {
    let document = Document::parse(line.to_owned()).ok()?;
    let mut path = Vec::new();
    let mut table: &dyn TableLike = document.as_table();
    while let Some((name, item)) = table.iter().next() {
        path.push(name.to_owned());
        table = item.as_table_like()?;
    }
    Some(path)
}

/// An empty span is widened to the character at it, or before it at a line's end.
fn visible(text: &str, span: Range<usize>) -> Range<usize> {
    let span = one_line(text, span);
    if !span.is_empty() {
        return span;
    }
    let next = text[span.start..].chars().next().filter(|c| !matches!(c, '\n' | '\r'));
    if let Some(next) = next {
        return span.start..span.start + next.len_utf8();
    }
    match text[..span.start].chars().next_back() {
        Some(last) if last != '\n' => span.start - last.len_utf8()..span.start,
        _ => span,
    }
}
