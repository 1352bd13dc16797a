//! Writing into a file that somebody else may be writing as well (WRT-4).
//!
//! Invariants: the file is replaced whole and durably or not at all, and only while it still holds
//! what the writer had read; two writers of this kind never lose each other's work.

use std::fs::{File, Permissions, create_dir_all, symlink_metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::{AccessFlags, access};
use thiserror::Error;

use super::{ReadProblem, put_by, read_config, rename_new};
use crate::host::cause;
use crate::host::flock::{Flock, Wait, reason};

/// Why a file was left as it is. Whoever shows it names the file.
#[derive(Debug, Error)]
pub enum RewriteError {
    /// Somebody else has written it.
    #[error("it has changed since it was read")]
    Changed,
    /// Its mode forbids writing.
    #[error("it is read-only")]
    ReadOnly,
    /// It is another user's, and a file of this one's would take its place.
    #[error("it belongs to another user, and this one cannot leave it so: {}", cause(.0))]
    Owner(io::Error),
    /// It cannot be read again.
    #[error(transparent)]
    Read(#[from] ReadProblem),
    /// It is a symbolic link to a file that is not there.
    #[error("it is a link to a file that does not exist")]
    Nowhere,
    /// The system refuses a step.
    #[error("it cannot be written: {}", cause(.0))]
    Io(#[from] io::Error),
}

/// Replaces the contents `before` of the file (none: it is made, with its directory) by `after`. A symbolic link is
/// followed: the file that it leads to is replaced, with the mode and the owner that it has.
///
/// # Errors
/// See [`RewriteError`]; the file is then as it was.
pub fn rewrite(path: &Utf8Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), RewriteError> {
    let target = target(path)?;
    let directory = target.parent().filter(|one| !one.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    if before.is_none() {
        create_dir_all(directory)?;
    }
    // Writers that come through another name of the directory meet here, too.
    let _turn = Flock::lock(File::open(directory)?, Wait::Long).map_err(reason)?;
    let found = match read_config(&target) {
        Ok(bytes) => Some(bytes),
        Err(ReadProblem::Missing) => None,
        Err(problem) => return Err(problem.into()),
    };
    if found.as_deref() != before {
        return Err(RewriteError::Changed);
    }
    if found.is_none() {
        return put_by(&target, after, 0o644, |_| Ok(()), rename_new).map_err(|error| match error {
            RewriteError::Io(cause) if cause.kind() == ErrorKind::AlreadyExists => RewriteError::Changed,
            other => other,
        });
    }
    access(target.as_std_path(), AccessFlags::W_OK).map_err(|_| RewriteError::ReadOnly)?;
    let old = target.metadata()?;
    // Nobody else reads it before it has the mode of the old one: that may be a file with keys.
    let prepare = |file: &File| {
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid())).map_err(RewriteError::Owner)?;
        }
        Ok(file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?)
    };
    put_by(&target, after, 0o600, prepare, |from, to| std::fs::rename(from, to))
}

/// The file that a name leads to. A link that leads to nothing is no place for a new file.
fn target(path: &Utf8Path) -> Result<Utf8PathBuf, RewriteError> {
    match path.canonicalize_utf8() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound && symlink_metadata(path).is_err() => {
            Ok(path.to_owned())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(RewriteError::Nowhere),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use camino::{Utf8Path, Utf8PathBuf};

    use super::rewrite;

    fn home() -> (tempfile::TempDir, Utf8PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let base = Utf8Path::from_path(directory.path()).unwrap().to_owned();
        (directory, base)
    }

    /// WRT-4: mode, owner and group stay, and a symbolic link goes on leading where it led.
    #[test]
    fn the_file_behind_a_link_is_replaced_with_its_mode_and_owner() {
        let (_directory, base) = home();
        fs::create_dir(base.join("dotfiles")).unwrap();
        let (file, link) = (base.join("dotfiles/real"), base.join("link"));
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65534), Some(65533)).unwrap();
        }
        symlink("dotfiles/real", &link).unwrap();
        let old = file.metadata().unwrap();
        rewrite(&link, Some(b"a"), b"b").unwrap();
        let new = file.metadata().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"b");
        assert_eq!((new.mode(), new.uid(), new.gid()), (old.mode(), old.uid(), old.gid()));
        assert_ne!(new.ino(), old.ino(), "it is replaced, not written into");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(base.join("dotfiles")).unwrap().count(), 1, "nothing is left behind");
    }

    /// WRT-4: what somebody else has written meanwhile stays.
    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let (_directory, base) = home();
        let file = base.join("file");
        let refused = |before: Option<&[u8]>| rewrite(&file, before, b"mine").unwrap_err().to_string();
        assert_eq!(refused(Some(b"old")), "it has changed since it was read");
        fs::write(&file, "theirs").unwrap();
        assert_eq!(refused(Some(b"old")), "it has changed since it was read");
        assert_eq!(refused(None), "it has changed since it was read");
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        symlink("nowhere", base.join("dangling")).unwrap();
        let error = rewrite(&base.join("dangling"), None, b"mine").unwrap_err();
        assert_eq!(error.to_string(), "it is a link to a file that does not exist");
        rewrite(&base.join("new/file"), None, b"mine").unwrap();
        assert_eq!(fs::read(base.join("new/file")).unwrap(), b"mine");
    }

    /// WRT-4: of many writers at once, each one that succeeds has what was there and its own.
    #[test]
    fn no_writer_loses_the_work_of_another() {
        let (_directory, base) = home();
        let file = base.join("file");
        fs::write(&file, "").unwrap();
        let done: usize = std::thread::scope(|scope| {
            let writer = || {
                let again = || {
                    let before = fs::read(&file).unwrap();
                    let after = [&before[..], b"x"].concat();
                    usize::from(rewrite(&file, Some(&before), &after).is_ok())
                };
                (0..20).map(|_| again()).sum::<usize>()
            };
            let all: Vec<_> = (0..4).map(|_| scope.spawn(writer)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert!(done >= 20, "{done}");
        assert_eq!(fs::read(&file).unwrap().len(), done);
    }
}
