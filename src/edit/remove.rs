//! What goes with a key or a table.
//!
//! A key takes its line (or lines) with it and the comment behind it; a table with a header all from
//! the header to its last entry. Comments above the header and behind the last entry stay, since
//! nobody can tell whose they are.

use toml_edit::{Item, Table};

use super::site::{Body, Form, Leaf, Parsed, header};
use super::splice::{Splice, blank, line_start, next_line};

/// The pieces that hold what stands at a path.
pub(super) fn splices(parsed: &Parsed<'_>, path: &[&str]) -> Vec<Splice> {
    let parents = path.split_last().map_or(path, |(_, parents)| parents);
    let mut found = Vec::new();
    if let Some(body) = parsed.site(parents).body {
        entries(parsed.text, &body, &path[body.depth..], &mut found);
    }
    if let Some(item) = parsed.node(path) {
        blocks(parsed.text, item, &mut found);
    }
    found
}

/// The entries of a body at and below a path.
fn entries(text: &str, body: &Body<'_>, path: &[&str], found: &mut Vec<Splice>) {
    let leaves = body.leaves();
    let goes = |leaf: &Leaf<'_>| leaf.path.starts_with(path);
    match body.form {
        Form::Lines(_) => {
            let lines = |leaf: &Leaf<'_>| line_start(text, leaf.key)..next_line(text, leaf.end);
            let gone = leaves.iter().filter(|leaf| goes(leaf)).map(lines);
            found.extend(gone.map(|at| Splice { at, with: String::new() }));
        }
        Form::Braces(start, end) => {
            let mut take = |at| found.push(Splice { at, with: String::new() });
            let Some(first) = leaves.iter().position(|leaf| !goes(leaf)) else {
                return take(start..end);
            };
            if let Some(before) = first.checked_sub(1) {
                let begin = start + spaces(&text[start..end]);
                take(begin..behind_comma(text, leaves[before].end));
            }
            // Each later one goes with the comma before it.
            for pair in leaves[first..].windows(2).filter(|pair| goes(&pair[1])) {
                take(pair[0].end..pair[1].end);
            }
        }
    }
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Where something stands again after the comma that follows.
fn behind_comma(text: &str, mut at: usize) -> usize {
    loop {
        at += spaces(&text[at..]);
        match text[at..].chars().next() {
            Some('#') => at = next_line(text, at),
            Some(',') => return at + 1 + spaces(&text[at + 1..]),
            _ => return at,
        }
    }
}

/// All tables with headers in an item.
fn blocks(text: &str, item: &Item, found: &mut Vec<Splice>) {
    match item {
        Item::Table(table) => block(text, table, found),
        Item::ArrayOfTables(tables) => tables.iter().for_each(|table| block(text, table, found)),
        Item::None | Item::Value(_) => {}
    }
}

fn block(text: &str, table: &Table, found: &mut Vec<Splice>) {
    if let Some(header) = header(table) {
        let body = Body::of_lines(table, header.end);
        let last = body.leaves().iter().map(|leaf| leaf.end).max();
        let end = next_line(text, last.unwrap_or(header.end));
        let mut start = line_start(text, header.start);
        // One empty line parted it from what is before; two of them, or one at the end, part nothing.
        let before = start.checked_sub(1).map(|end| line_start(text, end));
        let open = end == text.len() || blank(&text[end..next_line(text, end)]);
        if let Some(before) = before.filter(|before| open && blank(&text[*before..start])) {
            start = before;
        }
        found.push(Splice { at: start..end, with: String::new() });
    }
    table.iter().for_each(|(_, inner)| blocks(text, inner, found));
}
