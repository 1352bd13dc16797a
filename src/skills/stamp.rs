//! Stamps: what metadata tells about a tree, in a few bytes (SKL-10).
//!
//! Invariant: equal stamps over the same paths mean that no file was written
//! and no entry came or went, but for what happens within one tick of the
//! file system's clock.

use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use camino::Utf8Path;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::sys::stat::{FileStat, SFlag, fstatat};
use sha2::{Digest, Sha256};

use super::build::hex;

/// A directory from which paths are looked up: once open, its own path costs
/// nothing any more.
#[derive(Debug)]
pub(super) struct Base(Option<File>);

impl Base {
    /// Opens `dir`; of one that cannot be opened nothing has a stamp.
    pub(super) fn open(dir: &Utf8Path) -> Self {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
        Self(OpenOptions::new().read(true).custom_flags(flags.bits()).open(dir).ok())
    }

    /// Sums up the metadata of `paths` below the directory `name`; none if one of them is gone.
    pub(super) fn stamp(&self, name: &str, paths: &[String]) -> Option<String> {
        sum(self.0.as_ref()?, name, paths)
    }
}

/// Sums up the metadata of `paths` under `base`; none if one of them is gone.
pub(super) fn stamp(base: &Utf8Path, paths: &[String]) -> Option<String> {
    sum(AT_FDCWD, base.as_str(), paths)
}

fn sum(from: impl AsFd, base: &str, paths: &[String]) -> Option<String> {
    let mut stamp = Stamp::default();
    let mut path = String::with_capacity(base.len() + 64);
    for rel in paths {
        path.clear();
        path.push_str(base);
        if !rel.is_empty() {
            path.push('/');
            path.push_str(rel);
        }
        stamp.stat(&fstatat(from.as_fd(), path.as_str(), AtFlags::empty()).ok()?);
    }
    Some(stamp.finish())
}

/// Takes metadata in, path by path. A directory's entry list changes its
/// modification time, so one look at it spares reading it.
#[derive(Default)]
pub(super) struct Stamp(Sha256);

impl Stamp {
    /// Takes in what std found.
    pub(super) fn add(&mut self, meta: &Metadata) {
        let modified = [meta.mtime() as u64, meta.mtime_nsec() as u64];
        let changed = [meta.ctime() as u64, meta.ctime_nsec() as u64];
        self.words(meta.mode(), meta.ino(), meta.size(), modified, changed);
    }

    fn stat(&mut self, stat: &FileStat) {
        let modified = [stat.st_mtime as u64, stat.st_mtime_nsec as u64];
        let changed = [stat.st_ctime as u64, stat.st_ctime_nsec as u64];
        self.words(stat.st_mode, stat.st_ino, stat.st_size as u64, modified, changed);
    }

    fn words(&mut self, mode: u32, inode: u64, size: u64, modified: [u64; 2], changed: [u64; 2]) {
        let file = mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits();
        // Renaming a directory changes its change time, and we do rename.
        let (size, changed) = if file { (size, changed) } else { (0, [0; 2]) };
        let words = [u64::from(mode), inode, size, modified[0], modified[1], changed[0], changed[1]];
        let mut bytes = [0_u8; 56];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.0.update(bytes);
    }

    /// The stamp of all that was taken in.
    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize()[..16])
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use camino::Utf8Path;

    use super::{Base, stamp};
    use crate::skills::tests::place::tick;

    /// SKL-10: both ways to look give one stamp; a change of size, mode, times or entries gives another.
    #[test]
    fn a_stamp_tells_changes() {
        let home = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(home.path()).unwrap();
        fs::create_dir_all(home.join("a/b")).unwrap();
        fs::write(home.join("a/f"), "x").unwrap();
        let paths: Vec<String> = ["", "b", "f"].map(str::to_owned).into();
        let now = || {
            let found = stamp(&home.join("a"), &paths);
            assert_eq!(Base::open(home).stamp("a", &paths), found);
            found
        };
        let mut seen = vec![now()];
        let mut differs = |what: &str| {
            let found = now();
            assert!(!seen.contains(&found), "{what}");
            seen.push(found);
        };
        fs::write(home.join("a/f"), "longer").unwrap();
        differs("size");
        tick();
        fs::write(home.join("a/b/new"), "").unwrap();
        differs("entry");
        let file = fs::File::options().write(true).open(home.join("a/f")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        differs("time");
        fs::remove_dir_all(home.join("a/b")).unwrap();
        assert_eq!(now(), None);
        assert_eq!(Base::open(&home.join("none")).stamp("a", &paths), None);
    }
}
