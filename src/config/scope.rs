//! One table under examination, and what was found wrong in it.
//!
//! Invariant: a key whose value is wrong is `broken`, and no rule that would
//! need its value says anything, so that one mistake is reported once.

use std::collections::BTreeSet;

use toml_edit::TableLike;

use super::document::File;
use crate::base::{Diagnostic, Place, Severity};

/// A table of keys under examination: a harness's own, or `[defaults]`.
pub(super) struct Scope<'a> {
    /// The file that holds it.
    pub(super) file: &'a File,
    /// Where it stands in the file.
    pub(super) path: Vec<&'a str>,
    /// Its entries.
    pub(super) table: &'a dyn TableLike,
    /// The full name of the harness; none for `[defaults]`.
    pub(super) harness: Option<String>,
    /// The keys with wrong values; for a harness also those of `[defaults]`.
    pub(super) broken: BTreeSet<String>,
    /// What was found.
    pub(super) found: Vec<Diagnostic>,
}

impl<'a> Scope<'a> {
    /// Whether the table itself holds a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether the value of a key is wrong.
    pub(super) fn broken(&self, key: &str) -> bool {
        self.broken.contains(key)
    }

    /// Whether the table itself holds a key with a good value.
    pub(super) fn says(&self, key: &str) -> bool {
        self.has(key) && !self.broken(key)
    }

    /// The place of a key's value.
    pub(super) fn value(&self, path: &[&str]) -> Place {
        self.file.value(&self.below(path))
    }

    /// The place of a key.
    pub(super) fn key(&self, path: &[&str]) -> Place {
        self.file.key(&self.below(path))
    }

    /// The place of the table.
    pub(super) fn header(&self) -> Place {
        self.file.header(&self.path)
    }

    /// The whole path of something in the table.
    pub(super) fn below<'p>(&self, path: &[&'p str]) -> Vec<&'p str>
    where
        'a: 'p,
    {
        self.path.iter().chain(path).copied().collect()
    }

    /// Notes a diagnostic.
    pub(super) fn note(&mut self, diagnostic: Diagnostic) {
        let diagnostic = match &self.harness {
            Some(harness) => diagnostic.of(harness.as_str()),
            None => diagnostic,
        };
        self.found.push(diagnostic);
    }

    /// Notes a mistake in a key's value, which no rule is to look at any more.
    pub(super) fn spoil(&mut self, key: &str, diagnostic: Diagnostic) {
        self.broken.insert(key.to_owned());
        self.note(diagnostic);
    }

    /// Whether an error was noted.
    pub(super) fn failed(&self) -> bool {
        self.found.iter().any(|one| one.severity == Severity::Error)
    }
}
