//! Opening a database that belongs to somebody else.
//!
//! Invariants: whoever only looks makes, changes and removes no file beside the database; no descriptor of a
//! file that is read along with its writer is opened and closed beside SQLite's own (that would drop the locks
//! of every connection of this process).

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ATTEMPTS;
use crate::host::entropy;
use crate::host::sqlite::{self, Stamp, beside, said};
use crate::host::transcript::Unreadable;

/// What is said of a database that does not stand still.
pub(super) const WRITTEN_MEANWHILE: &str = "it was written while it was read";
/// How long a lock of the agent is waited for; a reader of a log needs none.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection, and what must hold while it is used.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) connection: Connection,
    /// The files as they were when it was opened, where nothing but their rest keeps the reading whole.
    resting: Option<(Utf8PathBuf, Files)>,
    /// Removed after the connection.
    _copy: Option<Copy>,
}

impl Reading {
    /// Whether nobody has written what is read as a file at rest.
    pub(super) fn is_unchanged(&self) -> bool {
        let Some((path, before)) = &self.resting else { return true };
        files(path).is_ok_and(|now| now.as_ref() == Some(before))
    }
}

/// What lies beside one another on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Files {
    database: Stamp,
    log: Option<Stamp>,
    index: bool,
    journal: Option<Stamp>,
}

fn stamp(path: &Utf8Path) -> Result<Option<Stamp>, Unreadable> {
    Stamp::of(path).map_err(|error| failed(path, &error))
}

fn files(path: &Utf8Path) -> Result<Option<Files>, Unreadable> {
    let Some(database) = stamp(path)? else { return Ok(None) };
    Ok(Some(Files {
        database,
        log: stamp(&beside(path, "-wal"))?,
        index: stamp(&beside(path, "-shm"))?.is_some(),
        journal: stamp(&beside(path, "-journal"))?,
    }))
}

/// Opens the database; none: there is no such file, or it is empty.
///
/// With log and index beside it, it is read as any reader of a write-ahead log does, the index being opened
/// for reading only. Without a log it is read as it lies. A log without an index, or the journal of a
/// transaction that was cut off, cannot be read without writing, so a copy is read then.
///
/// While it is open an agent that ends leaves its log and index where they are, as beside any other reader.
pub(super) fn connect(path: &Utf8Path) -> Result<Option<Reading>, Unreadable> {
    for _ in 0..ATTEMPTS {
        let Some(before) = files(path)? else { return Ok(None) };
        let filled = |file: Option<Stamp>| file.is_some_and(|file| file.bytes > 0);
        if before.database.bytes == 0 && !filled(before.log) {
            return Ok(None);
        }
        if before.database.bytes < 512 {
            return Err(unreadable(path, "it is no database"));
        }
        if before.log.is_some() && before.index && !filled(before.journal) {
            match shared(path) {
                // Neither its writer nor its index says what is valid: the log alone does.
                Err(error) if needs_to_write(&error) => {}
                opened => return settled(path, opened, None, None).map(Some),
            }
        } else if !filled(before.log) && !filled(before.journal) {
            let opened = immutable(path);
            if files(path)? != Some(before) {
                continue;
            }
            return settled(path, opened, Some((path.to_owned(), before)), None).map(Some);
        }
        // Whoever closes a database removes first the index, then the log.
        let copy = Copy::of(path)?;
        if files(path)? == Some(before) {
            let opened = Connection::open_with_flags(
                copy.database(),
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            );
            return settled(path, opened, None, Some(copy)).map(Some);
        }
    }
    Err(unreadable(path, WRITTEN_MEANWHILE))
}

fn shared(path: &Utf8Path) -> Result<Connection, rusqlite::Error> {
    let connection = open_uri(path, "mode=ro&readonly_shm=1")?;
    connection.busy_timeout(PATIENCE)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn immutable(path: &Utf8Path) -> Result<Connection, rusqlite::Error> {
    open_uri(path, "immutable=1")
}

fn open_uri(path: &Utf8Path, how: &str) -> Result<Connection, rusqlite::Error> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(sqlite::uri(path, how), flags)
}

/// Whether SQLite gave up since it may not write an index.
pub(super) fn needs_to_write(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed))
}

fn settled(
    path: &Utf8Path,
    opened: Result<Connection, rusqlite::Error>,
    resting: Option<(Utf8PathBuf, Files)>,
    copy: Option<Copy>,
) -> Result<Reading, Unreadable> {
    let settle = |connection: Connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "query_only", true)?;
        // The schema is the agent's, and nothing of it may run with more than a reader's rights.
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let connection = opened.and_then(settle).map_err(|error| explain(path, &error))?;
    Ok(Reading { connection, resting, _copy: copy })
}

/// A database with its log or journal, in a directory of our own, which is removed with this.
#[derive(Debug)]
struct Copy {
    directory: Utf8PathBuf,
}

impl Copy {
    fn of(path: &Utf8Path) -> Result<Self, Unreadable> {
        let parent = Utf8PathBuf::from_path_buf(std::env::temp_dir()).unwrap_or_else(|_| "/tmp".into());
        let directory = parent.join(format!("harnessd-{:016x}", entropy::seed()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(|error| failed(&directory, &error))?;
        let copy = Self { directory };
        for suffix in ["", "-wal", "-journal"] {
            let (from, to) = (beside(path, suffix), beside(&copy.database(), suffix));
            match fs::copy(&from, &to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                copied => copied.map_err(|error| failed(&from, &error))?,
            };
            // It is to be brought into order, whether or not the agent's own may be written.
            fs::set_permissions(&to, Permissions::from_mode(0o600)).map_err(|error| failed(&to, &error))?;
        }
        Ok(copy)
    }

    fn database(&self) -> Utf8PathBuf {
        self.directory.join("copy.db")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever clears the directory of temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// SQLite says only that it cannot open; the file itself may tell why.
pub(super) fn explain(path: &Utf8Path, error: &rusqlite::Error) -> Unreadable {
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is no database".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "it is damaged".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "it is locked".to_owned(),
        Some(ErrorCode::ReadOnly) => WRITTEN_MEANWHILE.to_owned(),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            let refused = fs::File::open(path).err();
            refused.map_or_else(|| "it cannot be opened".to_owned(), |cause| said(&cause))
        }
        _ => error.to_string().to_lowercase(),
    };
    unreadable(path, &message)
}

fn failed(path: &Utf8Path, error: &io::Error) -> Unreadable {
    unreadable(path, &said(error))
}

pub(super) fn unreadable(path: &Utf8Path, message: &str) -> Unreadable {
    Unreadable { path: path.to_owned(), message: message.to_owned() }
}
