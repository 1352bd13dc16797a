//! What the configuration files say now: those of all units that a daemon runs, and where nobody runs one, the
//! enclosing project's too.
//!
//! Invariant: they are read as a reload reads them, and nothing of it comes into force.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::{Diagnostic, HarnessName, Severity, Sources};
use crate::config::{FileKind, Harness, Loaded, Setting};
use crate::host::clock;
use crate::host::files::same_file;
use crate::loader::{self, Reading, Request, UnitState, read_units};

/// What the files say.
pub(super) struct Said {
    /// The files that are there, but for those of `projects`.
    pub(super) files: Vec<(Utf8PathBuf, FileKind)>,
    /// The projects that are listed or registered.
    pub(super) projects: Vec<UnitState>,
    /// The daemon's settings, each with who says so.
    pub(super) told: Vec<Setting>,
    /// What is in force if they are read; of a unit that is refused its last good definition.
    pub(super) harnesses: BTreeMap<HarnessName, Arc<Harness>>,
    /// All mistakes and doubts.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The texts that they point into.
    pub(super) sources: Sources,
}

impl Said {
    pub(super) fn now(request: &Request, home: &Utf8Path) -> Self {
        let mut request = request.clone();
        // What has come or gone since is as the next reading will see it.
        request.selection.look_again();
        let mut files = request.selection.present();
        let enclosing = request.selection.project.clone();
        let here = loader::load(&files, home);
        let Reading { configuration, projects, mut diagnostics, mut sources, .. } =
            read_units(request, home, clock::now().wall);
        let mut harnesses = configuration.harnesses;
        let Loaded { told, .. } = here;
        if let Some(file) = enclosing {
            // Its file counts as it is here, not as it was accepted once.
            // By whatever name it was registered.
            let own = projects.iter().filter(|project| same_file(&project.file, &file));
            let own: Vec<Utf8PathBuf> =
                own.map(|project| project.file.clone()).chain([file.clone()]).collect();
            let is_here = |one: &Diagnostic| own.contains(&one.place.file);
            diagnostics.retain(|one| !is_here(one));
            let known = diagnostics.clone();
            diagnostics
                .extend(here.diagnostics.into_iter().filter(|one| is_here(one) || !known.contains(one)));
            sources.extend(here.sources);
            harnesses.retain(|_, one| !own.contains(&one.origin.file));
            harnesses.extend(here.configuration.map(|one| one.harnesses).unwrap_or_default());
        }
        files.retain(|(file, _)| !projects.iter().any(|project| same_file(&project.file, file)));
        Self { files, projects, told, harnesses, diagnostics, sources }
    }

    /// Whether there is no mistake.
    pub(super) fn is_valid(&self) -> bool {
        self.diagnostics.iter().all(|one| one.severity != Severity::Error)
    }
}
