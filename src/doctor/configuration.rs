//! The configuration: which files there are, what is wrong with them, and whether they are in force.

use super::Sight;
use crate::base::{Format, Severity, render};
use crate::config::FileKind;
use crate::wire::{ConfigState, Finding, ProjectView};

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let selection = &sight.patient.selection;
    let mut found = Vec::new();
    let how =
        if selection.global.named { "by `--config` or `HARNESSD_CONFIG`" } else { "in its usual place" };
    for (file, kind) in selection.present() {
        found.push(Finding::note(match kind {
            FileKind::Global => format!("the global file is `{file}`, {how}"),
            FileKind::DropIn => format!("a drop-in is `{file}`"),
            FileKind::Project => format!("the project's file is `{file}`"),
        }));
    }
    if found.is_empty() {
        let text = format!("there is no configuration file; `{}` would be read", selection.global.file);
        found.push(Finding::note(text).help("`harnessd init` writes one to begin with"));
    }
    for one in &sight.loaded.diagnostics {
        let text = render(std::slice::from_ref(one), &sight.loaded.sources, Format::Short);
        let finding = match one.severity {
            Severity::Error => Finding::error(text.trim_end()),
            Severity::Warning => Finding::warning(text.trim_end()),
        };
        found.push(Finding { help: one.help.clone(), ..finding });
    }
    let daemon = sight.patient.daemon.as_ref();
    let projects = daemon.map_or(&[][..], |daemon| &daemon.projects);
    found.extend(projects.iter().filter_map(of_project));
    let refused = projects.iter().any(|one| one.state == ConfigState::Rejected);
    let state = daemon.map(|daemon| daemon.configuration);
    found.extend(match (state, &sight.loaded.configuration) {
        // What was refused is a project's.
        (Some(ConfigState::Rejected), Some(_)) if refused => None,
        (Some(ConfigState::Rejected), Some(_)) => Some(
            Finding::warning(
                "what the files say now is valid and not in force: the last reading was refused",
            )
            .help("`harnessd reload` puts it in force"),
        ),
        (Some(ConfigState::Rejected), None) => {
            Some(Finding::warning("the last good configuration is in force, or none if there was none yet"))
        }
        (_, Some(valid)) => {
            let count = valid.harnesses.len();
            let plural = if count == 1 { "" } else { "es" };
            Some(Finding::ok(format!("it is valid and declares {count} harness{plural}")))
        }
        (_, None) => None,
    });
    found
}

/// What is to be done about a project that the daemon has.
fn of_project(project: &ProjectView) -> Option<Finding> {
    let ProjectView { name, file, state, changed_since_up, .. } = project;
    let name = name.as_deref().unwrap_or("?");
    match (state, changed_since_up) {
        (ConfigState::Rejected, _) => {
            let text = format!("project `{name}` was refused; a last good definition stays in force: {file}");
            Some(Finding::error(text).help("`harnessd status` shows each mistake with its place"))
        }
        (ConfigState::Ok, true) => {
            let text = format!("project `{name}` has changed since `up`: {file}");
            Some(Finding::note(text).help("`harnessd up` in its directory applies it"))
        }
        (ConfigState::Ok, false) => None,
    }
}
