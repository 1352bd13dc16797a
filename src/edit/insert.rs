//! Where a new entry may stand.
//!
//! Invariant: what is put in is whole lines, or an entry with its comma; nothing is taken out but
//! white space between the braces of an inline table that holds nothing.

use super::site::{Body, Form, Parsed};
use super::splice::{Splice, blank, line_end, line_start, next_line};
use super::word::dotted;

/// The ways to write a new entry, the most natural first. Not each means the same in every file.
pub(super) fn ways(parsed: &Parsed<'_>, path: &[&str], new: &str) -> Vec<Splice> {
    let Some((last, parents)) = path.split_last() else { return Vec::new() };
    let site = parsed.site(parents);
    let within = site.body.map(|body| {
        let inner = &path[body.depth..site.known.max(body.depth)];
        entry(parsed.text, &body, inner, &format!("{} = {new}", dotted(&path[body.depth..])))
    });
    let below = table(parsed.text, parents, &[format!("{} = {new}", dotted(&[*last]))]);
    match within {
        Some(within) if site.known > 0 => vec![within, below],
        within => [below].into_iter().chain(within).collect(),
    }
}

/// A new entry after the last one of the table that `inner` leads to, else of the body.
fn entry(text: &str, body: &Body<'_>, inner: &[&str], written: &str) -> Splice {
    let leaves = body.leaves();
    let anchor = leaves.iter().rfind(|leaf| leaf.path.starts_with(inner)).or(leaves.last());
    match (body.form, anchor) {
        (Form::Lines(_), Some(leaf)) => {
            let line = &text[line_start(text, leaf.key)..leaf.key];
            let indent = &line[..line.len() - line.trim_start().len()];
            whole_line(text, next_line(text, leaf.end), &format!("{indent}{written}"))
        }
        (Form::Lines(first), None) => whole_line(text, first, written),
        (Form::Braces(..), Some(leaf)) => Splice { at: leaf.end..leaf.end, with: format!(", {written}") },
        (Form::Braces(start, end), None) if blank(&text[start..end]) => {
            Splice { at: start..end, with: format!(" {written} ") }
        }
        (Form::Braces(start, _), None) => Splice { at: start..start, with: format!(" {written} ") },
    }
}

/// A line at the beginning of another one, or at the end of the text.
fn whole_line(text: &str, at: usize, line: &str) -> Splice {
    let end = line_end(text);
    let first = if text[..at].ends_with('\n') || at == 0 { "" } else { end };
    Splice { at: at..at, with: format!("{first}{line}{end}") }
}

/// A table with a header of its own at the end of the text, an empty line before it.
pub(super) fn table(text: &str, path: &[&str], lines: &[String]) -> Splice {
    let end = line_end(text);
    let mut with = String::new();
    if !text.is_empty() && !text.ends_with('\n') {
        with.push_str(end);
    }
    let last = &text[line_start(text, text.strip_suffix('\n').unwrap_or(text).len())..];
    if !text.is_empty() && !blank(last) {
        with.push_str(end);
    }
    for line in std::iter::once(&format!("[{}]", dotted(path))).chain(lines) {
        with.push_str(line);
        with.push_str(end);
    }
    Splice { at: text.len()..text.len(), with }
}
