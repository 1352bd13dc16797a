//! Which configuration files there are (CFG-1, CFG-2, CFG-3), read and handed to the pure core.
//!
//! Invariant: a file that cannot be read is a diagnostic like any other mistake;
//! nothing is started and nothing is written.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::adapter::Registry;
use crate::base::{Diagnostic, Place, Severity};
use crate::config::{
    self, Configuration, DaemonSettings, EnvFile, FileKind, GlobalCandidates, Input, Loaded, Lookup,
    PromptFile, Surroundings, drop_in_dir, global_candidates, is_drop_in, project_candidates,
};
use crate::host::{self, files, zone};

mod units;

pub use units::{Asked, InForce, Raised, Reading, Request, UnitState, has_changed, project_key, read_units};

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
    /// The drop-ins beside it in the order of their names; where they cannot be listed, their directory.
    #[serde(default)]
    pub drop_ins: Vec<Utf8PathBuf>,
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
        let drop_ins = drop_ins(&global.file);
        Self { global, drop_ins, project }
    }

    /// The files whose change is noticed by the daemon, besides new ones among the drop-ins.
    #[must_use]
    pub fn watched(&self) -> Vec<Utf8PathBuf> {
        // A drop-in may be a link to where its text lies.
        [&self.global.file].into_iter().chain(&self.drop_ins).cloned().collect()
    }

    /// Looks once more which drop-ins there are.
    pub fn look_again(&mut self) {
        self.drop_ins = drop_ins(&self.global.file);
    }

    /// The global file, if it is there or was named, its drop-ins, and the project's file.
    #[must_use]
    pub fn present(&self) -> Vec<(Utf8PathBuf, FileKind)> {
        let project = self.project.clone().map(|file| (file, FileKind::Project));
        self.unit().into_iter().chain(project).collect()
    }

    /// The global file, if it is there or was named, and its drop-ins: one unit of acceptance (CFG-10).
    fn unit(&self) -> Vec<(Utf8PathBuf, FileKind)> {
        let global = Some(&self.global).filter(|global| global.named || may_be_there(&global.file));
        let global = global.map(|global| (global.file.clone(), FileKind::Global));
        let drop_ins = self.drop_ins.iter().map(|file| (file.clone(), FileKind::DropIn));
        global.into_iter().chain(drop_ins).collect()
    }
}

/// The drop-ins beside a global file in byte order of their names (CFG-2). A directory that cannot be
/// listed stands for its own: reading it says why.
fn drop_ins(global: &Utf8Path) -> Vec<Utf8PathBuf> {
    let dir = drop_in_dir(global);
    match files::names(&dir) {
        Ok(mut names) => {
            names.retain(|name| is_drop_in(name));
            names.sort_unstable();
            names.into_iter().map(|name| dir.join(name)).collect()
        }
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Vec::new(),
        Err(_) => vec![dir],
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
        partial: false,
        files: Vec::new(),
    }
}

/// Reads and checks the global file with the drop-ins that are there now.
#[must_use]
pub fn load_global(selection: &Selection, home: &Utf8Path) -> Loaded {
    let mut selection = selection.clone();
    selection.look_again();
    load(&selection.unit(), home)
}

/// Reads and checks one file by itself (CFG-9): what the selected global file says about adapters
/// and defaults is known to it, but only this file's mistakes are told.
#[must_use]
pub fn load_alone(selection: &Selection, file: &Utf8Path, kind: FileKind, home: &Utf8Path) -> Loaded {
    let one = (file.to_owned(), kind);
    let global = selection.unit().into_iter().filter(|(_, known)| *known == FileKind::Global);
    let list: Vec<_> = match kind {
        // A profile may name what a drop-in declares.
        FileKind::Global => {
            let beside = drop_ins(file).into_iter().map(|file| (file, FileKind::DropIn));
            [one].into_iter().chain(beside).collect()
        }
        FileKind::DropIn | FileKind::Project => global.chain([one]).collect(),
    };
    let mut loaded = load(&list, home);
    loaded.diagnostics.retain(|one| one.place.file == file);
    loaded.sources.keep(file);
    loaded
}

/// Checks a file with a text that it does not have yet, among the files that it is accepted with; what
/// is told are the mistakes that the file has or points at, and those that others come to have.
#[must_use]
pub fn rehearse(
    selection: &Selection,
    file: &Utf8Path,
    kind: FileKind,
    text: &str,
    home: &Utf8Path,
) -> Loaded {
    let mut others = selection.unit();
    others.retain(|(other, _)| !files::same_file(other, file));
    // What cannot be read of the others is told when they are looked at.
    let (mut inputs, _) = inputs(&others);
    let first = if kind == FileKind::Global { 0 } else { inputs.len() };
    let mut with = |text: String| {
        inputs.insert(first, Input { file: file.to_owned(), kind, text });
        let loaded = check(&inputs, home);
        inputs.remove(first);
        loaded
    };
    let mut loaded = with(text.to_owned());
    // What a file says of others is told where it stands: a profile names what is no longer declared.
    let is_others = |one: &Diagnostic| one.severity == Severity::Error && one.place.file != file;
    let before = match loaded.diagnostics.iter().any(is_others) {
        true => read(file).map(|old| with(old).diagnostics).unwrap_or_default(),
        false => Vec::new(),
    };
    loaded.diagnostics.retain(|one| {
        let own = one.place.file == file || one.related.iter().any(|other| other.place.file == file);
        own || (is_others(one) && !before.contains(one))
    });
    loaded
}

/// Reads and checks files together.
#[must_use]
pub fn load(list: &[(Utf8PathBuf, FileKind)], home: &Utf8Path) -> Loaded {
    load_with_texts(list, home).1
}

/// The same beside the texts of the files that could be read.
fn load_with_texts(list: &[(Utf8PathBuf, FileKind)], home: &Utf8Path) -> (Vec<Input>, Loaded) {
    let (inputs, unread) = inputs(list);
    let mut loaded = check(&inputs, home);
    if !unread.is_empty() {
        loaded.configuration = None;
        loaded.diagnostics.extend(unread);
        let order = |one: &Diagnostic| list.iter().position(|(file, _)| *file == one.place.file);
        loaded.diagnostics.sort_by_key(order);
    }
    (inputs, loaded)
}

/// The texts of files, and what is to be said of those that cannot be read.
fn inputs(list: &[(Utf8PathBuf, FileKind)]) -> (Vec<Input>, Vec<Diagnostic>) {
    let mut inputs = Vec::new();
    let mut unread = Vec::new();
    for (file, kind) in list {
        match read(file) {
            Ok(text) => inputs.push(Input { file: file.clone(), kind: *kind, text }),
            Err(diagnostic) => unread.push(*diagnostic),
        }
    }
    (inputs, unread)
}

fn check(inputs: &[Input], home: &Utf8Path) -> Loaded {
    let surroundings =
        Surroundings { home: home.to_owned(), zone: zone::system(), env: files::text_environment() };
    config::load(inputs, &surroundings, &Disk)
}

fn read(file: &Utf8Path) -> Result<String, Box<Diagnostic>> {
    let bytes = files::read_config(file).map_err(|cause| {
        // A directory of drop-ins is among the files where it cannot be listed.
        let unlisted = files::names(file).err().filter(|_| file.is_dir());
        Box::new(match unlisted {
            Some(cause) => unreadable(file, &format!("its files cannot be listed: {}", host::cause(&cause)))
                .help("let this user read the directory of drop-ins"),
            None => unreadable(file, &cause.to_string()).help("name a readable TOML file"),
        })
    })?;
    config::decode(file, bytes).map_err(Box::new)
}

fn unreadable(file: &Utf8Path, cause: &str) -> Diagnostic {
    let place = Place { file: file.to_owned(), span: None };
    Diagnostic::error(config::UNREADABLE, place, cause)
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

    fn lacks_project(&self, file: &Utf8Path) -> bool {
        !may_be_there(file)
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
