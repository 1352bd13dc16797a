//! Which commit a directory's repository is at, by reading its files (RUN-1).
//!
//! Invariant: nothing is written, locked or executed, and nothing that a repository says makes a
//! reading wait or grow without bound: it may have been made by anybody.

mod packed;
#[cfg(test)]
mod tests;

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};

use super::files::read_regular;

/// The largest of the small files (`HEAD`, `.git`, `commondir`, a loose ref) that is read.
const SMALL: u64 = 32 << 10;
/// How many references may lead to one another, as many as git follows.
const MOST_STEPS: usize = 5;
/// References that each working tree has for itself.
const OWN_REFS: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// A repository, as a directory in it finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// What belongs to this working tree: `HEAD`, the index.
    own: Utf8PathBuf,
    /// What all working trees share: the references.
    common: Utf8PathBuf,
}

impl Repository {
    /// The repository that holds a directory: of the directory itself or the nearest one above it,
    /// within one file system, as git looks for it. Variables of the environment do not count.
    #[must_use]
    pub fn holding(dir: &Utf8Path) -> Option<Self> {
        let dir = dir.canonicalize_utf8().ok()?;
        let device = dir.metadata().ok()?.dev();
        for here in dir.ancestors() {
            if here.metadata().ok()?.dev() != device {
                return None;
            }
            let beside = here.join(".git");
            match beside.metadata() {
                Ok(found) if found.is_file() => return Self::at(&linked(&beside)?),
                Ok(found) if found.is_dir() => {
                    if let Some(repository) = Self::at(&beside) {
                        return Some(repository);
                    }
                }
                _ => {}
            }
            // A repository without a working tree.
            if let Some(bare) = Self::at(here) {
                return Some(bare);
            }
        }
        None
    }

    /// The repository whose directory this is, if it looks like one to git.
    fn at(own: &Utf8Path) -> Option<Self> {
        if !is_head(&own.join("HEAD")) {
            return None;
        }
        let common = match small(&own.join("commondir")) {
            Some(text) => own.join(text.trim_end_matches(['\n', '\r'])),
            None => own.to_owned(),
        };
        let whole = common.join("objects").is_dir() && common.join("refs").is_dir();
        whole.then(|| Self { own: own.to_owned(), common })
    }

    /// Where its first working tree is, which others may be linked to. None where it has none there.
    #[must_use]
    pub fn root(&self) -> Option<Utf8PathBuf> {
        let common = self.common.canonicalize_utf8().ok()?;
        let root = common.parent().filter(|_| common.file_name() == Some(".git"))?;
        Some(root.to_owned())
    }

    /// The commit that is checked out. None where there is none yet, and where references are kept in
    /// a way that is not read here (a table: its `HEAD` names no file).
    #[must_use]
    pub fn head(&self) -> Option<String> {
        let mut text = small(&self.own.join("HEAD"))?;
        for _ in 0..MOST_STEPS {
            let Some(name) = text.strip_prefix("ref:").map(str::trim) else { return commit(&text) };
            if !is_reference(name) {
                return None;
            }
            let place =
                if OWN_REFS.iter().any(|own| name.starts_with(own)) { &self.own } else { &self.common };
            match small(&place.join(name)) {
                Some(loose) => text = loose,
                None => {
                    return packed::find(&self.common.join("packed-refs"), name).as_deref().and_then(commit);
                }
            }
        }
        None
    }

    /// The index's lock and its age, if it is at least `age` old: a git that died has left it, and
    /// every later one refuses to work until somebody removes it.
    #[must_use]
    pub fn stale_lock(&self, age: Duration) -> Option<(Utf8PathBuf, Duration)> {
        let lock = self.own.join("index.lock");
        let made = lock.symlink_metadata().ok()?.modified().ok()?;
        let old = SystemTime::now().duration_since(made).ok()?;
        (old >= age).then_some((lock, old))
    }
}

/// Whether a file is a `HEAD`: a commit, or the name of a reference, which in old repositories a link has.
fn is_head(path: &Utf8Path) -> bool {
    if let Ok(target) = path.read_link() {
        return target.starts_with("refs");
    }
    small(path).is_some_and(|text| match text.strip_prefix("ref:") {
        Some(name) => name.trim_start().starts_with("refs/"),
        None => commit(&text).is_some(),
    })
}

/// Where a `.git` file leads.
fn linked(file: &Utf8Path) -> Option<Utf8PathBuf> {
    let text = small(file)?;
    let target = text.strip_prefix("gitdir:")?.trim_start_matches(' ').trim_end_matches(['\n', '\r']);
    Some(file.parent()?.join(target))
}

/// The text of a small regular file.
fn small(path: &Utf8Path) -> Option<String> {
    String::from_utf8(read_regular(path, SMALL).ok()?).ok()
}

/// The hash that a text begins with: SHA-1 or SHA-256.
fn commit(text: &str) -> Option<String> {
    let word = text.split_ascii_whitespace().next()?;
    let is_hash = matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| word.to_ascii_lowercase())
}

/// Whether it is the name of a reference, which never leads out of the repository's directory.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/")
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
        && !name.bytes().any(|byte| byte.is_ascii_control() || byte == b' ')
}
