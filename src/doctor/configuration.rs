//! The configuration: which files there are, what is wrong with them, and whether they are in force.

use super::Sight;
use crate::base::{Format, Severity, render};
use crate::config::FileKind;
use crate::wire::{ConfigState, Finding};

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let (said, global) = (sight.said, &sight.patient.request.selection.global);
    let mut found = Vec::new();
    let how = if global.named { "by `--config` or `HARNESSD_CONFIG`" } else { "in its usual place" };
    for (file, kind) in &said.files {
        found.push(Finding::note(match kind {
            FileKind::Global => format!("the global file is `{file}`, {how}"),
            FileKind::DropIn => format!("a drop-in is `{file}`"),
            FileKind::Project => format!("the project's file is `{file}`"),
        }));
    }
    if found.is_empty() && said.projects.is_empty() {
        let text = format!("there is no configuration file; `{}` would be read", global.file);
        found.push(Finding::note(text).help("`harnessd init` writes one to begin with"));
    }
    for one in &said.diagnostics {
        let text = render(std::slice::from_ref(one), &said.sources, Format::Short);
        let finding = match one.severity {
            Severity::Error => Finding::error(text.trim_end()),
            Severity::Warning => Finding::warning(text.trim_end()),
        };
        found.push(Finding { help: one.help.clone(), ..finding });
    }
    let state = sight.patient.daemon.as_ref().map(|daemon| daemon.configuration);
    found.extend(match (state, said.is_valid()) {
        (Some(ConfigState::Rejected), true) => Some(
            Finding::warning(
                "what the files say now is valid and not in force: the last reading was refused",
            )
            .help("`harnessd reload` puts it in force"),
        ),
        (Some(ConfigState::Rejected), false) => Some(Finding::warning(
            "of what is refused the last good definition is in force, or none if there was none yet",
        )),
        (_, true) => {
            let count = said.harnesses.len();
            let plural = if count == 1 { "" } else { "es" };
            Some(Finding::ok(format!("it is valid and declares {count} harness{plural}")))
        }
        (_, false) => None,
    });
    found
}
