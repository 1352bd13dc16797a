//! The names of harnesses and projects.
//!
//! Invariant: a [`HarnessName`] can always be used as one path segment (see
//! [`HarnessName::file_name`]); it never holds `.`, `\` or a control character.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest harness or project name, in bytes.
const LONGEST: usize = 63;

/// Why a text is no harness name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` is no harness name: {}", .0.escape_debug(), NAME_RULE)]
pub struct NameError(String);

/// Whether `text` is a legal harness or project name: `[a-z0-9][a-z0-9_-]{0,62}`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= LONGEST
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|c| plain(c) || c == b'_' || c == b'-')
}

/// The full name of a harness: `name`, or `project/name` for one that a
/// project file declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HarnessName(String);

/// The grammar of [`is_name`] for people.
pub const NAME_RULE: &str = "a name is 1 to 63 of `a-z 0-9 _ -` and begins with a letter or digit";

/// The same as a regular expression, for the JSON Schemas.
pub const NAME_PATTERN: &str = "^[a-z0-9][a-z0-9_-]{0,62}$";

impl JsonSchema for HarnessName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HarnessName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = NAME_PATTERN.trim_matches(['^', '$']);
        json_schema!({"type": "string", "pattern": format!("^({name}/)?{name}$")})
    }
}

impl HarnessName {
    /// Reads `name` or `project/name`.
    ///
    /// # Errors
    /// If either part breaks the grammar of [`is_name`].
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let legal = match text.split_once('/') {
            Some((project, local)) => is_name(project) && is_name(local),
            None => is_name(text),
        };
        if legal { Ok(Self(text.to_owned())) } else { Err(NameError(text.to_owned())) }
    }

    /// The name of harness `local` in `project`, or of a global one.
    ///
    /// # Errors
    /// If a part breaks the grammar of [`is_name`].
    pub fn new(project: Option<&str>, local: &str) -> Result<Self, NameError> {
        match project {
            Some(project) => Self::parse(&format!("{project}/{local}")),
            None if local.contains('/') => Err(NameError(local.to_owned())),
            None => Self::parse(local),
        }
    }

    /// The whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The project's part, if a project declares the harness.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        self.0.split_once('/').map(|(project, _)| project)
    }

    /// The part that the declaring file holds.
    #[must_use]
    pub fn local(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, local)| local)
    }

    /// The name as one path segment: `/` is written `@`.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.0.replace('/', "@")
    }
}

impl fmt::Display for HarnessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for HarnessName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<HarnessName> for String {
    fn from(name: HarnessName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;
    use schemars::{JsonSchema, SchemaGenerator};

    use super::{HarnessName, NAME_PATTERN, is_name};

    /// CFG-3: the grammar of names, and `/` written `@` in file names.
    #[test]
    fn a_name_is_safe_as_a_path_segment() {
        for good in ["a", "0", "a-b_c", &"x".repeat(63)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "A", "-a", "_a", "a.b", "..", "a b", "é", "a\n", &"x".repeat(64)] {
            assert!(!is_name(bad), "{bad:?}");
        }
        for bad in ["a/b/c", "/a", "a/", "../x", "a/../b"] {
            assert!(HarnessName::parse(bad).is_err(), "{bad:?}");
        }
        let name = HarnessName::new(Some("web"), "sweep").unwrap();
        assert_eq!((name.project(), name.local()), (Some("web"), "sweep"));
        assert_eq!(name.file_name(), "web@sweep");
    }

    /// CFG-11: the schemas' patterns are the grammar that is read.
    #[test]
    fn the_patterns_are_the_grammar() {
        let schema = HarnessName::json_schema(&mut SchemaGenerator::default()).to_value();
        let full = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
        let one = Regex::new(NAME_PATTERN).unwrap();
        let (long, longer) = ("x".repeat(63), "x".repeat(64));
        let pair = format!("{long}/{long}");
        for text in
            ["a", "0", "a-b_c", &long, "", "A", "-a", "a.b", "é", &longer, "a/b", &pair, "a/", "/a", "a/b/c"]
        {
            assert_eq!(one.is_match(text), is_name(text), "{text:?}");
            assert_eq!(full.is_match(text), HarnessName::parse(text).is_ok(), "{text:?}");
        }
    }
}
