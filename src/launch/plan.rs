//! What a draft says, for people and scripts (RUN-6).
//!
//! Invariant: no prompt, secret, value of a variable or id of a session stands in it.

use super::draft::{Chosen, Draft};
use super::environment::log_file;
use super::error::LaunchError;
use crate::host::process::StdinSource;
use crate::wire::{ErrorBody, Execution, PlannedInput, PlannedSession, PlannedStart};

/// What stands for the id of the run, which only the start itself makes.
const SHOWN_RUN: &str = "<run>";

/// The start that was drafted, or why it would fail; `odd` is what whoever chose its session says of it.
#[must_use]
pub fn plan(drafted: Result<Draft<'_>, LaunchError>, odd: Option<String>) -> PlannedStart {
    match drafted {
        Ok(draft) => PlannedStart::Executes(Box::new(execution(&draft, odd))),
        Err(cause) => PlannedStart::Fails { failure: ErrorBody::new(cause.code(), cause.to_string()) },
    }
}

fn execution(draft: &Draft<'_>, odd: Option<String>) -> Execution {
    let Draft { brief, skills, command, warnings, .. } = draft;
    let preview = skills.as_ref().map(|skills| skills.preview());
    let projected = preview.into_iter().flat_map(|preview| &preview.warnings).map(ToString::to_string);
    let run = brief.run.to_string();
    let log = log_file(&brief.around.state, &brief.harness.name, brief.run);
    let names = command.spec.env.iter().map(|(name, _)| name.to_string_lossy().into_owned());
    Execution {
        program: command.spec.program.to_string(),
        command: command.shown.clone(),
        workdir: brief.workdir.to_string(),
        environment: names.collect(),
        stdin: match command.spec.stdin {
            StdinSource::Null => PlannedInput::Nothing,
            StdinSource::Terminal => PlannedInput::Terminal,
            StdinSource::Bytes(_) => PlannedInput::Prompt,
        },
        session: match brief.session {
            Chosen::Fresh => PlannedSession::New,
            Chosen::Resume(_) | Chosen::Fork(_) => PlannedSession::Resumed,
        },
        log: log.as_str().replace(&run, SHOWN_RUN),
        skills: skills.as_ref().and_then(|skills| skills.view(skills.preview().changes.clone())),
        documents: command.documents.iter().map(|(path, _)| path.to_string()).collect(),
        warnings: warnings
            .iter()
            .cloned()
            .chain(projected)
            .chain(command.warnings.clone())
            .chain(odd)
            .collect(),
    }
}
