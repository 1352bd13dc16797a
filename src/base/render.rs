//! Diagnostics as text: for people, one a line, JSON, or SARIF.
//!
//! Invariant: no form hands a terminal what would steer it.

use serde_json::{Map, Value, json};

use super::diagnostic::{Diagnostic, Place, Severity, Sources};
use super::sarif::sarif;
use super::shown::deceives;

mod human;

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
    /// A SARIF 2.1.0 log, for code scanning.
    Sarif {
        /// Every code with its meaning.
        rules: &'static [(&'static str, &'static str)],
    },
}

/// Prints `diagnostics`, which point into `sources`.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, format: Format) -> String {
    match format {
        Format::Human { color } => human::human(diagnostics, sources, color),
        Format::Short => diagnostics.iter().map(|one| short(one, sources)).collect(),
        Format::Json => json_text(diagnostics, sources),
        Format::Sarif { rules } => format!("{:#}\n", sarif(diagnostics, sources, rules)),
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

pub(super) fn start(place: &Place, sources: &Sources) -> (usize, usize) {
    position(place, sources, place.span.as_ref().map(|span| span.start))
}

pub(super) fn end(place: &Place, sources: &Sources) -> (usize, usize) {
    position(place, sources, place.span.as_ref().map(|span| span.end))
}

/// A file that could not be read is meant as a whole: its first character.
fn position(place: &Place, sources: &Sources, offset: Option<usize>) -> (usize, usize) {
    match (sources.get(&place.file), offset) {
        (Some(text), Some(offset)) => text.line_column(offset),
        _ => (1, 1),
    }
}

/// The text with `?` for each byte of what would steer a terminal or deceive; offsets stay.
fn harmless(text: &str) -> String {
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        if deceives(c) && !matches!(c, '\n' | '\t') && !ends_line {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        } else {
            out.push(c);
        }
    }
    out
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
