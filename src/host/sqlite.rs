//! The files of an SQLite database: what lies beside it, whether it was written, how a URI names it.
//!
//! Invariant: nothing is opened here: to open a database's file beside SQLite and to close it again would drop
//! the locks of every connection of this process.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

/// What tells whether a file was written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its size.
    pub bytes: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// The stamp of a file; none: there is none.
    ///
    /// # Errors
    /// If the system does not tell, or what is there is no file that has contents.
    pub fn of(path: &Utf8Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"))
            }
            Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
            Ok(found) => Ok(Some(Self {
                bytes: found.len(),
                device: found.dev(),
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
            })),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The file beside a database whose name has this at its end: `-wal`, `-shm`, `-journal`.
#[must_use]
pub fn beside(path: &Utf8Path, suffix: &str) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}{suffix}"))
}

/// The URI that opens a database in this way: `immutable=1`, `mode=ro`.
#[must_use]
pub fn uri(path: &Utf8Path, how: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_str().bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?" + how
}

/// The text of an error without std's `(os error N)`, in lower case like all of ours.
#[must_use]
pub fn said(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    plain.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{said, uri};

    #[test]
    fn a_uri_names_any_path() {
        assert_eq!(uri("/a b/ü?#%.db".into(), "immutable=1"), "file:/a%20b/%c3%bc%3f%23%25.db?immutable=1");
    }

    #[test]
    fn an_error_is_said_without_its_number() {
        assert_eq!(said(&std::io::Error::from_raw_os_error(13)), "permission denied");
    }
}
