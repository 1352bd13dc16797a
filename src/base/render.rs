//! Diagnostics as text: for people (miette), one a line, or JSON.
//!
//! The only file that knows miette.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Report, SourceSpan};
use serde_json::{Map, Value, json};

use super::diagnostic::{Diagnostic, Place, Severity, Sources};

/// How diagnostics are printed (CFG-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The offending text underlined; `color` by ANSI escapes.
    Human {
        /// Whether escapes may be used.
        color: bool,
    },
    /// `file:line:col: code: message`, one a line.
    Short,
    /// One JSON object (see the `validate` row of the JSON reference).
    Json,
}

/// Prints `diagnostics`, which point into `sources`.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, format: Format) -> String {
    match format {
        Format::Human { color } => diagnostics.iter().map(|one| human(one, sources, color)).collect(),
        Format::Short => diagnostics.iter().map(|one| short(one, sources)).collect(),
        Format::Json => json_text(diagnostics, sources),
    }
}

fn count(diagnostics: &[Diagnostic], severity: Severity) -> usize {
    diagnostics.iter().filter(|one| one.severity == severity).count()
}

fn short(one: &Diagnostic, sources: &Sources) -> String {
    let (line, column) = start(&one.place, sources);
    let warning = if one.severity == Severity::Warning { "warning: " } else { "" };
    let message = harmless(&one.message).replace('\n', " ");
    format!("{}:{line}:{column}: {}: {warning}{message}\n", harmless(one.place.file.as_str()), one.code)
}

fn json_text(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let list: Vec<Value> = diagnostics.iter().map(|one| json_one(one, sources)).collect();
    let whole = json!({
        "diagnostics": list,
        "files": sources.len(),
        "errors": count(diagnostics, Severity::Error),
        "warnings": count(diagnostics, Severity::Warning),
    });
    format!("{whole:#}\n")
}

/// One diagnostic as the JSON object that `validate`, `status` and the socket show.
#[must_use]
pub fn json_one(one: &Diagnostic, sources: &Sources) -> Value {
    let (line, column) = start(&one.place, sources);
    let (end_line, end_column) = end(&one.place, sources);
    let mut object = Map::new();
    object.insert("code".into(), one.code.into());
    object.insert("severity".into(), one.severity.as_str().into());
    object.insert("message".into(), one.message.as_str().into());
    object.insert("file".into(), one.place.file.as_str().into());
    object.insert("line".into(), line.into());
    object.insert("column".into(), column.into());
    object.insert("end_line".into(), end_line.into());
    object.insert("end_column".into(), end_column.into());
    if let Some(harness) = &one.harness {
        object.insert("harness".into(), harness.as_str().into());
    }
    if let Some(help) = &one.help {
        object.insert("help".into(), help.as_str().into());
    }
    let related: Vec<Value> = one
        .related
        .iter()
        .map(|other| {
            let (line, column) = start(&other.place, sources);
            json!({"file": other.place.file, "line": line, "column": column, "message": other.message})
        })
        .collect();
    object.insert("related".into(), related.into());
    object.into()
}

fn start(place: &Place, sources: &Sources) -> (usize, usize) {
    position(place, sources, place.span.as_ref().map(|span| span.start))
}

fn end(place: &Place, sources: &Sources) -> (usize, usize) {
    position(place, sources, place.span.as_ref().map(|span| span.end))
}

/// A file that could not be read is meant as a whole: its first character.
fn position(place: &Place, sources: &Sources, offset: Option<usize>) -> (usize, usize) {
    match (sources.get(&place.file), offset) {
        (Some(text), Some(offset)) => text.line_column(offset),
        _ => (1, 1),
    }
}

fn human(one: &Diagnostic, sources: &Sources, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let source = sources
        .get(&one.place.file)
        .filter(|text| can_be_excerpted(text.as_str(), one))
        .map(|text| NamedSource::new(harmless(one.place.file.as_str()), harmless(text.as_str())));
    let shown = Shown::new(one, sources, source.is_some());
    let mut out = String::new();
    let written = match source {
        Some(source) => {
            let report = Report::new(shown).with_source_code(source);
            handler.render_report(&mut out, report.as_ref())
        }
        None => handler.render_report(&mut out, &shown),
    };
    // Writing to a `String` cannot fail; a handler that does still yields the plain form.
    if written.is_err() { short(one, sources) } else { out }
}

/// A longer line is not shown: a prompt can be one line of 100 KB.
const LONGEST_SHOWN: usize = 400;

/// Whether the lines that an excerpt would show are there and short.
fn can_be_excerpted(text: &str, one: &Diagnostic) -> bool {
    let related = one.related.iter().filter(|other| other.place.file == one.place.file);
    let mut spans =
        related.map(|other| &other.place).chain([&one.place]).filter_map(|place| place.span.as_ref());
    one.place.span.is_some()
        && spans.all(|span| lines_around(text, span.start).all(|line| line.len() <= LONGEST_SHOWN))
}

/// The line of an offset, the one before it and the one after it.
fn lines_around(text: &str, at: usize) -> impl Iterator<Item = &str> {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let first = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at + 1);
    let last = after.match_indices('\n').nth(1).map_or(text.len(), |(at, _)| before.len() + at);
    text[first..last].split('\n')
}

/// The text with `?` for what would steer a terminal; offsets stay.
fn harmless(text: &str) -> String {
    let steers = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t');
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        out.push(if u8::try_from(c).is_ok_and(steers) && !ends_line { '?' } else { c });
    }
    out
}

/// A diagnostic in the form that miette takes, with owned parts.
#[derive(Debug)]
struct Shown {
    message: String,
    code: &'static str,
    severity: miette::Severity,
    help: Option<String>,
    labels: Vec<LabeledSpan>,
    elsewhere: Vec<Self>,
}

impl Shown {
    fn new(one: &Diagnostic, sources: &Sources, excerpt: bool) -> Self {
        let inside = |place: &Place| excerpt && place.file == one.place.file && place.span.is_some();
        let whose = one.harness.as_ref().map(|name| harmless(&format!("in harness `{name}`")));
        let mut labels: Vec<LabeledSpan> = Vec::new();
        labels.extend(
            one.place
                .span
                .clone()
                .filter(|_| excerpt)
                .map(|span| LabeledSpan::new_primary_with_span(whose.clone(), SourceSpan::from(span))),
        );
        let near = one.related.iter().filter(|other| inside(&other.place));
        labels.extend(near.filter_map(|other| {
            let span = other.place.span.clone()?;
            Some(LabeledSpan::new_with_span(Some(harmless(&other.message)), SourceSpan::from(span)))
        }));
        let far = one.related.iter().filter(|other| !inside(&other.place));
        let elsewhere = far
            .map(|other| {
                let (line, column) = start(&other.place, sources);
                Self {
                    message: harmless(&format!("{}:{line}:{column}: {}", other.place.file, other.message)),
                    code: one.code,
                    severity: miette::Severity::Advice,
                    help: None,
                    labels: Vec::new(),
                    elsewhere: Vec::new(),
                }
            })
            .collect();
        let message = match &one.place.span {
            Some(_) if excerpt => one.message.clone(),
            Some(_) => {
                let (line, column) = start(&one.place, sources);
                let whose =
                    one.harness.as_ref().map_or(String::new(), |name| format!("in harness `{name}`: "));
                format!("{}:{line}:{column}: {whose}{}", one.place.file, one.message)
            }
            None => format!("{}: {}", one.place.file, one.message),
        };
        let severity = match one.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        };
        let help = one.help.as_deref().map(harmless);
        Self { message: harmless(&message), code: one.code, severity, help, labels, elsewhere }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl miette::Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.elsewhere.iter().map(|one| one as &dyn miette::Diagnostic)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, render};
    use crate::base::{Diagnostic, Place, SourceText, Sources};

    fn sample() -> (Vec<Diagnostic>, Sources) {
        let mut sources = Sources::default();
        sources.insert("a.toml".into(), SourceText::new("é = 1\npromt = \"x\"\n"));
        let place = Place { file: "a.toml".into(), span: Some(7..12) };
        let one = Diagnostic::error("harnessd::config::unknown_key", place, "unknown key `promt`")
            .of("web/sweep")
            .help("did you mean `prompt`?");
        (vec![one], sources)
    }

    /// CFG-9: `short` is `file:line:col: code: message`.
    #[test]
    fn short_form_is_one_line_with_its_place() {
        let (list, sources) = sample();
        assert_eq!(
            render(&list, &sources, Format::Short),
            "a.toml:2:1: harnessd::config::unknown_key: unknown key `promt`\n"
        );
    }

    #[test]
    fn human_form_underlines_the_offending_text() {
        let (list, sources) = sample();
        let text = render(&list, &sources, Format::Human { color: false });
        assert_eq!(
            text,
            "harnessd::config::unknown_key\n\n  × unknown key `promt`\n   ╭─[a.toml:2:1]\n 1 │ é = 1\n 2 │ promt = \"x\"\n   · ──┬──\n   ·   ╰── in harness `web/sweep`\n   ╰────\n  help: did you mean `prompt`?\n"
        );
    }

    /// A prompt of 100 KB on one line is told of, not printed.
    #[test]
    fn a_long_line_is_not_shown() {
        let (list, mut sources) = sample();
        let long = "x".repeat(100_000);
        sources.insert("a.toml".into(), SourceText::new(format!("é = 1\npromt = \"{long}\"\n")));
        assert_eq!(
            render(&list, &sources, Format::Human { color: false }),
            "harnessd::config::unknown_key\n\n  × a.toml:2:1: in harness `web/sweep`: unknown key `promt`\n  help: did you mean `prompt`?\n"
        );
    }

    /// A file cannot steer the terminal that its mistakes are shown on.
    #[test]
    fn control_characters_are_not_printed() {
        let (mut list, mut sources) = sample();
        list[0].message.push_str("\u{1b}[2J");
        sources.insert("a.toml".into(), SourceText::new("é = 1\npromt = \"\u{1b}[2J\r\u{7f}x\"\r\n"));
        let text = render(&list, &sources, Format::Human { color: false });
        assert!(text.contains(" 2 │ promt = \"?[2J??x\"\n"), "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{7f}']), "{text}");
        assert!(!render(&list, &sources, Format::Short).contains('\u{1b}'));
    }

    #[test]
    fn json_form_counts_and_places() {
        let (list, sources) = sample();
        let value: serde_json::Value = serde_json::from_str(&render(&list, &sources, Format::Json)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"diagnostics": [{"code": "harnessd::config::unknown_key", "severity": "error",
                "message": "unknown key `promt`", "file": "a.toml", "line": 2, "column": 1, "end_line": 2,
                "end_column": 6, "harness": "web/sweep", "help": "did you mean `prompt`?", "related": []}],
                "files": 1, "errors": 1, "warnings": 0})
        );
    }
}
