//! Whether a file is still the one that it was.
//!
//! Invariant: its contents are never read.

use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use crate::base::Wall;

/// A file's identity, its size, and when it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// Of the file that a path leads to at present.
    #[must_use]
    pub fn of(path: &Utf8Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { device: found.dev(), inode: found.ino(), size: found.size(), modified })
    }

    /// Whether the file that a path leads to was written, replaced or renamed after an instant.
    #[must_use]
    pub fn is_newer(path: &Utf8Path, than: Wall) -> bool {
        let Ok(found) = path.metadata() else { return false };
        found.ctime().saturating_mul(1_000_000).saturating_add(found.ctime_nsec() / 1000) > than.0
    }

    /// What no other file of the machine has at the same time.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("{}:{}", self.device, self.inode)
    }
}
