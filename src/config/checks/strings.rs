//! Lists and tables whose elements are strings.
//!
//! Invariant: each wrong element is reported by itself.

use crate::base::{Diagnostic, quoted};
use crate::config::codes::{BAD_VARIABLE, NUL_CHARACTER, RESERVED_VARIABLE, WRONG_TYPE};
use crate::config::raw::RawHarness;
use crate::config::scalar::Element;
use crate::config::scope::Scope;

/// Every element must be a string without NUL.
pub(in crate::config) fn elements(scope: &mut Scope<'_>, key: &str, list: Option<&[Element]>) {
    let Some(list) = list.filter(|_| scope.says(key)) else { return };
    for (at, element) in list.iter().enumerate() {
        let index = at.to_string();
        match element {
            Element::Other => not_a_string(scope, key, &index, &format!("{key}[{at}]"), ""),
            Element::Text(text) if text.contains('\0') => {
                nul(scope, key, &format!("{key}[{at}]"), &[key, &index]);
            }
            Element::Text(_) => {}
        }
    }
}

/// A text at `path` that no program can be handed spoils `key`.
pub(super) fn nul(scope: &mut Scope<'_>, key: &str, shown: &str, path: &[&str]) {
    let message = format!("`{shown}` holds a NUL character, which no program can be handed");
    let place = scope.value(path);
    scope.spoil(key, Diagnostic::error(NUL_CHARACTER, place, message).help("remove the `\\u0000`"));
}

fn not_a_string(scope: &mut Scope<'_>, key: &str, step: &str, shown: &str, before: &str) {
    let path = scope.below(&[key, step]);
    let node = scope.file.node(&path);
    let kind = node.map_or("this", |node| node.kind());
    let bare = scope.file.source(&path).filter(|_| node.is_some_and(|node| node.is_bare()));
    let help = match bare {
        Some(text) => format!("write `{before}\"{text}\"`"),
        None if key == "env" => "the value of a variable is one string".to_owned(),
        None => "every element is one string".to_owned(),
    };
    let place = scope.value(&[key, step]);
    let message = format!("`{shown}` takes a string, not {kind}");
    scope.spoil(key, Diagnostic::error(WRONG_TYPE, place, message).help(help));
}

/// Names and values of `env`.
pub(super) fn variables(scope: &mut Scope<'_>, raw: &RawHarness) {
    if !scope.says("env") {
        return;
    }
    let own = scope.file.table(&scope.below(&["env"]));
    let entries = raw.env.iter().flatten().filter(|(name, _)| own.is_some_and(|own| own.contains_key(name)));
    for (name, value) in entries {
        let shown = quoted(name);
        let place = scope.key(&["env", name]);
        if name.is_empty() || name.contains(['=', '\0']) {
            let what = if name.is_empty() { "an empty text".to_owned() } else { format!("`{shown}`") };
            let message = format!("{what} cannot be the name of an environment variable");
            let diagnostic = Diagnostic::error(BAD_VARIABLE, place, message)
                .help("a name is not empty and holds neither `=` nor a NUL character");
            scope.spoil("env", diagnostic);
        } else if name.starts_with("HARNESSD_") {
            let message = format!("`{shown}` is reserved: harnessd sets `HARNESSD_*` for each run itself");
            let diagnostic = Diagnostic::error(RESERVED_VARIABLE, place, message).help("choose another name");
            scope.spoil("env", diagnostic);
        }
        match value {
            Element::Other => {
                not_a_string(scope, "env", name, &format!("env.{shown}"), &format!("{name} = "));
            }
            Element::Text(text) if text.contains('\0') => {
                nul(scope, "env", &format!("env.{shown}"), &["env", name]);
            }
            Element::Text(_) => {}
        }
    }
}
