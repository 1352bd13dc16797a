//! Reading contents: hashing a tree, and copying it beside the target.
//!
//! Invariant: only what is a regular file once it is open is read, and never
//! more than the bounds allow, however a source changes meanwhile.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::time::{Duration, SystemTime};

use camino::Utf8Path;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use sha2::{Digest, Sha256};

use super::Bounds;
use super::stamp::stamp;
use super::tree::{Tree, TreeError};

/// A copy that waits beside the target.
#[derive(Debug)]
pub(super) struct Built {
    /// Of its contents.
    pub(super) hash: String,
    /// Sums up its metadata over the paths of its tree.
    pub(super) stamp: String,
}

/// Whose fault it is that a copy failed.
#[derive(Debug)]
pub(super) enum BuildError {
    Source(TreeError),
    Target(io::Error),
}

/// Opens a regular file without following a link and without waiting for anybody.
pub(super) fn open_regular(path: &Utf8Path) -> io::Result<(fs::File, fs::Metadata)> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta)) } else { Err(Errno::EINVAL.into()) }
}

/// The hash of a tree's contents: over its sorted paths, their kinds
/// (directory, file, executable) and the files' bytes.
pub(super) fn content_hash(tree: &Tree, bounds: Bounds) -> Result<String, TreeError> {
    let mut reader = Reader::new(bounds);
    let mut contents = Contents::new(tree);
    for file in &tree.files {
        let (mut from, meta) = open_regular(&file.path).map_err(|error| TreeError::io(&file.path, &error))?;
        let mut digest = Sha256::new();
        reader.each(&mut from, &file.path, |bytes| {
            digest.update(bytes);
            Ok(())
        })?;
        contents.file(&file.rel, meta.mode() & 0o111 != 0, digest);
    }
    Ok(contents.finish())
}

/// Copies `tree` to `to`, which does not exist yet. `mark`: an instant of the
/// target's file system. The copies are dated a second before it, so that even
/// a change in the very tick in which they are made shows.
pub(super) fn build(tree: &Tree, to: &Utf8Path, bounds: Bounds, mark: i128) -> Result<Built, BuildError> {
    let since = Duration::from_nanos(u64::try_from(mark).unwrap_or(0)).saturating_sub(Duration::from_secs(1));
    let date = SystemTime::UNIX_EPOCH + since;
    let target = BuildError::Target;
    let mut reader = Reader::new(bounds);
    let mut contents = Contents::new(tree);
    let mut directory = DirBuilder::new();
    directory.mode(0o755);
    directory.create(to).map_err(target)?;
    for rel in &tree.dirs {
        directory.create(to.join(rel)).map_err(target)?;
    }
    for file in &tree.files {
        let source = |error: io::Error| BuildError::Source(TreeError::io(&file.path, &error));
        let (mut from, meta) = open_regular(&file.path).map_err(source)?;
        let executable = meta.mode() & 0o111 != 0;
        let mut copy = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(if executable { 0o755 } else { 0o644 })
            .open(to.join(&file.rel))
            .map_err(target)?;
        let mut digest = Sha256::new();
        reader.each(&mut from, &file.path, |bytes| {
            digest.update(bytes);
            copy.write_all(bytes).map_err(target)
        })?;
        copy.set_modified(date).map_err(target)?;
        contents.file(&file.rel, executable, digest);
    }
    for rel in tree.dirs.iter().map(String::as_str).chain([""]) {
        let made = fs::File::open(to.join(rel)).map_err(target)?;
        made.set_modified(date).map_err(target)?;
    }
    let stamp = stamp(to, &tree.paths).ok_or_else(|| target(Errno::ENOENT.into()))?;
    Ok(Built { hash: contents.finish(), stamp })
}

impl From<TreeError> for BuildError {
    fn from(error: TreeError) -> Self {
        Self::Source(error)
    }
}

/// Reads files through one buffer, up to the bound of bytes for all of them.
struct Reader {
    buffer: Vec<u8>,
    left: u64,
    bounds: Bounds,
}

impl Reader {
    fn new(bounds: Bounds) -> Self {
        Self { buffer: vec![0; 64 * 1_024], left: bounds.bytes, bounds }
    }

    fn each<E: From<TreeError>>(
        &mut self,
        from: &mut fs::File,
        path: &Utf8Path,
        mut use_bytes: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let count = match from.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(TreeError::io(path, &error).into()),
            };
            self.left = self.left.checked_sub(count as u64).ok_or(TreeError::Bytes(self.bounds.bytes))?;
            use_bytes(&self.buffer[..count])?;
        }
    }
}

/// Collects what makes up a content hash.
struct Contents {
    entries: Vec<(String, u8, [u8; 32])>,
}

impl Contents {
    fn new(tree: &Tree) -> Self {
        let entries = tree.dirs.iter().map(|rel| (rel.clone(), b'd', [0; 32])).collect();
        Self { entries }
    }

    fn file(&mut self, rel: &str, executable: bool, digest: Sha256) {
        self.entries.push((rel.to_owned(), if executable { b'x' } else { b'f' }, digest.finalize().into()));
    }

    fn finish(mut self) -> String {
        self.entries.sort();
        let mut all = Sha256::new();
        for (rel, kind, digest) in &self.entries {
            all.update([*kind]);
            all.update((rel.len() as u64).to_le_bytes());
            all.update(rel);
            all.update(digest);
        }
        hex(&all.finalize())
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The hash of one file's bytes.
pub(super) fn file_hash(path: &Utf8Path, bounds: Bounds) -> Result<String, TreeError> {
    let (mut from, _) = open_regular(path).map_err(|error| TreeError::io(path, &error))?;
    let mut digest = Sha256::new();
    Reader::new(bounds).each(&mut from, path, |bytes| {
        digest.update(bytes);
        Ok::<(), TreeError>(())
    })?;
    Ok(hex(&digest.finalize()))
}
