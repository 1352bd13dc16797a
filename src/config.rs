//! Layer 4: from configuration files to what the daemon supervises.
//!
//! The text of each file is parsed once (`document`, which knows where every
//! key stands), merged and typed (`layers` and `raw`, by figment), checked value
//! by value (`checks`) and key against key (`fit`), and becomes the `model`.
//! Every mistake of every file is found in one go, each with its place.
//!
//! Invariant: pure. What other files are like is asked of [`Lookup`]; home, time
//! zone and environment come as [`Surroundings`].

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use chrono_tz::Tz;

use crate::base::{Diagnostic, Place, Sources};

mod checks;
mod codes;
mod daemon;
mod decode;
mod definition;
mod discover;
mod document;
mod fit;
mod harness;
mod keys;
mod layers;
mod load;
mod model;
mod neighbours;
mod notify;
mod path;
mod profile;
mod raw;
mod scalar;
mod schema;
mod scope;
mod tables;
#[cfg(test)]
mod tests;
mod written;

pub use codes::CODES;
pub use decode::decode;
pub use definition::definition_json;
pub use definition::text_hash;
pub use discover::{
    FILE_NAME, GlobalCandidates, drop_in_dir, file_kind, global_candidates, is_drop_in, project_candidates,
    sanitise,
};
pub use keys::{Key, TableKind, known_keys};
pub use load::{load, project_clash, project_name};
pub use model::{
    Budget, Check, Configuration, DaemonSettings, Declared, Harness, Mode, Notify, Origin, Profile, Project,
    PromptSource, Setting, Timetable, Watch, Work,
};
pub use schema::schema;
pub use written::written;

use load::Context;

/// The code of a file that cannot be read.
pub const UNREADABLE: &str = codes::UNREADABLE;
/// The code of a project whose name another one has.
pub const DUPLICATE_PROJECT: &str = codes::DUPLICATE_PROJECT;

/// Who may write a file, and so what it may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// The user's or the system's own file.
    Global,
    /// A file of harnesses beside it (CFG-2).
    DropIn,
    /// A file that lies in a project's directory.
    Project,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name as it was given, made absolute without following symlinks:
    /// relative paths in it are taken from its directory (CFG-7).
    pub file: Utf8PathBuf,
    /// What it may hold.
    pub kind: FileKind,
    /// Its contents.
    pub text: String,
}

/// What other files are like. The shell answers.
pub trait Lookup {
    /// Whether a prompt file can be used.
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile;
    /// Whether an environment file can be used.
    fn env_file(&self, path: &Utf8Path) -> EnvFile;
    /// Whether nothing is where a listed project's file is looked for.
    fn lacks_project(&self, _file: &Utf8Path) -> bool {
        false
    }
}

/// The answers where every file that is named is there and good: for who has texts and no disk.
#[derive(Debug, Clone, Copy)]
pub struct AllGood;

impl Lookup for AllGood {
    fn prompt_file(&self, _: &Utf8Path) -> PromptFile {
        PromptFile::Good
    }

    fn env_file(&self, _: &Utf8Path) -> EnvFile {
        EnvFile::Good
    }
}

/// The state of a prompt file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFile {
    /// A regular, readable, non-blank UTF-8 file.
    Good,
    /// Nothing is there.
    Missing,
    /// A directory, a FIFO, a device.
    NotRegular,
    /// It cannot be read; the cause.
    Unreadable(String),
    /// It is no UTF-8.
    NotUtf8,
    /// It holds nothing but white space.
    Blank,
}

/// The state of an environment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFile {
    /// It can be used.
    Good,
    /// Nothing is there.
    Missing,
    /// It cannot be read; the cause.
    Unreadable(String),
    /// Everybody can read it.
    WorldReadable,
}

/// What a configuration is read in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The home directory, absolute.
    pub home: Utf8PathBuf,
    /// The system's time zone.
    pub zone: Tz,
    /// The environment of harnessd; only `HARNESSD_*` is looked at.
    pub env: BTreeMap<String, String>,
}

/// What came of reading.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The configuration; none if there is any error.
    pub configuration: Option<Configuration>,
    /// Every harness with which nothing is wrong, whatever is wrong beside it; of two projects of one name those
    /// of both.
    pub sound: Vec<Arc<Harness>>,
    /// The projects whose files could be parsed, in the order of the files; where each says its name.
    pub projects: Vec<(Place, Project)>,
    /// The daemon's settings, as far as they can be told: a single value that is right survives
    /// the mistakes around it, so that a broken file does not move the state directory.
    pub settings: DaemonSettings,
    /// The same settings one by one, each with who says so.
    pub told: Vec<Setting>,
    /// All mistakes and doubts, in the order of files and places.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that they point into.
    pub sources: Sources,
}

impl Loaded {
    /// Gives a file another name wherever it is pointed at.
    pub fn rename(&mut self, from: &Utf8Path, to: &Utf8Path) {
        for one in &mut self.diagnostics {
            for place in one.places_mut().filter(|place| place.file == from) {
                to.clone_into(&mut place.file);
            }
        }
        self.sources.rename(from, to);
    }
}
