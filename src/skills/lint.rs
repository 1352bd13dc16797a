//! The public rules for `SKILL.md` (SKL-13): pure.
//!
//! Invariant: a skill without a finding passes the validator of the public specification; what only
//! some readers refuse is a warning.

mod document;

use std::ops::Range;

use camino::Utf8Path;

use super::frontmatter::{HEAD, block};
use super::warning::plain;
use crate::base::{Diagnostic, Place, nearest};
use document::{Document, Entry, Node};

macro_rules! codes {
    ($($(#[$outer:meta])* $visibility:vis $name:ident = $text:literal, $meaning:literal;)*) => {
        $($(#[$outer])* #[doc = $meaning] $visibility const $name: &str = concat!("harnessd::skill::", $text);)*
        /// Every code with its meaning, for reference pages.
        pub const CODES: &[(&str, &str)] = &[$(($name, $meaning)),*];
    };
}

codes! {
    pub UNREADABLE = "unreadable", "the path cannot be read";
    pub(super) NO_SKILL = "no_skill", "the path is no skill and holds none, or its file is not spelled `SKILL.md`";
    pub(super) ENCODING = "encoding", "the file is no UTF-8 text, or begins with a byte-order mark";
    FRONTMATTER = "frontmatter", "the file does not begin with YAML between two `---` lines";
    YAML = "yaml", "the frontmatter is no YAML, or no table";
    UNKNOWN_KEY = "unknown_key", "the public rules know no such key";
    MISSING_KEY = "missing_key", "`name` or `description` is missing";
    WRONG_TYPE = "wrong_type", "the value is of another type than the key takes";
    NAME = "name", "the name breaks the grammar of names";
    NAME_MISMATCH = "name_mismatch", "the name is not that of the directory";
    TOO_LONG = "too_long", "the text is longer than the rules allow";
    EMPTY_VALUE = "empty_value", "the text is empty where something must stand";
    STRICT_YAML = "strict_yaml", "readers of strict YAML refuse this form (warning)";
    FENCE = "fence", "`---` inside of the frontmatter, where some readers end it (warning)";
    MARKUP = "markup", "`<` or `>` in the description, which some readers refuse (warning)";
}

/// The keys that the public rules allow.
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
/// The longest name, in characters.
const NAME_LENGTH: usize = 64;
/// The longest description, in characters.
const DESCRIPTION_LENGTH: usize = 1024;
/// The longest compatibility note, in characters.
const COMPATIBILITY_LENGTH: usize = 500;

/// What is wrong with the `SKILL.md` that `file` names, of a skill whose directory is called `directory`.
pub(super) fn lint(file: &Utf8Path, directory: &str, text: &str) -> Vec<Diagnostic> {
    let place = |span: Range<usize>| Place { file: file.to_owned(), span: Some(span) };
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bom = text.len() - body.len();
    let mut found = Vec::new();
    if bom > 0 {
        let message = "the file begins with a byte-order mark, and so not with `---`";
        found.push(Diagnostic::error(ENCODING, place(0..bom), message).help("save it as UTF-8 without one"));
    }
    let yaml = match block(&body.as_bytes()[..body.len().min(HEAD)]) {
        Ok(yaml) => yaml,
        Err(cause) => {
            let first = bom..bom + body.lines().next().map_or(0, str::len);
            let help = "begin with `---`, the lines `name: …` and `description: …`, and `---` again";
            found.push(Diagnostic::error(FRONTMATTER, place(first), cause).help(help));
            return found;
        }
    };
    // It follows the first line.
    let start = bom + body.find('\n').map_or(0, |at| at + 1);
    let document = match Document::read(yaml) {
        Ok(document) => document,
        Err(wrong) => {
            let at = wrong.at.start + start..wrong.at.end + start;
            let message = format!("the frontmatter is not understood: {}", plain(&wrong.cause));
            let help = "a text that holds `: ` or begins with a sign of YAML stands in quotes";
            found.push(Diagnostic::error(YAML, place(at), message).help(help));
            return found;
        }
    };
    let rules = Rules { file, directory, start, yaml };
    found.extend(rules.document(&document));
    found.sort_by_key(|one| one.place.span.as_ref().map_or(0, |span| span.start));
    found
}

/// What findings of one frontmatter have in common.
struct Rules<'a> {
    file: &'a Utf8Path,
    directory: &'a str,
    /// Where the YAML begins in the file.
    start: usize,
    yaml: &'a str,
}

impl Rules<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        Place { file: self.file.to_owned(), span: Some(span.start + self.start..span.end + self.start) }
    }

    fn error(&self, code: &'static str, at: &Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.place(at), message)
    }

    fn warning(&self, code: &'static str, at: &Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, self.place(at), message)
    }

    fn document(&self, document: &Document) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for key in ["name", "description"] {
            if document.entries.iter().all(|entry| entry.key != key) {
                let first = 0..self.yaml.lines().next().map_or(0, str::len);
                let message = format!("the frontmatter has no `{key}`");
                found.push(self.error(MISSING_KEY, &first, message).help(format!("add a line `{key}: …`")));
            }
        }
        for entry in &document.entries {
            found.extend(self.entry(entry));
            found.extend(self.strict(entry));
        }
        if let Some(at) = self.yaml.find("---") {
            let message = "some readers end the frontmatter at this `---`";
            found.push(self.warning(FENCE, &(at..at + 3), message).help("write it otherwise"));
        }
        found
    }

    fn entry(&self, entry: &Entry) -> Vec<Diagnostic> {
        let Entry { key, key_at, value, value_at } = entry;
        let text = match (key.as_str(), value) {
            ("metadata", Node::Table { nested }) => {
                return Vec::from_iter(nested.then(|| {
                    self.warning(WRONG_TYPE, key_at, "`metadata` holds more than texts")
                        .help("the public rules know `KEY: TEXT` only: write lists and tables as one text")
                }));
            }
            ("metadata", _) => {
                let message = format!("`metadata` takes a table of texts, not {}", value.kind());
                return vec![
                    self.error(WRONG_TYPE, value_at, message).help("write `KEY: TEXT` lines below it"),
                ];
            }
            ("allowed-tools", Node::List) => {
                let message = "`allowed-tools` is one text by the public rules, not a list";
                return vec![
                    self.warning(WRONG_TYPE, key_at, message)
                        .help("write them on one line, with blanks between"),
                ];
            }
            (known, Node::Text(text)) if KEYS.contains(&known) => text.as_str(),
            (known, Node::Empty) if KEYS.contains(&known) => "",
            (known, _) if KEYS.contains(&known) => {
                let message = format!("`{known}` takes a text, not {}", value.kind());
                return vec![
                    self.error(WRONG_TYPE, value_at, message).help("write one text, in quotes if need be"),
                ];
            }
            (unknown, _) => {
                let message = format!("the public rules know no key `{}`", plain(unknown));
                let help = match nearest(unknown, KEYS).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "what only some agents understand may stand below `metadata`".to_owned(),
                };
                return vec![self.error(UNKNOWN_KEY, key_at, message).help(help)];
            }
        };
        let at = if value_at.is_empty() { key_at } else { value_at };
        match key.as_str() {
            "name" => self.name(text, at),
            "description" => self.description(text, at),
            "compatibility" => Vec::from_iter(self.long("compatibility", text, at, COMPATIBILITY_LENGTH)),
            _ => Vec::new(),
        }
    }

    fn name(&self, name: &str, at: &Range<usize>) -> Vec<Diagnostic> {
        let help = "lower-case letters, digits and single hyphens between them, at most 64 characters";
        if name.trim().is_empty() {
            return vec![self.error(EMPTY_VALUE, at, "`name` is empty").help(help)];
        }
        let mut found = Vec::from_iter(self.long("name", name, at, NAME_LENGTH));
        let shown = plain(name);
        let fits = |c: char| c == '-' || (c.is_alphanumeric() && !c.is_uppercase());
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") || !name.chars().all(fits) {
            found.push(self.error(NAME, at, format!("`{shown}` is no name of a skill")).help(help));
        } else if !name.is_ascii() {
            let message =
                format!("some readers take only `a` to `z`, digits and hyphens in a name like `{shown}`");
            found.push(self.warning(NAME, at, message).help(help));
        }
        if name != self.directory {
            let message =
                format!("the name `{shown}` is not that of the directory, `{}`", plain(self.directory));
            found.push(self.error(NAME_MISMATCH, at, message).help("rename one of the two"));
        }
        found
    }

    fn description(&self, text: &str, at: &Range<usize>) -> Vec<Diagnostic> {
        if text.trim().is_empty() {
            let help = "say what the skill does and when to use it";
            return vec![self.error(EMPTY_VALUE, at, "`description` is empty").help(help)];
        }
        let mut found = Vec::from_iter(self.long("description", text, at, DESCRIPTION_LENGTH));
        if text.contains(['<', '>']) {
            let message = "some readers refuse `<` and `>` in a description";
            found.push(self.warning(MARKUP, at, message).help("write it without"));
        }
        found
    }

    fn long(&self, key: &str, text: &str, at: &Range<usize>, most: usize) -> Option<Diagnostic> {
        let length = text.chars().count();
        let message = format!("`{key}` has {length} characters, at most {most} are allowed");
        (length > most).then(|| {
            self.error(TOO_LONG, at, message).help("say it shorter; the rest may stand in the text below")
        })
    }

    /// Forms that YAML has and strict readers refuse.
    fn strict(&self, entry: &Entry) -> Option<Diagnostic> {
        let after = self.yaml.get(entry.key_at.end..)?;
        let value = after.trim_start_matches(['"', '\'']).strip_prefix(':')?.trim_start_matches([' ', '\t']);
        let form = match value.chars().next()? {
            '[' | '{' => "a list or table in brackets",
            '&' => "an anchor",
            '*' => "an alias",
            '!' => "a tag",
            _ => return None,
        };
        let message = format!("readers of strict YAML refuse {form}");
        Some(
            self.warning(STRICT_YAML, &entry.key_at, message)
                .help("write each value on a line of its own, or in quotes"),
        )
    }
}

#[cfg(test)]
mod tests;
