//! `ps`: the harnesses of the enclosing project, outside of one those of all projects.

use std::process::ExitCode;

use super::list::print;
use super::read;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::{ConfigState, Op, ProjectsView};

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    let key = context.project_key().filter(|_| !context.is_global());
    let answer = context.call(Op::Ps { file: key.as_ref().map(ToString::to_string) })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ProjectsView { projects, harnesses } = read(answer)?;
    for project in &projects {
        let name = project.name.as_deref().unwrap_or("?");
        let place = &project.file;
        match (project.state, project.changed_since_up) {
            (ConfigState::Rejected, _) => {
                out.line(&format!("project `{name}` has errors: see `harnessd status` ({place})"))?
            }
            (ConfigState::Ok, true) => out.line(&format!(
                "project `{name}` has changed since `up`: `harnessd up` applies it ({place})"
            ))?,
            (ConfigState::Ok, false) => {}
        }
    }
    let none = match (key, projects.is_empty()) {
        (Some(key), true) => format!("the project is not up: `harnessd up` registers it ({key})"),
        (None, true) => "no project is up".to_owned(),
        (_, false) => "no harness is declared".to_owned(),
    };
    print(&harnesses, &none, out)?;
    Ok(ExitCode::SUCCESS)
}
