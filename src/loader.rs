//! Which configuration files there are (CFG-1, CFG-3), read and handed to the pure core.
//!
//! Invariant: a file that cannot be read is a diagnostic like any other mistake;
//! nothing is started and nothing is written.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::{Diagnostic, Place};
use crate::config::{
    self, EnvFile, FileKind, GlobalFile, Input, Loaded, Lookup, PromptFile, Surroundings, project_candidates,
};
use crate::host::files;
use crate::host::zone;

/// The files that one invocation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The global file, whether it exists or not.
    pub global: GlobalFile,
    /// The enclosing project's file.
    pub project: Option<Utf8PathBuf>,
}

impl Selection {
    /// Finds the files: `flag` is `--config`, `cwd` the directory of the caller.
    #[must_use]
    pub fn find(flag: Option<&Utf8Path>, env: &BTreeMap<String, String>, cwd: &Utf8Path, home: &Utf8Path) -> Self {
        let candidates = config::global_candidates(flag, env, home);
        let existing = candidates.iter().find(|candidate| candidate.named || candidate.file.exists());
        let global = existing.or(candidates.first()).cloned().unwrap_or_else(|| GlobalFile {
            file: Utf8PathBuf::from("/etc/harnessd/harness.toml"),
            named: false,
        });
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
        let global = Some(&self.global).filter(|global| global.named || global.file.exists());
        let global = global.map(|global| (global.file.clone(), FileKind::Global));
        let project = self.project.clone().map(|file| (file, FileKind::Project));
        global.into_iter().chain(project).collect()
    }
}

/// Reads and checks the global file alone: what the daemon runs.
#[must_use]
pub fn load_global(selection: &Selection, home: &Utf8Path) -> Loaded {
    let global = selection.present().into_iter().filter(|(_, kind)| *kind == FileKind::Global);
    load(&global.collect::<Vec<_>>(), home)
}

/// Reads and checks files together.
#[must_use]
pub fn load(list: &[(Utf8PathBuf, FileKind)], home: &Utf8Path) -> Loaded {
    let mut inputs = Vec::new();
    let mut unread = Vec::new();
    for (file, kind) in list {
        let text = files::read_config(file)
            .map_err(|cause| {
                let place = Place { file: file.clone(), span: None };
                Diagnostic::error("harnessd::config::unreadable", place, cause.to_string())
                    .help("name a readable TOML file")
            })
            .and_then(|bytes| config::decode(file, bytes));
        match text {
            Ok(text) => inputs.push(Input { file: file.clone(), kind: *kind, text }),
            Err(diagnostic) => unread.push(diagnostic),
        }
    }
    let surroundings =
        Surroundings { home: home.to_owned(), zone: zone::system(), env: files::text_env().clone() };
    let mut loaded = config::load(&inputs, &surroundings, &Disk);
    if !unread.is_empty() {
        loaded.configuration = None;
        loaded.diagnostics.extend(unread);
        let order = |one: &Diagnostic| list.iter().position(|(file, _)| *file == one.place.file);
        loaded.diagnostics.sort_by_key(order);
    }
    loaded
}

/// Answers the core's questions about files from the disk.
struct Disk;

impl Lookup for Disk {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        match files::prompt_state(path) {
            files::PromptState::Good { bytes } => PromptFile::Good { bytes },
            files::PromptState::Missing => PromptFile::Missing,
            files::PromptState::NotRegular => PromptFile::NotRegular,
            files::PromptState::Unreadable(cause) => PromptFile::Unreadable(cause),
            files::PromptState::NotUtf8 => PromptFile::NotUtf8,
            files::PromptState::Blank => PromptFile::Blank,
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
