//! Reading what users write, and writing what must not be torn.
//!
//! Invariants: no read waits (a FIFO in place of a file is an error, not a
//! hang) or grows without bound; a file is replaced whole or not at all.

mod access;
mod dotenv;
mod places;
mod prompt;
mod rewrite;
mod stamp;

pub use access::Access;
pub use dotenv::{EnvFileError, EnvFileState, env_file_state, parse_env_file, read_env_file};
pub use places::{Places, home_directory};
pub use prompt::{PromptFileState, PromptProblem, prompt_file_state, read_prompt};
pub use rewrite::{RewriteError, rewrite};
pub use stamp::Stamp;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, FileType, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::sync::atomic::{AtomicU32, Ordering};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use nix::libc;
use nix::unistd::geteuid;
use thiserror::Error;

use super::cause;
use crate::base::size_text;

/// The largest configuration that is read.
pub const LARGEST_CONFIG: u64 = 16 << 20;

/// Why a file's contents cannot be had. Whoever shows it names the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadProblem {
    /// Nothing has that name.
    #[error("the file does not exist")]
    Missing,
    /// A directory, FIFO, socket or device.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// More than is read.
    #[error("it is {} large, at most {} are read", size_text(*size), size_text(*limit))]
    TooLarge {
        /// Its size.
        size: u64,
        /// What is allowed.
        limit: u64,
    },
    /// It is there and cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Reads a configuration file of at most [`LARGEST_CONFIG`] bytes.
///
/// # Errors
/// See [`ReadProblem`].
pub fn read_config(path: &Utf8Path) -> Result<Vec<u8>, ReadProblem> {
    read_regular(path, LARGEST_CONFIG)
}

/// Reads a regular file of at most `limit` bytes.
pub(in crate::host) fn read_regular(path: &Utf8Path, limit: u64) -> Result<Vec<u8>, ReadProblem> {
    let (file, size) = open_regular(path)?;
    if size > limit {
        return Err(ReadProblem::TooLarge { size, limit });
    }
    let mut bytes = Vec::new();
    (&file).take(limit + 1).read_to_end(&mut bytes).map_err(problem)?;
    let size = bytes.len() as u64;
    if size > limit { Err(ReadProblem::TooLarge { size, limit }) } else { Ok(bytes) }
}

/// Opens a regular file; with its size.
pub(in crate::host) fn open_regular(path: &Utf8Path) -> Result<(File, u64), ReadProblem> {
    // A socket cannot be opened at all, so its kind is asked before; a FIFO must not wait for a writer.
    let found = path.metadata().map_err(problem)?;
    regular(found.file_type())?;
    let mut options = OpenOptions::new();
    let file =
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).map_err(problem)?;
    // It may have been replaced in between.
    let found = file.metadata().map_err(problem)?;
    regular(found.file_type())?;
    Ok((file, found.len()))
}

fn problem(error: io::Error) -> ReadProblem {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadProblem::Missing,
        _ => ReadProblem::Unreadable(cause(&error)),
    }
}

pub(in crate::host) fn regular(kind: FileType) -> Result<(), ReadProblem> {
    let named = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(ReadProblem::NotRegular(named))
}

/// Replaces `path` by a file with these contents and this mode: at every
/// moment, and after a power cut, there is the old one or the new one.
///
/// # Errors
/// What the system says; the old file then stands.
pub fn atomic_write(path: &Utf8Path, contents: &[u8], mode: u32) -> io::Result<()> {
    // The umask does not count.
    let prepare = |file: &File| file.set_permissions(Permissions::from_mode(mode));
    put_by(path, contents, mode, prepare, |from, to| std::fs::rename(from, to))
}

/// Puts a file with these contents at `path` by `place`, from a name beside it. It is made with `mode`, as far as the
/// umask leaves it, and `prepare` then gives it its mode and owner. Whoever may open it before can read what is
/// written after.
fn put_by<E: From<io::Error>>(
    path: &Utf8Path,
    contents: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> Result<(), E>,
    place: impl FnOnce(&Utf8Path, &Utf8Path) -> io::Result<()>,
) -> Result<(), E> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let directory = path.parent().filter(|one| !one.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = directory.join(format!(".{name}.{}.{number}.tmp", std::process::id()));
    let written = write(&beside, contents, mode, prepare).and_then(|()| Ok(place(&beside, path)?));
    if written.is_err() {
        // The error that is returned matters more than what stays behind.
        let _ = std::fs::remove_file(&beside);
    }
    written?;
    Ok(File::open(directory)?.sync_all()?)
}

fn write<E: From<io::Error>>(
    beside: &Utf8Path,
    contents: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(beside)?;
    prepare(&file)?;
    file.write_all(contents)?;
    Ok(file.sync_all()?)
}

/// Gives a file a name that nobody has, a link to nowhere included.
fn rename_new(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without links: what comes in this very moment is lost.
        Err(_) => std::fs::rename(from, to),
    }
}

/// Replaces `path` by these contents unless it holds them already; its directory is made if need be.
///
/// # Errors
/// What the system says; the old file then stands.
pub fn write_if_changed(path: &Utf8Path, contents: &[u8]) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    atomic_write(path, contents, 0o644)
}

/// Whether two names lead to one file.
#[must_use]
pub fn same_file(one: &Utf8Path, other: &Utf8Path) -> bool {
    let identity = |path: &Utf8Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    one == other || identity(one).is_some_and(|found| Some(found) == identity(other))
}

/// A path without symbolic links, as far as it exists; what does not exist is as its names say. A relative one
/// stays as it is.
#[must_use]
pub fn physical(path: &Utf8Path) -> Utf8PathBuf {
    for existing in path.ancestors().filter(|existing| existing.is_absolute()) {
        if let Ok(real) = existing.canonicalize_utf8() {
            let rest = path.strip_prefix(existing).unwrap_or(Utf8Path::new(""));
            return along(real, rest);
        }
    }
    path.to_owned()
}

/// Goes on from a real directory along names of which the first does not exist.
fn along(mut real: Utf8PathBuf, rest: &Utf8Path) -> Utf8PathBuf {
    for part in rest.components() {
        match part {
            Utf8Component::ParentDir => drop(real.pop()),
            Utf8Component::Normal(name) => real.push(name),
            _ => {}
        }
    }
    real
}

/// The names in a directory; of one that is no UTF-8 what can be shown, under which nothing is found.
///
/// # Errors
/// What the system says.
pub fn names(dir: &Utf8Path) -> io::Result<Vec<String>> {
    std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// A descriptor that stands for nothing, to be given up when one is needed and none is left.
///
/// # Errors
/// If none is left now.
pub fn any_descriptor() -> io::Result<File> {
    File::open("/dev/null")
}

/// The directory that this process is in, if it has a name in UTF-8.
#[must_use]
pub fn current_dir() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}

/// The environment of this process.
#[must_use]
pub fn whole_environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// The variables of this process that are UTF-8.
#[must_use]
pub fn text_environment() -> BTreeMap<String, String> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).collect()
}

/// Makes a directory, and those above it, that only this user may enter; one
/// of this user's that is there already is closed to others.
///
/// # Errors
/// What the system says.
pub fn private_directory(path: &Utf8Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = path.metadata()?;
    if found.uid() == geteuid().as_raw() && found.mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
