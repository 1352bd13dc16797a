//! Finding the file that a program's name means.
//!
//! Invariant: what is found is what the child would execute, with *its* PATH
//! and *its* working directory; never the daemon's.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use thiserror::Error;

use crate::host::cause;

/// Where programs are looked for when the environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a program cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// No directory of PATH holds it.
    #[error("`{word}` is not in PATH ({path})")]
    NotInPath {
        /// The name.
        word: String,
        /// Where it was looked for.
        path: String,
    },
    /// Its path leads nowhere.
    #[error("`{path}` does not exist")]
    Missing {
        /// The file.
        path: Utf8PathBuf,
    },
    /// A directory, a socket, a device.
    #[error("`{path}` is not a file")]
    NotFile {
        /// The path.
        path: Utf8PathBuf,
    },
    /// A file that may not be executed.
    #[error("`{path}` is not executable")]
    NotExecutable {
        /// The file.
        path: Utf8PathBuf,
    },
    /// It cannot even be looked at.
    #[error("`{path}` cannot be reached: {cause}")]
    Unreachable {
        /// The file.
        path: Utf8PathBuf,
        /// What the system says.
        cause: String,
    },
    /// An empty name.
    #[error("the program's name is empty")]
    Empty,
}

/// The file that `word` means: with a `/` a path, relative to `cwd`; else the
/// first executable file of that name in the directories of `path`, the PATH
/// of the child's environment.
///
/// # Errors
/// If there is none. A file that is found and may not be executed is named.
pub fn find_program(word: &str, path: Option<&OsStr>, cwd: &Utf8Path) -> Result<Utf8PathBuf, ProgramError> {
    if word.is_empty() {
        return Err(ProgramError::Empty);
    }
    if word.contains('/') {
        let file = cwd.join(word);
        return check(&file).map(|()| file);
    }
    let path = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    let mut unfit = None;
    for directory in path.as_bytes().split(|byte| *byte == b':') {
        // A directory that is no UTF-8 cannot be named in a message or a record; it is passed over.
        let Ok(directory) = std::str::from_utf8(directory) else { continue };
        let file = cwd.join(directory).join(word);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(problem @ ProgramError::NotExecutable { .. }) => unfit = unfit.or(Some(problem)),
            Err(_) => {}
        }
    }
    let path = path.to_string_lossy().into_owned();
    Err(unfit.unwrap_or_else(|| ProgramError::NotInPath { word: word.to_owned(), path }))
}

/// Whether `file` can be executed.
pub(super) fn check(file: &Utf8Path) -> Result<(), ProgramError> {
    let path = file.to_owned();
    match file.metadata() {
        Ok(found) if !found.is_file() => Err(ProgramError::NotFile { path }),
        Ok(_) => may_execute(file).map_err(|_| ProgramError::NotExecutable { path }),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Err(ProgramError::Missing { path }),
            _ => Err(ProgramError::Unreachable { path, cause: cause(&error) }),
        },
    }
}

/// Whether this user may execute a file, or enter a directory.
pub(super) fn may_execute(path: &Utf8Path) -> io::Result<()> {
    Ok(access(path.as_std_path(), AccessFlags::X_OK)?)
}

/// A script whose first line names a program that does not exist fails like a
/// file that does not exist; this says which it was.
pub(super) fn missing_interpreter(file: &Utf8Path, error: &io::Error) -> Option<String> {
    if error.raw_os_error() != Some(Errno::ENOENT as i32) {
        return None;
    }
    let head = first_bytes(file).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = String::from_utf8_lossy(line).split_whitespace().next()?.to_owned();
    Some(format!("its interpreter `{word}` does not exist"))
}

fn first_bytes(file: &Utf8Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(file)?.take(256).read_to_end(&mut head)?;
    Ok(head)
}
