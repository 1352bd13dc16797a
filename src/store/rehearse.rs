//! Whether this program could take the store over, without touching it (CTL-11).

use std::fs;

use camino::Utf8Path;
use rusqlite::{Connection, OpenFlags};

use super::{FILE, Store, StoreError, StoreProblem};

impl Store {
    /// Whether the store is open for reading only, or seems to be, since its last write was refused.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.writer.is_none() || self.refused
    }

    /// Opens the store in `dir` as another process's daemon uses it, for reading only; one with an older
    /// schema is brought up to date on a copy.
    ///
    /// # Errors
    /// If [`Store::open`] could be expected to fail.
    pub fn rehearse(dir: &Utf8Path) -> Result<(), StoreError> {
        match Self::open_read(dir) {
            Err(StoreError { problem: StoreProblem::Older, .. }) => migrate_copy(dir),
            opened => opened.map(drop),
        }
    }
}

fn migrate_copy(dir: &Utf8Path) -> Result<(), StoreError> {
    let beside = dir.join("rehearsal");
    // One that was killed has left it; a daemon tries one program at a time.
    let _removed = fs::remove_dir_all(&beside);
    let done = copy(&dir.join(FILE), &beside).and_then(|()| Store::open(&beside).map(drop));
    // What stays of a copy is in nobody's way, and whether it could be made matters more.
    let _removed = fs::remove_dir_all(&beside);
    done
}

/// A copy that is whole, whoever writes the original meanwhile.
fn copy(from: &Utf8Path, into: &Utf8Path) -> Result<(), StoreError> {
    let failed = |problem| StoreError { path: from.to_owned(), problem };
    fs::create_dir(into).map_err(|cause| failed(StoreProblem::NotWritable(cause.to_string())))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = Connection::open_with_flags(from, flags)
        .and_then(|connection| connection.execute("VACUUM INTO ?1", [into.join(FILE).as_str()]));
    copied.map(drop).map_err(|cause| failed(cause.into()))
}
