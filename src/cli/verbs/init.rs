//! `init`: a configuration file to begin with, for the agents that are found.
//!
//! Invariant: a file that is there is never written over.

use std::process::ExitCode;

use camino::Utf8Path;

use crate::adapter::Registry;
use crate::cli::args::InitArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::starter::{Kind, starter};
use crate::config::FILE_NAME;
use crate::host::files::{RewriteError, rewrite};
use crate::launch::agents;
use crate::wire::{ErrorBody, ErrorCode};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &InitArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let registry = Registry::builtin();
    let around = context.surroundings(&registry, &context.load().settings);
    let found: Vec<_> = agents(&registry, &around)
        .into_iter()
        .map(|one| one.state)
        .filter(|one| one.installed)
        .map(|one| one.agent)
        .collect();
    let (kind, file) = if args.project {
        (Kind::Project, context.cwd.join(FILE_NAME))
    } else {
        (Kind::Global, context.selection.global.file.clone())
    };
    let text = starter(kind, &found);
    if args.dry_run && !out.is_json() {
        out.bytes(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.dry_run {
        rewrite(&file, None, text.as_bytes()).map_err(|cause| refused(kind, &file, &cause))?;
    }
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    if out.is_json() {
        let written = !args.dry_run;
        out.json(&serde_json::json!({"file": file, "agents": ids, "text": text, "written": written}))?;
        return Ok(ExitCode::SUCCESS);
    }
    out.line(&format!("wrote {file}"))?;
    out.line(&match ids.as_slice() {
        [] => {
            "no agent was found: the examples in it are for Claude Code; `harnessd agents` lists the others"
                .to_owned()
        }
        ids => format!("found {}", ids.join(", ")),
    })?;
    let then = match kind {
        Kind::Global => "edit it, then `harnessd validate` checks it and `harnessd run` starts the daemon",
        Kind::Project => {
            "edit it, then `harnessd validate` checks it and `harnessd up` registers the project"
        }
    };
    out.line(then)?;
    Ok(ExitCode::SUCCESS)
}

fn refused(kind: Kind, file: &Utf8Path, cause: &RewriteError) -> Failure {
    let help = match (cause, kind) {
        (RewriteError::Nowhere, _) => {
            "make the file that it leads to, `--dry-run` prints what to begin with; or remove the link"
        }
        (RewriteError::Changed | RewriteError::Read(_), Kind::Global) => {
            "`--dry-run` prints what would be written; `harnessd validate` checks what is there; `--config` names \
             another place"
        }
        (RewriteError::Changed | RewriteError::Read(_), Kind::Project) => {
            "`--dry-run` prints what would be written; `harnessd validate` checks what is there"
        }
        (_, Kind::Global) => "choose another place with `--config`, or make the directory writable",
        (_, Kind::Project) => "make the directory writable, or go to the project's own",
    };
    let said = match cause {
        RewriteError::Changed => "it is there already".to_owned(),
        other => other.to_string(),
    };
    ErrorBody::new(ErrorCode::FileNotWritten, format!("`{file}` was not written: {said}")).help(help).into()
}
