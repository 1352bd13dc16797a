//! The configuration: which files there are, what is wrong with them, and whether they are in force.

use super::Sight;
use crate::base::{Format, Severity, render};
use crate::config::FileKind;
use crate::wire::{ConfigState, Finding};

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
    let state = sight.patient.daemon.as_ref().map(|daemon| daemon.configuration);
    let wrong = sight.loaded.diagnostics.iter().any(|one| one.severity == Severity::Error);
    found.extend(match (state, sight.loaded.configuration.as_ref().filter(|_| !wrong)) {
        (Some(ConfigState::Rejected), Some(_)) => Some(
            Finding::warning(
                "what the files say now is valid and not in force: the last reading was refused",
            )
            .help("`harnessd reload` puts it in force"),
        ),
        (Some(ConfigState::Rejected), None) => Some(Finding::warning(
            "of what is refused the last good definition is in force, or nothing if there was none yet",
        )),
        (_, Some(valid)) => {
            Some(Finding::ok(format!("it is valid and declares {} harnesses", valid.harnesses.len())))
        }
        (_, None) => None,
    });
    found
}
