//! Layer 2: changing one thing in the text of a TOML file, and nothing else (WRT-1).
//!
//! The text is parsed as an immutable document, which says where everything stands; the edit is
//! spliced into the text. Nothing is printed anew, so comments, order, quoting, spacing, line ends
//! and a missing final newline stay as they are.
//!
//! Invariants: pure; what comes out is TOML that says what the old text said but for what was asked
//! (each result is read again and compared, and a form of file that would defeat this is refused).

use std::ops::Range;

use thiserror::Error;

mod diff;
mod insert;
mod meaning;
mod remove;
mod site;
mod splice;
#[cfg(test)]
mod tests;
mod word;

pub use diff::diff;
pub use word::{string, value};

use meaning::Meaning;
use site::Parsed;
use splice::{Splice, apply};

/// Why a text is not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is no TOML; the parser's words.
    #[error("the file is no TOML: {0}")]
    Syntax(String),
    /// What is to be taken out is not there.
    #[error("there is no `{0}` to take out")]
    Missing(String),
    /// What is to be added is there.
    #[error("`{0}` is there already")]
    Present(String),
    /// The new value is no TOML.
    #[error("`{0}` is no value")]
    NoValue(String),
    /// Something on the way is no table.
    #[error("`{0}` is no table")]
    NoTable(String),
    /// It is written in a way that leaves no place for the change.
    #[error("`{0}` is written in a form that cannot be edited here")]
    Form(String),
}

/// Where something stands: its key, or the header of its table.
#[must_use]
pub fn place(text: &str, path: &[&str]) -> Option<Range<usize>> {
    Parsed::of(text).ok()?.place(path)
}

/// The text with this value (as TOML) at the path, in the place of an older one or after the last
/// entry of the innermost table on the way. A value that means the same stays as it is written.
///
/// # Errors
/// See [`EditError`]; the table or value that is in the way is named.
pub fn set(text: &str, path: &[&str], new: &str) -> Result<String, EditError> {
    let parsed = Parsed::of(text)?;
    let meant = value(new).ok_or_else(|| EditError::NoValue(new.to_owned()))?;
    let mut wanted = Meaning::of(&parsed);
    let meant = Meaning::of_value(&meant);
    if wanted.at(path) == Some(&meant) {
        return Ok(text.to_owned());
    }
    if !wanted.set(path, meant) {
        return Err(EditError::NoTable(parsed.obstacle(path)));
    }
    if let Some(span) = parsed.value_span(path) {
        return checked(text, vec![Splice { at: span, with: new.to_owned() }], &wanted, path)
            .ok_or_else(|| EditError::Form(word::dotted(path)));
    }
    if parsed.has(path) {
        // A table of several lines gives way to the value.
        let without = unset(text, path)?;
        return set(&without, path, new);
    }
    let ways = insert::ways(&parsed, path, new);
    ways.into_iter()
        .find_map(|splice| checked(text, vec![splice], &wanted, path))
        .ok_or_else(|| EditError::Form(word::dotted(path)))
}

/// The text without what stands at the path: a key with its line and the comment behind it, a table
/// with all that is in it, wherever it stands.
///
/// # Errors
/// See [`EditError`].
pub fn unset(text: &str, path: &[&str]) -> Result<String, EditError> {
    let parsed = Parsed::of(text)?;
    let mut wanted = Meaning::of(&parsed);
    if !wanted.unset(path) {
        return Err(EditError::Missing(word::dotted(path)));
    }
    checked(text, remove::splices(&parsed, path), &wanted, path)
        .ok_or_else(|| EditError::Form(word::dotted(path)))
}

/// The text with a further table at its end; `entries` are paths in it and values as TOML.
///
/// # Errors
/// See [`EditError`].
pub fn add(text: &str, path: &[&str], entries: &[(Vec<&str>, String)]) -> Result<String, EditError> {
    let parsed = Parsed::of(text)?;
    if parsed.has(path) {
        return Err(EditError::Present(word::dotted(path)));
    }
    let mut table = Meaning::table();
    for (inner, new) in entries {
        let meant = value(new).ok_or_else(|| EditError::NoValue(new.clone()))?;
        if !table.set(inner, Meaning::of_value(&meant)) {
            return Err(EditError::NoTable(word::dotted(inner)));
        }
    }
    let mut wanted = Meaning::of(&parsed);
    if !wanted.set(path, table) {
        return Err(EditError::NoTable(parsed.obstacle(path)));
    }
    let lines: Vec<String> =
        entries.iter().map(|(inner, new)| format!("{} = {new}", word::dotted(inner))).collect();
    let header = insert::table(text, path, &lines);
    let inline = || format!("{{ {} }}", lines.join(", "));
    match checked(text, vec![header], &wanted, path) {
        Some(text) => Ok(text),
        // The tables of the file are written in one, which no header can enter.
        None => set(text, path, &inline()),
    }
}

/// The spliced text, if it means what is wanted.
fn checked(text: &str, splices: Vec<Splice>, wanted: &Meaning, path: &[&str]) -> Option<String> {
    let new = apply(text, splices)?;
    let means = Meaning::of(&Parsed::of(&new).ok()?);
    (means.pruned(path) == wanted.clone().pruned(path)).then_some(new)
}
