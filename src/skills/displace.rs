//! Moving aside what is not ours to delete (SKL-8).
//!
//! Invariant: what is displaced is either at its new place, whole, or still
//! where it was.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;

use super::Bounds;
use super::build::{content_hash, file_hash};
use super::cause::is;
use super::rename::rename;
use super::tree::{Links, walk};

/// Moves `from`, once known as `name`, into `place`, and says where it is now.
/// Contents that were kept before are not kept twice.
pub(super) fn displace(from: &Path, name: &str, place: &Utf8Path, bounds: Bounds) -> io::Result<Utf8PathBuf> {
    let shelf = place.join(name);
    DirBuilder::new().recursive(true).mode(0o700).create(&shelf)?;
    let label = label(from, bounds);
    let to = match label {
        Some(label) => shelf.join(label),
        None => (1_u32..)
            .map(|number| shelf.join(number.to_string()))
            .find(|free| fs::symlink_metadata(free).is_err())
            .unwrap_or_else(|| shelf.join("last")),
    };
    if fs::symlink_metadata(&to).is_ok() {
        remove(from)?;
        return Ok(to);
    }
    match rename(from, to.as_std_path()) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let partial = shelf.join(".partial");
            remove(partial.as_std_path())?;
            carry(from, partial.as_std_path())?;
            fs::rename(&partial, &to)?;
            remove(from)?;
        }
        moved => moved?,
    }
    Ok(to)
}

/// The beginning of the content hash, where there is one.
fn label(path: &Path, bounds: Bounds) -> Option<String> {
    let path = Utf8Path::from_path(path)?;
    let meta = fs::symlink_metadata(path).ok()?;
    let mut hash = if meta.is_dir() {
        content_hash(&walk(path, Links::Refuse, bounds).ok()?, bounds).ok()?
    } else if meta.is_file() {
        file_hash(path, bounds).ok()?
    } else {
        return None;
    };
    hash.truncate(12);
    Some(hash)
}

/// Removes whatever is at `path`; that nothing is there is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = if is_directory(path) {
        match fs::remove_dir_all(path) {
            Err(error) if is(&error, Errno::EACCES) => {
                open_all(path)?;
                fs::remove_dir_all(path)
            }
            removed => removed,
        }
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

pub(super) fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o755))
}

/// Makes every directory below `top` writable.
fn open_all(top: &Path) -> io::Result<()> {
    let mut left = vec![top.to_owned()];
    while let Some(directory) = left.pop() {
        open_up(&directory)?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Copies `from` to another file system: files, directories and links as they
/// are. Pipes, sockets and devices hold nothing to keep.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    let mut left: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        let meta = fs::symlink_metadata(&from)?;
        if meta.is_dir() {
            DirBuilder::new().mode(0o755).create(&to)?;
            for entry in fs::read_dir(&from)? {
                let name = entry?.file_name();
                left.push((from.join(&name), to.join(&name)));
            }
        } else if meta.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else if meta.is_file() {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use camino::Utf8Path;

    use super::{Bounds, carry, displace, remove};

    /// SKL-8: the same work is kept once, different work beside it.
    #[test]
    fn equal_contents_are_kept_once() {
        let home = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(home.path()).unwrap();
        let kept = home.join("kept");
        let mut places = Vec::new();
        for text in ["one", "two", "one"] {
            let from = home.join("from");
            fs::create_dir(&from).unwrap();
            fs::write(from.join("SKILL.md"), text).unwrap();
            places.push(displace(from.as_std_path(), "alpha", &kept, Bounds::default()).unwrap());
            assert!(!from.exists());
        }
        assert_eq!(places[0], places[2]);
        assert_ne!(places[0], places[1]);
        assert_eq!(fs::read_to_string(places[0].join("SKILL.md")).unwrap(), "one");
        assert_eq!(fs::read_to_string(places[1].join("SKILL.md")).unwrap(), "two");
    }

    /// SKL-8: a single file and what cannot be hashed are kept too.
    #[test]
    fn whatever_it_is_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(home.path()).unwrap();
        let kept = home.join("kept");
        fs::write(home.join("file"), "text").unwrap();
        let place = displace(home.join("file").as_std_path(), "file", &kept, Bounds::default()).unwrap();
        assert_eq!(fs::read_to_string(place).unwrap(), "text");
        for number in ["1", "2"] {
            symlink("/nowhere", home.join("link")).unwrap();
            let place = displace(home.join("link").as_std_path(), "link", &kept, Bounds::default()).unwrap();
            assert_eq!(place, kept.join("link").join(number));
            assert_eq!(fs::read_link(place).unwrap(), Utf8Path::new("/nowhere"));
        }
    }

    /// SKL-8: on another file system work is carried over with its links and modes.
    #[test]
    fn work_is_carried_across_file_systems() {
        let home = tempfile::tempdir().unwrap();
        let from = home.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.join("a/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../a", from.join("a/b/up")).unwrap();
        let to = home.path().join("to");
        carry(&from, &to).unwrap();
        assert_eq!(fs::metadata(to.join("a/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("a/b/up")).unwrap(), std::path::Path::new("../a"));
    }

    /// SKL-8: work is moved to another file system where there is one to try.
    #[test]
    fn work_moves_to_another_file_system() {
        let (here, Ok(there)) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm")) else {
            return;
        };
        let from = here.path().join("from");
        fs::create_dir(&from).unwrap();
        fs::write(from.join("SKILL.md"), "work").unwrap();
        symlink("/nowhere", from.join("link")).unwrap();
        let kept = Utf8Path::from_path(there.path()).unwrap();
        let place = displace(&from, "alpha", kept, Bounds::default()).unwrap();
        assert_eq!(place, kept.join("alpha/1"));
        assert_eq!(fs::read_to_string(place.join("SKILL.md")).unwrap(), "work");
        assert!(!from.exists());
    }

    /// SKL-9: a copy that was made read-only can be removed, and so can nothing.
    #[test]
    fn a_read_only_tree_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/c"), "").unwrap();
        for rel in ["a/b", "a", ""] {
            fs::set_permissions(top.join(rel), fs::Permissions::from_mode(0o500)).unwrap();
        }
        remove(&top).unwrap();
        assert!(!top.exists());
        remove(&top).unwrap();
    }
}
