//! Which configuration files there are (CFG-1, CFG-3), read and handed to the pure core.
//!
//! Invariant: a file that cannot be read is a diagnostic like any other mistake;
//! nothing is started and nothing is written.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::adapter::Registry;
use crate::base::{Diagnostic, Place};
use crate::config::{
    self, Configuration, DaemonSettings, EnvFile, FileKind, GlobalCandidates, Input, Loaded, Lookup,
    PromptFile, Surroundings, global_candidates, project_candidates,
};
use crate::host::files;
use crate::host::zone;

/// The global file, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalFile {
    /// Its absolute name.
    pub file: Utf8PathBuf,
    /// Whether it was named explicitly: then it must exist (CFG-1).
    pub named: bool,
}

/// The files that one invocation is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The global file, whether it exists or not.
    pub global: GlobalFile,
    /// The enclosing project's file.
    pub project: Option<Utf8PathBuf>,
}

impl Selection {
    /// Finds the files: `flag` is `--config`, `cwd` the directory of the caller.
    #[must_use]
    pub fn find(
        flag: Option<&Utf8Path>,
        env: &BTreeMap<String, String>,
        cwd: &Utf8Path,
        home: &Utf8Path,
    ) -> Self {
        let global = match global_candidates(flag, env, home) {
            GlobalCandidates::Named(file) => GlobalFile { file: cwd.join(file), named: true },
            GlobalCandidates::Search(places) => {
                let existing = places.iter().find(|place| is_there(place)).or(places.first());
                GlobalFile { file: existing.cloned().unwrap_or_default(), named: false }
            }
        };
        let project = project_candidates(cwd, home)
            .into_iter()
            .find(|file| file.exists() && !files::same_file(file, &global.file));
        Self { global, project }
    }

    /// The files whose change is noticed by the daemon.
    #[must_use]
    pub fn watched(&self) -> Vec<Utf8PathBuf> {
        vec![self.global.file.clone()]
    }

    /// The global file, if it is there or was named, and the project's file.
    #[must_use]
    pub fn present(&self) -> Vec<(Utf8PathBuf, FileKind)> {
        let global = Some(&self.global).filter(|global| global.named || may_be_there(&global.file));
        let global = global.map(|global| (global.file.clone(), FileKind::Global));
        let project = self.project.clone().map(|file| (file, FileKind::Project));
        global.into_iter().chain(project).collect()
    }
}

/// Whether a place that is searched holds a file; one that this user may not look into holds none.
fn is_there(place: &Utf8Path) -> bool {
    place.try_exists().unwrap_or_else(|error| error.kind() != ErrorKind::PermissionDenied)
}

/// Whether a file is there or that cannot be told: then reading it says why. Taken for absent, a
/// configuration that a disk does not give for a moment would end every harness.
fn may_be_there(file: &Utf8Path) -> bool {
    file.try_exists().unwrap_or(true)
}

/// The name of the project that a file declares, as far as the file can be read.
///
/// # Errors
/// What is wrong with the file, in words.
pub fn project_name(file: &Utf8Path) -> Result<String, String> {
    let text = read(file).map_err(|diagnostic| diagnostic.message)?;
    config::project_name(&Input { file: file.to_owned(), kind: FileKind::Project, text })
        .map_err(|diagnostic| diagnostic.message)
}

/// A configuration without harnesses.
#[must_use]
pub fn nothing(settings: &DaemonSettings) -> Configuration {
    Configuration {
        daemon: settings.clone(),
        harnesses: BTreeMap::new(),
        registry: Registry::builtin(),
        notify: None,
        profiles: BTreeMap::new(),
        files: Vec::new(),
    }
}

/// Reads and checks the global file alone: what the daemon runs.
#[must_use]
pub fn load_global(selection: &Selection, home: &Utf8Path) -> Loaded {
    let global = selection.present().into_iter().filter(|(_, kind)| *kind == FileKind::Global);
    load(&global.collect::<Vec<_>>(), home)
}

/// Reads and checks one file by itself (CFG-9): what the selected global file says about adapters
/// and defaults is known to it, but only this file's mistakes are told.
#[must_use]
pub fn load_alone(selection: &Selection, file: &Utf8Path, kind: FileKind, home: &Utf8Path) -> Loaded {
    let one = (file.to_owned(), kind);
    let global = selection.present().into_iter().filter(|(_, known)| *known == FileKind::Global);
    let list: Vec<_> = match kind {
        FileKind::Global => vec![one],
        FileKind::Project => global.chain([one]).collect(),
    };
    let mut loaded = load(&list, home);
    loaded.diagnostics.retain(|one| one.place.file == file);
    loaded.sources.keep(file);
    loaded
}

/// Reads and checks files together.
#[must_use]
pub fn load(list: &[(Utf8PathBuf, FileKind)], home: &Utf8Path) -> Loaded {
    let mut inputs = Vec::new();
    let mut unread = Vec::new();
    for (file, kind) in list {
        match read(file) {
            Ok(text) => inputs.push(Input { file: file.clone(), kind: *kind, text }),
            Err(diagnostic) => unread.push(*diagnostic),
        }
    }
    let surroundings =
        Surroundings { home: home.to_owned(), zone: zone::system(), env: files::text_environment() };
    let mut loaded = config::load(&inputs, &surroundings, &Disk);
    if !unread.is_empty() {
        loaded.configuration = None;
        loaded.diagnostics.extend(unread);
        let order = |one: &Diagnostic| list.iter().position(|(file, _)| *file == one.place.file);
        loaded.diagnostics.sort_by_key(order);
    }
    loaded
}

fn read(file: &Utf8Path) -> Result<String, Box<Diagnostic>> {
    let bytes = files::read_config(file).map_err(|cause| {
        let place = Place { file: file.to_owned(), span: None };
        let unreadable = Diagnostic::error("harnessd::config::unreadable", place, cause.to_string());
        Box::new(unreadable.help("name a readable TOML file"))
    })?;
    config::decode(file, bytes).map_err(Box::new)
}

/// Answers the core's questions about files from the disk.
struct Disk;

impl Lookup for Disk {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        match files::prompt_file_state(path) {
            files::PromptFileState::Good => PromptFile::Good,
            files::PromptFileState::Missing => PromptFile::Missing,
            files::PromptFileState::NotRegular => PromptFile::NotRegular,
            files::PromptFileState::Unreadable(cause) => PromptFile::Unreadable(cause),
            files::PromptFileState::NotUtf8 => PromptFile::NotUtf8,
            files::PromptFileState::Blank => PromptFile::Blank,
        }
    }

    fn env_file(&self, path: &Utf8Path) -> EnvFile {
        match files::env_file_state(path) {
            files::EnvFileState::Good => EnvFile::Good,
            files::EnvFileState::Missing => EnvFile::Missing,
            files::EnvFileState::Unreadable(cause) => EnvFile::Unreadable(cause),
            files::EnvFileState::WorldReadable => EnvFile::WorldReadable,
        }
    }
}
