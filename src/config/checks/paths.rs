//! Keys that name files and directories.
//!
//! Invariant: what lies at a path is asked of the lookup, once a key.

use camino::Utf8PathBuf;

use crate::base::{Diagnostic, Place};
use crate::config::codes::{ENV_FILE_MISSING, ENV_FILE_READABLE, ENV_FILE_UNREADABLE, PROMPT_FILE};
use crate::config::path::{PathError, resolve};
use crate::config::raw::RawHarness;
use crate::config::scope::Scope;
use crate::config::{Context, EnvFile, PromptFile};

fn bad_path(error: &PathError, key: &str, place: Place) -> Diagnostic {
    Diagnostic::error(error.code(), place, format!("`{key}`: {error}")).help(error.help())
}

/// Every entry of `skill_paths`.
pub(super) fn skill_paths(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    if !scope.has("skill_paths") {
        return;
    }
    for (at, entry) in raw.skill_paths.iter().flatten().enumerate() {
        let Some(Err(error)) = entry.text().map(|text| resolve(text, &scope.file.dir, context.home)) else {
            continue;
        };
        let place = scope.value(&["skill_paths", &at.to_string()]);
        scope.spoil("skill_paths", bad_path(&error, &format!("skill_paths[{at}]"), place));
    }
}

/// Resolves a path key, or says why it cannot be.
pub(super) fn path(
    scope: &mut Scope<'_>,
    key: &str,
    text: Option<&str>,
    context: &Context<'_>,
) -> Option<Utf8PathBuf> {
    let text = text.filter(|_| scope.says(key))?;
    match resolve(text, &scope.file.dir, context.home) {
        Ok(path) => Some(path),
        Err(error) => {
            let place = scope.value(&[key]);
            scope.spoil(key, bad_path(&error, key, place));
            None
        }
    }
}

/// `prompt_file` must be usable (PRM-2).
pub(super) fn prompt_file(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    let Some(path) = path(scope, "prompt_file", raw.prompt_file.as_deref(), context) else { return };
    let (why, help) = match context.lookup.prompt_file(&path) {
        PromptFile::Good => return,
        PromptFile::Missing => ("does not exist".to_owned(), "create it, or mend the path"),
        PromptFile::NotRegular => ("is no regular file".to_owned(), "name a file, not a directory or device"),
        PromptFile::Unreadable(cause) => (format!("cannot be read: {cause}"), "mend its permissions"),
        PromptFile::NotUtf8 => ("is no UTF-8 text".to_owned(), "save it as UTF-8"),
        PromptFile::Blank => {
            ("holds nothing but white space".to_owned(), "write in it what the agent is to do")
        }
    };
    let whose = scope.harness.as_ref().map_or(String::new(), |name| format!(" of harness `{name}`"));
    let message = format!("the prompt file `{path}`{whose} {why}");
    let place = scope.value(&["prompt_file"]);
    scope.spoil("prompt_file", Diagnostic::error(PROMPT_FILE, place, message).help(help));
}

/// `env_file` need not be there, but that is said.
pub(super) fn env_file(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    let Some(path) = path(scope, "env_file", raw.env_file.as_deref(), context) else { return };
    let place = scope.value(&["env_file"]);
    let (code, why, help) = match context.lookup.env_file(&path) {
        EnvFile::Good => return,
        EnvFile::Missing => {
            (ENV_FILE_MISSING, "does not exist".to_owned(), "runs start without it until it does".to_owned())
        }
        EnvFile::Unreadable(cause) => {
            (ENV_FILE_UNREADABLE, format!("cannot be read: {cause}"), "mend its permissions".to_owned())
        }
        EnvFile::WorldReadable => {
            (ENV_FILE_READABLE, "can be read by everybody".to_owned(), format!("`chmod 600 {path}`"))
        }
    };
    let message = format!("the environment file `{path}` {why}");
    scope.note(Diagnostic::warning(code, place, message).help(help));
}
