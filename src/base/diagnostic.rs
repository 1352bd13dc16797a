//! A mistake in a file, with its place.
//!
//! Invariant: a span lies inside the text of its file, on character boundaries. Whatever a
//! message quotes, it is one bounded line without characters that steer a terminal.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::shown::{quoted, shortened};

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is accepted.
    Warning,
}

impl Severity {
    /// The word for it in JSON and short form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Utf8PathBuf,
    /// The offending bytes; none when the whole file is meant (it cannot be read).
    pub span: Option<Range<usize>>,
}

/// A second place that explains a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Where.
    pub place: Place,
    /// What is there.
    pub message: String,
}

/// One mistake (or doubt) in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, like `harnessd::config::unknown_key`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// A lower-case fragment, names in backticks, no final stop.
    pub message: String,
    /// Where it stands.
    pub place: Place,
    /// The full name of the harness that it concerns.
    pub harness: Option<String>,
    /// How to mend it.
    pub help: Option<String>,
    /// Other places that explain it.
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// An error at a place.
    #[must_use]
    pub fn error(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: line(&message.into()),
            place,
            harness: None,
            help: None,
            related: Vec::new(),
        }
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, place, message) }
    }

    /// Names the harness.
    #[must_use]
    pub fn of(mut self, harness: impl Into<String>) -> Self {
        self.harness = Some(quoted(&harness.into()));
        self
    }

    /// Adds the help line.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(line(&help.into()));
        self
    }

    /// The message, with the harness before it.
    pub(super) fn whole_message(&self) -> String {
        let whose = self.harness.as_ref().map_or(String::new(), |name| format!("in harness `{name}`: "));
        format!("{whose}{}", self.message)
    }

    /// Every place that it points at.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        self.related.iter_mut().map(|other| &mut other.place).chain([&mut self.place])
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, place: Place, message: impl Into<String>) -> Self {
        self.related.push(Related { place, message: line(&message.into()) });
        self
    }
}

/// Longer than any message that names a path or two; only a hostile file has longer ones.
const LONGEST_LINE: usize = 10_000;

fn line(text: &str) -> String {
    shortened(text, LONGEST_LINE)
}

/// The text of a file, for turning offsets into lines and columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    text: Arc<str>,
    line_starts: Arc<[usize]>,
    /// How many characters begin before each [`STRIDE`]th byte: a line of megabytes is not counted anew for each
    /// of the million mistakes that stand in it.
    characters: Arc<[usize]>,
}

const STRIDE: usize = 1024;

impl SourceText {
    /// Keeps a text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        let counted = text.as_bytes().chunks(STRIDE).scan(0, |before, chunk| {
            *before += beginnings(chunk);
            Some(*before)
        });
        let characters = std::iter::once(0).chain(counted).collect();
        Self { text, line_starts: starts, characters }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The lines of a span with `margin` more on either side, and how many lines stand before them.
    pub(super) fn around(&self, span: &Range<usize>, margin: usize) -> (Range<usize>, usize) {
        let line = |offset: usize| self.line_starts.partition_point(|start| *start <= offset) - 1;
        let first = line(span.start).saturating_sub(margin);
        let end = self.line_starts.get(line(span.end) + margin + 1).copied().unwrap_or(self.text.len());
        (self.line_starts[first]..end, first)
    }

    /// The line and column of a byte offset, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1];
        (line, self.characters_before(offset) - self.characters_before(start) + 1)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let stride = offset / STRIDE;
        self.characters[stride] + beginnings(&self.text.as_bytes()[stride * STRIDE..offset])
    }
}

/// How many characters begin in these bytes.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// The texts of all files that diagnostics point into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<Utf8PathBuf, SourceText>);

impl Sources {
    /// Adds a file's text.
    pub fn insert(&mut self, file: Utf8PathBuf, text: SourceText) {
        self.0.insert(file, text);
    }

    /// The text of `file`.
    #[must_use]
    pub fn get(&self, file: &Utf8Path) -> Option<&SourceText> {
        self.0.get(file)
    }

    /// Takes over the files of another collection.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Gives a file another name.
    pub fn rename(&mut self, from: &Utf8Path, to: &Utf8Path) {
        if let Some(text) = self.0.remove(from) {
            self.0.insert(to.to_owned(), text);
        }
    }

    /// Drops all files but one.
    pub fn keep(&mut self, file: &Utf8Path) {
        self.0.retain(|name, _| name == file);
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{STRIDE, SourceText};

    /// CFG-8: columns count characters, wherever in a long line.
    #[test]
    fn a_place_is_found_in_lines_of_any_length() {
        for length in [0, 1, STRIDE / 2 - 1, STRIDE / 2, STRIDE] {
            let text = format!("é\n{}", "é\u{10ffff}a".repeat(length));
            let source = SourceText::new(text.as_str());
            for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let before = &text[..offset];
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                assert_eq!(source.line_column(offset), (before.matches('\n').count() + 1, column));
            }
        }
    }
}
