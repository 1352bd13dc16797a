//! Programs with their arguments, as `check` and the `command` of `[notify]` name them.
//!
//! Invariant: what passes has a program, and every word of it can be handed to one.

use super::strings::{elements, nul};
use crate::base::Diagnostic;
use crate::config::codes::{EMPTY_VALUE, SHELL_LINE};
use crate::config::scalar::{Element, Words};
use crate::config::scope::Scope;

/// A list of a program and its arguments, or a program alone.
pub(in crate::config) fn program(scope: &mut Scope<'_>, key: &str, words: Option<&Words>) {
    let Some(words) = words.filter(|_| scope.says(key)) else { return };
    let only = match words {
        Words::Alone(program) if program.contains('\0') => return nul(scope, key, key, &[key]),
        Words::Alone(program) if program.trim().is_empty() => return empty(scope, key, key, &[key]),
        Words::Alone(program) => Some(program.as_str()),
        Words::List(list) if list.is_empty() => return empty(scope, key, key, &[key]),
        Words::List(list) => {
            elements(scope, key, Some(list));
            for (at, word) in list.iter().enumerate() {
                if word.text().is_some_and(|word| word.trim().is_empty()) {
                    empty(scope, key, &format!("{key}[{at}]"), &[key, &at.to_string()]);
                }
            }
            list.first().and_then(Element::text).filter(|_| list.len() == 1)
        }
    };
    if let Some(only) = only.filter(|_| scope.says(key)) {
        shell_line(scope, key, only, |program, args| format!("`{key} = [{program}, {args}]`"));
    }
}

fn empty(scope: &mut Scope<'_>, key: &str, shown: &str, path: &[&str]) {
    let place = scope.value(path);
    let diagnostic = Diagnostic::error(EMPTY_VALUE, place, format!("`{shown}` is empty"));
    let help = match path {
        [_] => "name a program, alone or as the first word of a list",
        [_, "0"] => "the first word names the program",
        _ => "give it a value, or leave it out of the list",
    };
    scope.spoil(key, diagnostic.help(help));
}

/// A program's name may hold a space, but `cmd = "claude -p"` is the likelier reading. `written` makes
/// of the program and its arguments, both quoted, what should stand there.
pub(super) fn shell_line(
    scope: &mut Scope<'_>,
    key: &str,
    text: &str,
    written: impl Fn(&str, &str) -> String,
) {
    let Some((program, rest)) = text.trim().split_once(char::is_whitespace) else { return };
    if program.contains('/') {
        return;
    }
    let args = rest.split_whitespace().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let message =
        format!("`{key}` is one program, not a shell line: `{}` is looked up as a whole", text.trim());
    let place = scope.value(&[key]);
    let help = format!("write {}", written(&format!("{program:?}"), &args));
    scope.note(Diagnostic::warning(SHELL_LINE, place, message).help(help));
}
