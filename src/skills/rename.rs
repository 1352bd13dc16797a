//! Renames, and what to do where the file system or a mode forbids one.

use std::fs;
use std::io;
use std::path::Path;

use camino::Utf8Path;
use nix::errno::Errno;

use super::cause::is;
use super::displace::{is_directory, open_up};

/// [`fs::rename`] that gets over a directory of ours that was made read-only.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if is(&error, Errno::EACCES) && is_directory(from) => {
            open_up(from)?;
            fs::rename(from, to)
        }
        moved => moved,
    }
}

/// Exchanges the names of a copy of ours and of what the target holds, at once.
#[cfg(target_env = "gnu")]
pub(super) fn exchange(ours: &Utf8Path, theirs: &Utf8Path) -> io::Result<()> {
    let exchanged = || rename_with(ours, theirs, nix::fcntl::RenameFlags::RENAME_EXCHANGE);
    match exchanged() {
        Err(error) if is(&error, Errno::EACCES) && is_directory(theirs.as_std_path()) => {
            open_up(theirs.as_std_path())?;
            exchanged()
        }
        done => done,
    }
}

/// Renames to where nothing may be.
#[cfg(target_env = "gnu")]
pub(super) fn rename_new(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    match rename_with(from, to, nix::fcntl::RenameFlags::RENAME_NOREPLACE) {
        Err(error) if is(&error, Errno::EINVAL) || is(&error, Errno::ENOSYS) => rename_plainly(from, to),
        renamed => renamed,
    }
}

#[cfg(target_env = "gnu")]
fn rename_with(from: &Utf8Path, to: &Utf8Path, flags: nix::fcntl::RenameFlags) -> io::Result<()> {
    let here = nix::fcntl::AT_FDCWD;
    Ok(nix::fcntl::renameat2(here, from.as_std_path(), here, to.as_std_path(), flags)?)
}

#[cfg(not(target_env = "gnu"))]
pub(super) fn exchange(_: &Utf8Path, _: &Utf8Path) -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}

#[cfg(not(target_env = "gnu"))]
pub(super) fn rename_new(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    rename_plainly(from, to)
}

/// A directory replaces nothing but an empty directory.
fn rename_plainly(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(Errno::EEXIST.into()),
        Err(_) => fs::rename(from, to),
    }
}
