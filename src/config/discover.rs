//! Which files make up a configuration: names only, nothing is opened here.
//!
//! Invariant: the global file is chosen by CFG-1 and project files by CFG-3
//! alone; the caller looks which of the candidates exist.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::FileKind;
use super::path::plain;

/// The name of a configuration file.
pub const FILE_NAME: &str = "harness.toml";
/// The directory of drop-ins beside the global file.
const DROP_IN_DIR: &str = "harness.d";

/// Where the global file is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobalCandidates {
    /// It was named: this file must exist.
    Named(Utf8PathBuf),
    /// The first of these that exists; if none does, the configuration is empty.
    Search(Vec<Utf8PathBuf>),
}

/// The candidates for the global file: the flag, then `HARNESSD_CONFIG`, then
/// the user's and the system's place. An empty variable counts as unset, and an
/// `XDG_CONFIG_HOME` that is not absolute is ignored, as its standard demands.
#[must_use]
pub fn global_candidates(
    flag: Option<&Utf8Path>,
    env: &BTreeMap<String, String>,
    home: &Utf8Path,
) -> GlobalCandidates {
    let variable = |name: &str| env.get(name).map(String::as_str).filter(|value| !value.is_empty());
    if let Some(named) = flag {
        return GlobalCandidates::Named(named.to_owned());
    }
    if let Some(named) = variable("HARNESSD_CONFIG") {
        return GlobalCandidates::Named(match named.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => named.into(),
        });
    }
    let user = variable("XDG_CONFIG_HOME")
        .map(Utf8Path::new)
        .filter(|path| path.is_absolute())
        .map_or_else(|| home.join(".config"), Utf8Path::to_owned);
    GlobalCandidates::Search(vec![
        user.join("harnessd").join(FILE_NAME),
        Utf8PathBuf::from("/etc/harnessd").join(FILE_NAME),
    ])
}

/// The candidates for the project file, nearest first: `harness.toml` in `cwd`
/// and in each directory above it, up to and with the home directory or the
/// filesystem's root. The caller skips the global file and takes the first that
/// exists.
#[must_use]
pub fn project_candidates(cwd: &Utf8Path, home: &Utf8Path) -> Vec<Utf8PathBuf> {
    let (cwd, home) = (plain(cwd), plain(home));
    let mut found = Vec::new();
    for dir in cwd.ancestors() {
        found.push(dir.join(FILE_NAME));
        if dir == home {
            break;
        }
    }
    found
}

/// What kind of file `validate FILE` takes `file` for: what was forced, else
/// global if it is the selected global file, a drop-in if it lies in its `harness.d`, else
/// project. Both names are absolute.
#[must_use]
pub fn file_kind(file: &Utf8Path, global: Option<&Utf8Path>, forced: Option<FileKind>) -> FileKind {
    if let Some(forced) = forced {
        return forced;
    }
    let file = plain(file);
    let Some(global) = global.map(plain) else { return FileKind::Project };
    if file == global {
        FileKind::Global
    } else if file.parent() == Some(&drop_in_dir(&global)) {
        FileKind::DropIn
    } else {
        FileKind::Project
    }
}

/// Where the drop-ins of a global file lie: beside it as it was named, also where it is a link (CFG-7).
#[must_use]
pub fn drop_in_dir(global: &Utf8Path) -> Utf8PathBuf {
    global.with_file_name(DROP_IN_DIR)
}

/// Whether a file of that name in the directory of drop-ins is one: `*.toml`, and not hidden.
#[must_use]
pub fn is_drop_in(name: &str) -> bool {
    !name.starts_with('.') && name.ends_with(".toml")
}

/// A directory's name as a project's name: lower case, `-` for what no name may
/// hold, at most 63 characters; `project` if nothing is left.
#[must_use]
pub fn sanitise(directory: &str) -> String {
    let plain: String = directory
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' { c } else { '-' })
        .collect();
    let begun = plain.trim_start_matches(['-', '_']);
    let cut = &begun[..begun.len().min(63)];
    let name = cut.trim_end_matches('-');
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}
