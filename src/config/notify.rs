//! `[notify]`: the command that hears of ended runs (RUN-5).
//!
//! Invariant: it comes out only if nothing was wrong with its table.

use std::sync::Arc;
use std::time::Duration;

use figment::Figment;

use super::checks::{elements, program};
use super::codes::{BAD_VALUE, EMPTY_VALUE, MISSING_COMMAND};
use super::document::File;
use super::keys::NOTIFY_KEYS;
use super::layers::{dict_of, extract};
use super::model::Notify;
use super::raw::RawNotify;
use super::scalar::{Element, FromText};
use super::scope::Scope;
use crate::base::{Diagnostic, Outcome};

/// The time that the command may take where nothing is said.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the `[notify]` table of a global file.
pub(super) fn notify(file: &File) -> (Option<Arc<Notify>>, Vec<Diagnostic>) {
    let path = ["notify"];
    let Some(table) = file.table(&path) else { return (None, Vec::new()) };
    let read = extract::<RawNotify>(&Figment::new(), file, &path, dict_of(table), NOTIFY_KEYS);
    let raw = read.value.unwrap_or_default();
    let mut scope =
        Scope { file, path: path.to_vec(), table, harness: None, broken: read.broken, found: read.found };
    if !scope.has("command") {
        let diagnostic = Diagnostic::error(MISSING_COMMAND, scope.header(), "`[notify]` names no `command`");
        scope.note(
            diagnostic
                .help("add `command` with a program, which gets each run as JSON on its standard input"),
        );
    }
    program(&mut scope, "command", raw.command.as_ref());
    let on = outcomes(&mut scope, raw.on.as_deref());
    let made = raw.command.filter(|_| !scope.failed()).map(|words| {
        Arc::new(Notify {
            command: words.command(),
            on,
            timeout: raw.timeout.map_or(TIMEOUT, |bound| bound.0.0),
        })
    });
    (made, scope.found)
}

/// The outcomes that `on` lists, each once; with no list those that ask for a person.
fn outcomes(scope: &mut Scope<'_>, list: Option<&[Element]>) -> Vec<Outcome> {
    let Some(list) = list else {
        return Outcome::ALL.iter().copied().filter(|outcome| outcome.is_failure()).collect();
    };
    elements(scope, "on", Some(list));
    let mut outcomes = Vec::new();
    for (at, word) in list.iter().enumerate() {
        let Some(word) = word.text().filter(|word| !word.contains('\0')) else { continue };
        match Outcome::from_text(word) {
            Ok(outcome) if outcomes.contains(&outcome) => {}
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                let (message, help) = error.split_once('\n').unwrap_or((&error, "name an outcome"));
                let place = scope.value(&["on", &at.to_string()]);
                scope.spoil("on", Diagnostic::error(BAD_VALUE, place, format!("`on`: {message}")).help(help));
            }
        }
    }
    if list.is_empty() {
        let diagnostic = Diagnostic::error(EMPTY_VALUE, scope.value(&["on"]), "`on` is empty");
        scope.spoil(
            "on",
            diagnostic
                .help("name an outcome, or leave `on` out: then it is told of all that ask for a person"),
        );
    }
    outcomes
}
