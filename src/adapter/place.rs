//! Where an agent keeps something: a path that may begin with `~` or with one
//! of the agent's own variables.
//!
//! Invariant: resolving is pure and total. An empty variable counts as unset,
//! and a place whose variable is unset and has no default is no place.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use thiserror::Error;

/// A path expression: `~/x`, `/x`, `x`, `${VAR}/x` or `${VAR:-DEFAULT}/x`, whose default is one again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place<'a> {
    base: Base<'a>,
    rest: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Base<'a> {
    Literal,
    Variable { name: &'a str, default: Option<Box<Place<'a>>> },
}

/// Why a text is no path expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum PlaceError {
    /// Nothing at all.
    #[error("is empty")]
    Empty,
    /// `${` and no `}`.
    #[error("opens `${{` and does not close it")]
    Unclosed,
    /// The name between the braces is none.
    #[error("names no variable between `${{` and `}}`")]
    NoName,
    /// A `$` where none is understood.
    #[error("has a `$` that is not at its beginning as `${{NAME}}` or `${{NAME:-default}}`")]
    Stray,
}

impl<'a> Place<'a> {
    /// Reads an expression.
    pub(super) fn parse(text: &'a str) -> Result<Self, PlaceError> {
        if text.is_empty() {
            return Err(PlaceError::Empty);
        }
        let Some(inner) = text.strip_prefix("${") else {
            return if text.contains('$') {
                Err(PlaceError::Stray)
            } else {
                Ok(Self { base: Base::Literal, rest: text })
            };
        };
        let end = closing(inner).ok_or(PlaceError::Unclosed)?;
        let (inner, rest) = (&inner[..end], &inner[end + 1..]);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if !is_variable(name) {
            return Err(PlaceError::NoName);
        }
        if rest.contains('$') {
            return Err(PlaceError::Stray);
        }
        let default = match default {
            // `${NAME:-}` has a default that is nothing.
            Some("") => Some(Box::new(Self { base: Base::Literal, rest: "" })),
            Some(text) => Some(Box::new(Self::parse(text)?)),
            None => None,
        };
        Ok(Self { base: Base::Variable { name, default }, rest })
    }

    /// The path, as it stands with these variables and this home.
    pub(super) fn resolve(&self, env: &BTreeMap<String, String>, home: &Utf8Path) -> Option<Utf8PathBuf> {
        match &self.base {
            Base::Literal => Some(expand_home(self.rest, home)),
            Base::Variable { name, default } => {
                let base = match (set(env, name), default) {
                    (Some(value), _) => Utf8PathBuf::from(value),
                    (None, Some(default)) => default.resolve(env, home)?,
                    (None, None) => return None,
                };
                let rest = self.rest.trim_start_matches('/');
                Some(if rest.is_empty() { base } else { base.join(rest) })
            }
        }
    }

    /// The variable that it is resolved by, as it stands with these: one of the agent's own, or `HOME`.
    pub(super) fn variable(&self, env: &BTreeMap<String, String>) -> Option<&'a str> {
        match &self.base {
            Base::Literal => (self.rest == "~" || self.rest.starts_with("~/")).then_some("HOME"),
            Base::Variable { name, .. } if set(env, name).is_some() => Some(name),
            Base::Variable { default, .. } => default.as_ref()?.variable(env),
        }
    }

    /// Whether it is taken from the directory in which the agent works.
    pub(super) fn is_relative(&self) -> bool {
        self.base == Base::Literal && !self.rest.starts_with(['/', '~'])
    }
}

/// Whether `name` is one that an environment can hold and a shell can name.
pub(super) fn is_variable(name: &str) -> bool {
    name.bytes().next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// A variable's value; an empty one counts as unset.
fn set<'e>(env: &'e BTreeMap<String, String>, name: &str) -> Option<&'e String> {
    env.get(name).filter(|value| !value.is_empty())
}

/// Where the brace closes that is open where `text` begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        None
    })
}

fn expand_home(text: &str, home: &Utf8Path) -> Utf8PathBuf {
    match text.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => Utf8PathBuf::from(text),
    }
}

/// Resolves an expression that the checks have already accepted.
pub(super) fn resolve(text: &str, env: &BTreeMap<String, String>, home: &Utf8Path) -> Option<Utf8PathBuf> {
    Place::parse(text).ok()?.resolve(env, home)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use camino::Utf8Path;

    use super::{Place, PlaceError};

    /// ADP-3: a store or root follows the agent's own override, an empty one counts as unset.
    #[test]
    fn a_place_follows_the_variable_and_falls_back_to_its_default() {
        let env: BTreeMap<String, String> =
            [("SET".to_owned(), "/else".to_owned()), ("EMPTY".to_owned(), String::new())].into();
        let home = Utf8Path::new("/home/u");
        for (text, path) in [
            ("~/a/b", Some("/home/u/a/b")),
            ("~", Some("/home/u")),
            ("~user/x", Some("~user/x")),
            ("/etc/x", Some("/etc/x")),
            (".x/y", Some(".x/y")),
            ("${SET}", Some("/else")),
            ("${SET:-~/d}/x", Some("/else/x")),
            ("${EMPTY:-~/d}/x", Some("/home/u/d/x")),
            ("${UNSET:-/d}/x", Some("/d/x")),
            ("${UNSET}/x", None),
            ("${SET:-${UNSET:-~/d}/e}/x", Some("/else/x")),
            ("${UNSET:-${SET:-~/d}/e}/x", Some("/else/e/x")),
            ("${UNSET:-${EMPTY:-~/d}/e}/x", Some("/home/u/d/e/x")),
            ("${UNSET:-${EMPTY}/e}/x", None),
            ("${EMPTY}/x", None),
        ] {
            let place = Place::parse(text).unwrap();
            assert_eq!(place.resolve(&env, home).as_deref().map(Utf8Path::as_str), path, "{text}");
        }
    }

    #[test]
    fn a_broken_place_says_why() {
        for (text, error) in [
            ("", PlaceError::Empty),
            ("${X", PlaceError::Unclosed),
            ("${}/x", PlaceError::NoName),
            ("${1X}/x", PlaceError::NoName),
            ("~/$X", PlaceError::Stray),
            ("${X}/$Y", PlaceError::Stray),
            ("$X/y", PlaceError::Stray),
        ] {
            assert_eq!(Place::parse(text), Err(error), "{text}");
        }
    }
}
