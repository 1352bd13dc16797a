//! Who may do what with a file.

use std::io;
use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use nix::unistd::{AccessFlags, User, access, geteuid};

/// Who may do what with a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Whether it is a directory.
    pub directory: bool,
    /// The bits of its mode.
    pub mode: u32,
    /// Whether it is this process's user's.
    pub own: bool,
    /// Whether this process may write it.
    pub writable: bool,
    /// The name of its owner, or the number.
    pub owner: String,
}

impl Access {
    /// To what a path leads to; none: there is nothing.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn to(path: &Utf8Path) -> io::Result<Option<Self>> {
        let found = match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let uid = found.uid();
        let name = User::from_uid(uid.into()).ok().flatten().map(|user| user.name);
        Ok(Some(Self {
            directory: found.is_dir(),
            mode: found.mode() & 0o7777,
            own: geteuid().as_raw() == uid,
            writable: access(path.as_std_path(), AccessFlags::W_OK).is_ok(),
            owner: name.unwrap_or_else(|| uid.to_string()),
        }))
    }
}
