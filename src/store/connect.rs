//! Opening the database file, to write it and to look at it.
//!
//! Invariants: whoever only looks creates no file; no descriptor of an existing
//! database is opened and closed beside SQLite's own (that would drop the locks
//! of every connection of this process).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, OpenFlags};

use super::error::StoreProblem;
use super::schema;
use crate::host::sqlite::{self, Stamp};
pub(super) use crate::host::sqlite::{beside, said};

/// How long a lock of another process is waited for; our own transactions last milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two attempts to take part in the making of a store.
const BREATH: Duration = Duration::from_millis(5);

/// KiB of pages that a connection keeps. Rows are found by index and written
/// once, so a larger cache buys nothing.
pub(super) const CACHE: i64 = 256;

/// For a transaction that writes very many rows, of which each goes to several places.
pub(super) const LARGE_CACHE: i64 = 4096;

/// Pages in the log before they are moved to the database, and the size in
/// bytes that the log shrinks to after an unusually large transaction.
const LOG_PAGES: i64 = 1000;
const LOG_BYTES: i64 = 4 << 20;

/// A connection that may write, and the files that it has open.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// Whether there was no store before.
    pub(super) made: bool,
    opened: Opened,
}

impl Writer {
    /// Whether what lies at `path` is what this connection has open.
    pub(super) fn is_in_place(&self, path: &Utf8Path) -> InPlace {
        let now = Opened::at(path);
        if !now.database.is(self.opened.database) {
            InPlace::Gone
        } else if now.log.is(self.opened.log) && now.index.is(self.opened.index) {
            InPlace::Whole
        } else {
            InPlace::LogGone
        }
    }
}

/// What became of the files that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InPlace {
    /// They lie where they were opened.
    Whole,
    /// The database does; log or index were removed under it.
    LogGone,
    /// The database does not.
    Gone,
}

/// Device and inode of each file.
#[derive(Debug, Clone, Copy)]
struct Opened {
    database: Seen,
    log: Seen,
    index: Seen,
}

/// What a look at a file gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Absent,
    File(u64, u64),
    /// The disk did not say, so nothing is known of it.
    Untold,
}

impl Seen {
    fn at(path: &Utf8Path) -> Self {
        match fs::metadata(path) {
            Ok(found) => Self::File(found.dev(), found.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(_) => Self::Untold,
        }
    }

    fn is(self, other: Self) -> bool {
        self == other || self == Self::Untold || other == Self::Untold
    }
}

impl Opened {
    fn at(path: &Utf8Path) -> Self {
        Self {
            database: Seen::at(path),
            log: Seen::at(&beside(path, "-wal")),
            index: Seen::at(&beside(path, "-shm")),
        }
    }
}

/// Opens for writing; makes directory (0700) and file (0600) where they are missing.
pub(super) fn writer(path: &Utf8Path) -> Result<Writer, StoreProblem> {
    leftovers(path)?;
    create(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::StorageFull => StoreProblem::Full,
        io::ErrorKind::AlreadyExists => StoreProblem::NotWritable("its directory is a file".to_owned()),
        _ => StoreProblem::NotWritable(said(&cause)),
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| explain(path, error))?;
    // A file that turns out to be no store of ours stays as it is: closing it must not move its log into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Log and index stay when the last connection closes, so that a reader
    // never has to make them (and so never owns what the daemon needs).
    let mut persist = 1;
    connection.file_control(Some("main"), FileControl::PersistWal(&mut persist))?;
    settle(&connection)?;
    // While another process makes the same store, SQLite answers some of these
    // steps with "locked" at once, without the patience that it was told to have.
    let begun = Instant::now();
    loop {
        match prepare(&mut connection) {
            Err(StoreProblem::Locked) if begun.elapsed() < PATIENCE => thread::sleep(BREATH),
            Ok(made) => {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
                return Ok(Writer { opened: Opened::at(path), connection, made });
            }
            Err(problem) => return Err(problem),
        }
    }
}

/// What SQLite would take for an empty database, removing its log in silence: a log without its database
/// or beside an empty one, and a file that is shorter than any page.
fn leftovers(path: &Utf8Path) -> Result<(), StoreProblem> {
    let bytes = |path: &Utf8Path| fs::metadata(path).map_or(0, |found| found.len());
    match (bytes(path), bytes(&beside(path, "-wal"))) {
        (0, 1..) => Err(StoreProblem::Damaged("nothing is in it, but in its write-ahead log".to_owned())),
        (1..512, _) => Err(StoreProblem::NotADatabase),
        _ => Ok(()),
    }
}

/// Moves the whole log into the database.
pub(super) fn checkpoint(connection: &Connection) -> Result<(), StoreProblem> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 { Ok(()) } else { Err(StoreProblem::Locked) }
}

/// Looks at every page. What it costs is in `docs/state.md`.
pub(super) fn pages(connection: &Connection) -> Result<(), StoreProblem> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(if is_unread(&found) {
            StoreProblem::NotReadable("input/output error".to_owned())
        } else {
            // In one line, as it is shown in lists.
            StoreProblem::Damaged(found.split_whitespace().collect::<Vec<_>>().join(" "))
        });
    }
    Ok(())
}

/// Looks at every page, and at the length of the file, for which the log is emptied.
pub(super) fn check(connection: &Connection) -> Result<(), StoreProblem> {
    pages(connection)?;
    // SQLite reads what is missing of the last page as zeroes. Only with its log emptied the file must be
    // as long as it says; where that cannot be done now, the next start looks.
    if checkpoint(connection).is_err() {
        return Ok(());
    }
    is_as_long_as_it_says(connection)
}

/// Whether the file holds every page that it speaks of. A log in which something stands may hold them too:
/// then another process has written meanwhile, and nothing can be told.
pub(super) fn is_as_long_as_it_says(connection: &Connection) -> Result<(), StoreProblem> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, u64>(0));
    let said = number("page_count")? * number("page_size")?;
    let path = Utf8Path::new(connection.path().unwrap_or_default());
    match fs::metadata(path) {
        Ok(found)
            if found.len() < said && fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() == 0) =>
        {
            Err(StoreProblem::Damaged(format!("{} of its {said} bytes are there", found.len())))
        }
        _ => Ok(()),
    }
}

/// Whether a check's finding is only that a page could not be had: `… error code 266`, whose lower byte says
/// that the disk did not give it, or that memory was short, or `failed to get page 7`, which has no code. That
/// is no damage, and nothing to move aside for.
pub(super) fn is_unread(found: &str) -> bool {
    use rusqlite::ffi::{SQLITE_CORRUPT, SQLITE_NOTADB};
    let code = found.rsplit_once("error code").map_or("", |(_, code)| code.trim_start_matches(['=', ' ']));
    let digits = code.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    let of_damage = |code: i32| [SQLITE_CORRUPT, SQLITE_NOTADB].contains(&(code & 0xff));
    digits.parse().map_or_else(|_| found.contains("failed to get page"), |code| !of_damage(code))
}

/// Whether the header of a database says that nobody may write to it: a version of its format that is neither
/// that without a log nor that with one. Only where SQLite has found it so.
pub(super) fn header_forbids_writing(path: &Utf8Path) -> bool {
    let mut versions = [0; 2];
    let read = fs::File::open(path).and_then(|file| file.read_exact_at(&mut versions, 18));
    read.is_ok() && versions.iter().any(|version| !(1..=2).contains(version))
}

/// SQLite opens what it may not write for reading, without a word; the system tells why.
fn why_read_only(path: &str) -> String {
    let refused = fs::OpenOptions::new().append(true).open(path).err();
    refused.map_or_else(|| "permission denied".to_owned(), |cause| said(&cause))
}

/// Brings an opened file into the shape that the store writes; does nothing to one that has it.
/// Whether it was empty.
fn prepare(connection: &mut Connection) -> Result<bool, StoreProblem> {
    let made = schema::version(connection)? == schema::Version::Empty;
    if connection.is_readonly("main")? {
        return Err(StoreProblem::NotWritable(why_read_only(connection.path().unwrap_or_default())));
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreProblem::NoWal(mode));
    }
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    schema::migrate(connection).map(|()| made)
}

fn create(path: &Utf8Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Settings of every connection.
fn settle(connection: &Connection) -> Result<(), StoreProblem> {
    connection.busy_timeout(PATIENCE)?;
    cache(connection, CACHE)?;
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    Ok(())
}

/// Keeps so many KiB of pages.
pub(super) fn cache(connection: &Connection, kibibytes: i64) -> Result<(), StoreProblem> {
    connection.pragma_update(None, "cache_size", -kibibytes)?;
    Ok(())
}

/// SQLite says only that it cannot open; the file itself may tell why.
fn explain(path: &Utf8Path, error: rusqlite::Error) -> StoreProblem {
    match (StoreProblem::from(error), fs::metadata(path)) {
        (StoreProblem::NotReadable(_), Ok(found)) if found.is_dir() => {
            StoreProblem::NotReadable("it is a directory".to_owned())
        }
        (StoreProblem::NotReadable(_), Ok(_)) => StoreProblem::NotReadable("permission denied".to_owned()),
        (StoreProblem::NotReadable(_), Err(cause)) => StoreProblem::NotReadable(said(&cause)),
        (problem, _) => problem,
    }
}

fn stamp(path: &Utf8Path) -> Result<Option<Stamp>, StoreProblem> {
    Stamp::of(path).map_err(|error| StoreProblem::NotReadable(said(&error)))
}

/// What lies beside one another on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Files {
    database: Stamp,
    log: Option<Stamp>,
    index: bool,
}

fn files(path: &Utf8Path) -> Result<Option<Files>, StoreProblem> {
    let Some(database) = stamp(path)? else { return Ok(None) };
    let log = stamp(&beside(path, "-wal"))?;
    Ok(Some(Files { database, log, index: stamp(&beside(path, "-shm"))?.is_some() }))
}

/// Looks at the store for the duration of `look`; none if there is no store yet.
///
/// With log and index beside it, the database is read as any reader of a
/// write-ahead log does. Without a log nobody writes it, and it is read as it
/// lies; if somebody began to write meanwhile, the look is repeated.
pub(super) fn look<T>(
    path: &Utf8Path,
    look: impl Fn(&Connection) -> Result<T, StoreProblem>,
) -> Result<Option<T>, StoreProblem> {
    for _ in 0..8 {
        let Some(before) = files(path)? else { return Ok(None) };
        let logged = before.log.is_some_and(|log| log.bytes > 0);
        let shared = before.log.is_some() && before.index;
        if logged && !shared {
            // Whoever closes a database removes first the index, then the log.
            if files(path)? == Some(before) {
                return Err(StoreProblem::NoIndex);
            }
            continue;
        }
        let seen = reader(path, shared).and_then(|connection| match schema::version(&connection)? {
            schema::Version::Empty => Ok(None),
            schema::Version::Older => Err(StoreProblem::Older),
            schema::Version::Current => look(&connection).map(Some),
        });
        if shared || files(path)? == Some(before) {
            return seen;
        }
    }
    Err(StoreProblem::Locked)
}

fn reader(path: &Utf8Path, shared: bool) -> Result<Connection, StoreProblem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = if shared {
        Connection::open_with_flags(path, flags)
    } else {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(sqlite::uri(path, "immutable=1"), flags)
    };
    let connection = opened.map_err(|error| explain(path, error))?;
    settle(&connection)?;
    Ok(connection)
}
