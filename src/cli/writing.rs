//! What all verbs that write configuration files share: one way from a file to its next text.
//!
//! Invariant: nothing is written unless the whole of the new text was found valid, and then only
//! while the file holds what was read.

mod target;

use std::process::ExitCode;

use serde_json::json;

use super::args::WriteArgs;
use super::context::Context;
use super::failure::Failure;
use super::output::{Output, counted};
use crate::base::{Diagnostic, Format, Severity, harmless, json_one, render};
use crate::config::{Loaded, decode, written};
use crate::edit::{self, EditError};
use crate::host::files::{self, ReadProblem, RewriteError};
use crate::loader;
use crate::wire::{ErrorBody, ErrorCode};

pub(super) use target::Target;

/// The path of a key below its harness's table: what follows the first dot is one name.
fn steps(key: &str) -> Vec<&str> {
    key.split_once('.').map_or_else(|| vec![key], |(table, inner)| vec![table, inner])
}

/// Gives a key of a declared harness a value.
pub(super) fn set(
    context: &Context,
    (name, key, value): (&str, &str, &str),
    args: &WriteArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let target = Target::declared(context, name, args.file.as_deref())?;
    let inner = steps(key);
    let value = written(&inner, value);
    write(context, &target, args, out, |text| edit::set(text, &target.path(&inner), &value))
}

/// Takes a key of a declared harness out, or all of it.
pub(super) fn unset(
    context: &Context,
    (name, key): (&str, Option<&str>),
    args: &WriteArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let target = Target::declared(context, name, args.file.as_deref())?;
    let inner = key.map(steps).unwrap_or_default();
    write(context, &target, args, out, |text| edit::unset(text, &target.path(&inner)))
}

/// Declares a harness.
pub(super) fn add(
    context: &Context,
    name: &str,
    keys: &[(&'static str, String)],
    args: &WriteArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let target = Target::new(context, name, args.file.as_deref())?;
    let entries = keys.iter().map(|(key, value)| (vec![*key], written(&[key], value)));
    let entries: Vec<_> = entries.collect();
    write(context, &target, args, out, |text| edit::add(text, &target.path(&[]), &entries))
}

/// Reads the target, edits its text, checks it and writes it.
fn write(
    context: &Context,
    target: &Target,
    args: &WriteArgs,
    out: &mut Output,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<ExitCode, Failure> {
    let before = match files::read_config(&target.file) {
        Ok(bytes) => Some(bytes),
        Err(ReadProblem::Missing) if target.may_be_new => None,
        Err(problem) => return Err(not_written(target, &problem.to_string(), None)),
    };
    let judge =
        |text: &str| loader::rehearse(&context.selection, &target.file, target.kind, text, &context.home);
    let bytes = before.clone().unwrap_or_default();
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) { "\u{feff}" } else { "" };
    let old = decode(&target.file, bytes).map_err(|wrong| invalid(target, vec![wrong], judge("")))?;
    let new = match edit(&old) {
        Ok(new) => new,
        Err(EditError::Syntax(_)) => {
            let judged = judge(&old);
            return Err(invalid(target, judged.diagnostics.clone(), judged));
        }
        Err(problem) => return Err(refused(target, &problem)),
    };
    let judged = judge(&new);
    if judged.diagnostics.iter().any(|one| one.severity == Severity::Error) {
        return Err(invalid(target, judged.diagnostics.clone(), judged));
    }
    let changed = new != old;
    if changed && !args.dry_run {
        let whole = format!("{mark}{new}");
        files::rewrite(&target.file, before.as_deref(), whole.as_bytes()).map_err(|problem| {
            let help = match problem {
                RewriteError::Changed => "say it again: the edit is then made in what the file holds now",
                RewriteError::ReadOnly => "change its mode, or edit the file that it is made from",
                RewriteError::Nowhere => {
                    "make the file that it leads to (it may be empty), or remove the link"
                }
                RewriteError::Owner(_) => "edit it as the user that it belongs to",
                _ => "the file is replaced whole, so its directory must be writable as well",
            };
            not_written(target, &problem.to_string(), Some(help))
        })?;
    }
    let diff = edit::diff(target.file.as_str(), &old, &new);
    if out.is_json() {
        let found: Vec<_> = judged.diagnostics.iter().map(|one| json_one(one, &judged.sources)).collect();
        out.json(&json!({"harness": target.full, "file": target.file, "changed": changed,
            "written": changed && !args.dry_run, "diff": diff, "diagnostics": found}))?;
    } else if args.dry_run {
        out.bytes(harmless(&diff).as_bytes())?;
    } else {
        let mut doubts = judged.diagnostics;
        doubts.retain(|one| one.harness.as_ref() == Some(&target.full));
        let format = Format::Human { color: Output::color(&context.env) };
        out.bytes(render(&doubts, &judged.sources, format).as_bytes())?;
        let done = if changed { "written" } else { "unchanged, it says so already" };
        out.line(&format!("{}: {done}", target.file))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn invalid(target: &Target, diagnostics: Vec<Diagnostic>, judged: Loaded) -> Failure {
    let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    let message = format!("nothing was written: {} would have {}", target.file, counted(errors, "error"));
    let body = ErrorBody::new(ErrorCode::ConfigInvalid, message).help(
        "the places are those of the text as it would be; a file that has errors already is mended first",
    );
    Failure::Invalid { body, diagnostics, sources: judged.sources }
}

fn refused(target: &Target, problem: &EditError) -> Failure {
    let Target { file, full, .. } = target;
    let (message, help) = match problem {
        EditError::Missing(path) => (
            format!("harness `{full}` has no key of its own to take out: there is no `{path}` in {file}"),
            "what it has from `[defaults]` or by itself is changed by `set`",
        ),
        EditError::Present(_) => (
            format!("harness `{full}` is declared in {file} already"),
            "choose another name, or change it by `set`",
        ),
        other => (format!("nothing was written: {file}: {other}"), "edit the file by hand"),
    };
    ErrorBody::new(ErrorCode::BadRequest, message).help(help).into()
}

fn not_written(target: &Target, problem: &str, help: Option<&str>) -> Failure {
    let body = ErrorBody::new(ErrorCode::FileNotWritten, format!("{}: {problem}", target.file));
    match help {
        Some(help) => body.help(help).into(),
        None => body.into(),
    }
}
