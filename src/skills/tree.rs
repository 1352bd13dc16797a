//! Walking one skill's directory by metadata alone.
//!
//! Invariant: nothing is opened but directories, and nothing outside the
//! directory enters a [`Tree`]; its size, its depth and the number of its
//! warnings are bounded.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use thiserror::Error;

use super::Bounds;
use super::cause::is;
use super::stamp::Stamp;
use super::warning::{WarningKind, plain};
use crate::base::size_text;
use crate::host::cause;

/// Directories inside directories, at most.
const DEEPEST: usize = 32;
/// So many left-out entries of one skill are named.
const MOST_LEFT_OUT: usize = 20;

/// What a skill's directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// Relative paths of directories, parents first; not the directory itself.
    pub(super) dirs: Vec<String>,
    pub(super) files: Vec<File>,
    /// What is not copied, and why: `entry: reason`.
    pub(super) left_out: Vec<String>,
    /// Everything above in the order of `stamp`; the first is the directory itself.
    pub(super) paths: Vec<String>,
    /// Sums up the metadata of `paths`.
    pub(super) stamp: String,
    /// The newest change of an inode, in nanoseconds since 1970.
    pub(super) newest: i128,
    /// Whether something was left out that may become readable unnoticed.
    pub(super) blind: bool,
}

/// One regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// Its path in the skill.
    pub(super) rel: String,
    /// Where it really lies: behind a symlink that stays inside, elsewhere in the skill.
    pub(super) path: Utf8PathBuf,
    pub(super) executable: bool,
}

/// How symlinks are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Followed while they stay inside: a source.
    Follow,
    /// Refused, as is all that we never write: a copy.
    Refuse,
}

/// Why a directory cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum TreeError {
    #[error("more than {0} files")]
    Files(u64),
    #[error("more than {0} directories")]
    Dirs(u64),
    #[error("more than {}", size_text(*.0))]
    Bytes(u64),
    #[error("directories nested more than {DEEPEST} deep")]
    Depth,
    #[error("{path}: {cause}")]
    Unreadable { path: Utf8PathBuf, cause: String },
    /// Only with [`Links::Refuse`].
    #[error("{0}: nothing that a copy holds")]
    Strange(String),
}

impl TreeError {
    pub(super) fn io(path: &Utf8Path, error: &io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), cause: cause(error) }
    }

    /// What kind of warning it makes.
    pub(super) const fn kind(&self) -> WarningKind {
        match self {
            Self::Files(_) | Self::Dirs(_) | Self::Bytes(_) | Self::Depth => WarningKind::TooLarge,
            Self::Unreadable { .. } | Self::Strange(_) => WarningKind::SkillUnreadable,
        }
    }
}

/// Walks `base`, which holds no symlink itself.
pub(super) fn walk(base: &Utf8Path, links: Links, bounds: Bounds) -> Result<Tree, TreeError> {
    let tree = Tree {
        dirs: Vec::new(),
        files: Vec::new(),
        left_out: Vec::new(),
        paths: Vec::new(),
        stamp: String::new(),
        newest: i128::MIN,
        blind: false,
    };
    let mut walk = Walk { base, links, bounds, bytes: 0, stamp: Stamp::default(), chain: Vec::new(), tree };
    walk.directory("", base)?;
    walk.tree.stamp = walk.stamp.finish();
    Ok(walk.tree)
}

struct Walk<'a> {
    base: &'a Utf8Path,
    links: Links,
    bounds: Bounds,
    bytes: u64,
    stamp: Stamp,
    /// The real directories that lead to where we are.
    chain: Vec<Utf8PathBuf>,
    tree: Tree,
}

impl Walk<'_> {
    fn directory(&mut self, rel: &str, path: &Utf8Path) -> Result<(), TreeError> {
        if self.chain.len() > DEEPEST {
            return Err(TreeError::Depth);
        }
        if self.tree.dirs.len() as u64 > self.bounds.files {
            return Err(TreeError::Dirs(self.bounds.files));
        }
        let error = |error: io::Error| TreeError::io(path, &error);
        // Looked at before it is read: what is added meanwhile changes the stamp.
        let meta = fs::metadata(path).map_err(error)?;
        let names = match self.names(rel, path) {
            Ok(Some(names)) => names,
            Ok(None) => return Err(TreeError::Files(self.bounds.files)),
            Err(cause) if rel.is_empty() || self.links == Links::Refuse => return Err(error(cause)),
            Err(error) => {
                self.tree.blind = true;
                self.leave_out(rel, &cause(&error));
                return Ok(());
            }
        };
        self.note(rel, &meta);
        if !rel.is_empty() {
            self.tree.dirs.push(rel.to_owned());
        }
        self.chain.push(path.to_owned());
        for name in names {
            self.entry(&below(rel, &name), &path.join(&name))?;
        }
        self.chain.pop();
        Ok(())
    }

    /// The names in a directory, sorted; those that are not UTF-8 are left out.
    /// None: far more than could be taken.
    fn names(&mut self, rel: &str, path: &Utf8Path) -> io::Result<Option<BTreeSet<String>>> {
        let mut names = BTreeSet::new();
        let most = self.bounds.files.saturating_mul(4).saturating_add(64);
        for entry in fs::read_dir(path)? {
            match entry?.file_name().into_string() {
                Ok(name) => drop(names.insert(name)),
                Err(name) if self.links == Links::Follow => {
                    self.leave_out(&below(rel, &name.to_string_lossy()), "its name is not UTF-8");
                }
                Err(_) => return Err(Errno::EILSEQ.into()),
            }
            if names.len() as u64 > most {
                return Ok(None);
            }
        }
        Ok(Some(names))
    }

    fn entry(&mut self, rel: &str, path: &Utf8Path) -> Result<(), TreeError> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            // Deleted since the directory was read, which its stamp will tell.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(TreeError::io(path, &error)),
        };
        if meta.is_dir() {
            self.directory(rel, path)
        } else if meta.is_file() {
            self.file(rel, path, &meta)
        } else if self.links == Links::Refuse {
            Err(TreeError::Strange(rel.to_owned()))
        } else if meta.is_symlink() {
            self.link(rel, path)
        } else {
            self.leave_out(rel, "neither a file, a directory nor a link");
            Ok(())
        }
    }

    fn link(&mut self, rel: &str, path: &Utf8Path) -> Result<(), TreeError> {
        let real = match path.canonicalize_utf8() {
            Ok(real) => real,
            Err(error) => {
                let reason = match error.kind() {
                    io::ErrorKind::NotFound => "a symlink to nothing".to_owned(),
                    _ if is(&error, Errno::ELOOP) => "a symlink that loops".to_owned(),
                    _ => format!("a symlink that cannot be followed: {}", cause(&error)),
                };
                self.leave_out(rel, &reason);
                return Ok(());
            }
        };
        if !real.starts_with(self.base) {
            self.leave_out(rel, "a symlink that leaves the skill");
            return Ok(());
        }
        let meta = fs::metadata(&real).map_err(|error| TreeError::io(path, &error))?;
        if meta.is_file() {
            self.file(rel, &real, &meta)
        } else if !meta.is_dir() {
            self.leave_out(rel, "a symlink to neither a file nor a directory");
            Ok(())
        } else if self.chain.contains(&real) {
            self.leave_out(rel, "a symlink that loops");
            Ok(())
        } else {
            self.directory(rel, &real)
        }
    }

    fn file(&mut self, rel: &str, path: &Utf8Path, meta: &fs::Metadata) -> Result<(), TreeError> {
        if self.tree.files.len() as u64 >= self.bounds.files {
            return Err(TreeError::Files(self.bounds.files));
        }
        self.bytes = self.bytes.saturating_add(meta.size());
        if self.bytes > self.bounds.bytes {
            return Err(TreeError::Bytes(self.bounds.bytes));
        }
        if let Err(number) = access(path.as_std_path(), AccessFlags::R_OK) {
            if self.links == Links::Refuse {
                return Err(TreeError::io(path, &number.into()));
            }
            self.tree.blind = true;
            self.leave_out(rel, &cause(&number.into()));
            return Ok(());
        }
        self.note(rel, meta);
        let executable = meta.mode() & 0o111 != 0;
        self.tree.files.push(File { rel: rel.to_owned(), path: path.to_owned(), executable });
        Ok(())
    }

    fn note(&mut self, rel: &str, meta: &fs::Metadata) {
        self.stamp.add(meta);
        self.tree.newest = self.tree.newest.max(changed(meta));
        self.tree.paths.push(rel.to_owned());
    }

    fn leave_out(&mut self, rel: &str, reason: &str) {
        match MOST_LEFT_OUT.cmp(&self.tree.left_out.len()) {
            Ordering::Greater => self.tree.left_out.push(format!("`{}`: {reason}", plain(rel))),
            Ordering::Equal => self.tree.left_out.push("and more".to_owned()),
            Ordering::Less => {}
        }
    }
}

/// The relative path of an entry of the directory `rel`.
fn below(rel: &str, name: &str) -> String {
    if rel.is_empty() { name.to_owned() } else { format!("{rel}/{name}") }
}

/// When an inode was last changed, in nanoseconds since 1970.
pub(super) fn changed(meta: &fs::Metadata) -> i128 {
    i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec())
}
