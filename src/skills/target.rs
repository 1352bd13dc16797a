//! Looking at a target: its lock, its manifest, its entries.
//!
//! Invariant: nothing in a target is followed or waited for, whoever put it
//! there: no link, no pipe, and no lock beyond a bound.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::Bounds;
use super::build::{content_hash, open_regular};
use super::cause::is;
use super::manifest::{Entry, FILE, LOCK, Manifest, OURS, SCRATCH, is_copy_name};
use super::plan::Held;
use super::stamp::Base;
use super::tree::{Links, changed, walk};
use super::warning::{Warning, WarningKind, shown};
use crate::host::cause;

/// A manifest as it was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Loaded {
    pub(super) manifest: Manifest,
    pub(super) warning: Option<Warning>,
    bytes: Vec<u8>,
}

/// Reads the manifest in `dir`. One that cannot be used owns nothing.
pub(super) fn load(dir: &Utf8Path) -> Loaded {
    load_anew(dir, &Loaded::default()).unwrap_or_default()
}

/// Reads the manifest in `dir` again. None: it is `known` to the last byte.
pub(super) fn load_anew(dir: &Utf8Path, known: &Loaded) -> Option<Loaded> {
    const LONGEST: u64 = 256 * 1_024 * 1_024;
    let path = dir.join(FILE);
    let read = open_regular(&path).and_then(|(file, meta)| {
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(LONGEST)).unwrap_or(0));
        file.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let (reason, bytes) = match read {
        Ok(bytes) if bytes == known.bytes && !bytes.is_empty() => return None,
        Ok(bytes) => match Manifest::parse(&bytes) {
            Ok(manifest) => return Some(Loaded { manifest, warning: None, bytes }),
            Err(reason) => (reason, bytes),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound || is(&error, Errno::ENOTDIR) => {
            return Some(Loaded::default());
        }
        Err(error) => (cause(&error), Vec::new()),
    };
    let text = format!("{} is unusable, no copy beside it is taken for ours: {reason}", shown(&path));
    let warning = Some(Warning::new(WarningKind::Target, text));
    Some(Loaded { manifest: Manifest::default(), warning, bytes })
}

/// The entries of a target.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// By name; whether it is a directory.
    pub(super) entries: BTreeMap<String, bool>,
    /// What earlier projections left behind.
    pub(super) scratch: Vec<Utf8PathBuf>,
    /// Names that are not UTF-8.
    pub(super) odd: Vec<std::path::PathBuf>,
}

/// Lists `dir`; a missing one is empty.
pub(super) fn list(dir: &Utf8Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let is_dir = entry.file_type()?.is_dir();
        match entry.file_name().into_string() {
            Ok(name) if name.starts_with(SCRATCH) => listing.scratch.push(dir.join(name)),
            Ok(name) if is_copy_name(&name) => drop(listing.entries.insert(name, is_dir)),
            // Ours, or what takes a name of ours and is replaced by it.
            Ok(name) => debug_assert!(name.starts_with(OURS)),
            Err(_) => listing.odd.push(entry.path()),
        }
    }
    Ok(listing)
}

/// What `dir` holds under `name`. Where the stamp of a copy is out of date but
/// its contents are not, or an interrupted replacement is found done, the
/// entry is mended.
pub(super) fn held(
    dir: &Utf8Path,
    base: &Base,
    name: &str,
    is_dir: Option<bool>,
    entry: Option<&mut Entry>,
    bounds: Bounds,
) -> Held {
    let (Some(is_dir), Some(entry)) = (is_dir, entry) else {
        return if is_dir.is_some() { Held::Foreign } else { Held::Absent };
    };
    let changed = match entry.previous.as_deref() {
        // We were about to write it where nothing was, so this is somebody else's.
        Some("") => Held::Foreign,
        _ => Held::Edited,
    };
    if !is_dir {
        return changed;
    }
    let copy = dir.join(name);
    if base.stamp(name, &entry.paths).is_some_and(|now| now == entry.copy_stamp) {
        entry.previous = None;
        return Held::Current;
    }
    // What was copied under other bounds is ours all the same.
    let bounds = Bounds { files: bounds.files.max(entry.paths.len() as u64), bytes: bounds.bytes };
    let Ok(tree) = walk(&copy, Links::Refuse, bounds) else { return changed };
    let Ok(hash) = content_hash(&tree, bounds) else { return changed };
    if hash == entry.hash {
        entry.previous = None;
        entry.copy_stamp = tree.stamp;
        entry.paths = tree.paths;
        Held::Current
    } else if entry.previous.as_deref() == Some(hash.as_str()) {
        Held::Stale
    } else {
        changed
    }
}

/// The exclusive right to change a target, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

/// Takes the lock of `dir`. None: somebody else keeps it.
pub(super) fn lock(dir: &Utf8Path) -> io::Result<Option<Lock>> {
    const TRIES: u32 = 3_000;
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let path = dir.join(LOCK);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("its lock is no regular file"));
    }
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock(file))),
            // Projections are short; the bound is for an agent that locks it itself.
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

impl Lock {
    /// The file system's idea of now, in nanoseconds since 1970: what changes
    /// later has a change time that is not smaller.
    pub(super) fn mark(&self) -> io::Result<i128> {
        let mut file = &self.0;
        file.set_len(0)?;
        file.write_all(b"\n")?;
        Ok(changed(&file.metadata()?))
    }
}
