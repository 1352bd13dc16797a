//! Diagnostics for people, with the offending text underlined.
//!
//! The only file that knows miette. Invariant: what one diagnostic costs depends on the lines that
//! it shows, not on the size of its file.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use camino::Utf8Path;
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, Report, SourceCode,
    SourceSpan, SpanContents,
};

use super::{harmless, short, start};
use crate::base::diagnostic::{Diagnostic, Place, Severity, SourceText, Sources};

/// Prints all of them.
pub(super) fn human(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut shown: BTreeMap<&Utf8Path, Excerpts> = BTreeMap::new();
    let mut out = String::new();
    for one in diagnostics {
        let file = one.place.file.as_path();
        let text = sources.get(file).filter(|text| can_be_excerpted(text, one));
        let source = text.map(|text| shown.entry(file).or_insert_with(|| Excerpts::new(file, text)).clone());
        out.push_str(&human_one(one, sources, source, &handler));
    }
    out
}

fn human_one(
    one: &Diagnostic,
    sources: &Sources,
    source: Option<Excerpts>,
    handler: &GraphicalReportHandler,
) -> String {
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

/// A file's text, made harmless once, of which only the lines that are shown are read.
#[derive(Debug, Clone)]
struct Excerpts {
    file: String,
    text: SourceText,
}

impl Excerpts {
    fn new(file: &Utf8Path, text: &SourceText) -> Self {
        Self { file: harmless(file.as_str()), text: SourceText::new(harmless(text.as_str())) }
    }
}

impl SourceCode for Excerpts {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = span.offset()..span.offset() + span.len();
        let (lines, skipped) = self.text.around(&whole, before.max(after) + 1);
        let part = &self.text.as_str()[lines.clone()];
        let inside = SourceSpan::from((span.offset() - lines.start, span.len()));
        let read = part.read_span(&inside, before, after)?;
        let start = read.span().offset() + lines.start;
        Ok(Box::new(MietteSpanContents::new_named(
            self.file.clone(),
            read.data(),
            (start, read.span().len()).into(),
            read.line() + skipped,
            read.column(),
            read.line_count() + skipped,
        )))
    }
}

/// A longer line is not shown: a prompt can be one line of 100 KB.
const LONGEST_SHOWN: usize = 400;

/// Whether the lines that an excerpt would show are there and short. A longer line is not even looked at.
fn can_be_excerpted(text: &SourceText, one: &Diagnostic) -> bool {
    let related = one.related.iter().filter(|other| other.place.file == one.place.file);
    let mut spans =
        related.map(|other| &other.place).chain([&one.place]).filter_map(|place| place.span.as_ref());
    let short = |span: &Range<usize>| {
        let (lines, _) = text.around(&(span.start..span.start), 1);
        lines.len() <= 3 * (LONGEST_SHOWN + 1)
            && text.as_str()[lines].split('\n').all(|line| line.len() <= LONGEST_SHOWN)
    };
    one.place.span.is_some() && spans.all(short)
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
                format!("{}:{line}:{column}: {}", one.place.file, one.whole_message())
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
