//! How configured paths are read (CFG-7).
//!
//! Invariant: a path never depends on the daemon's working directory. Only `.`
//! is taken out of it: `..` may lead through a symlink.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use thiserror::Error;

use super::codes::{BAD_PATH, EMPTY_VALUE, NUL_CHARACTER};

/// Why a text is no usable path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum PathError {
    /// Nothing stands there.
    #[error("the path is empty")]
    Empty,
    /// It cannot be handed to the system.
    #[error("the path holds a NUL character")]
    Nul,
    /// `~user`.
    #[error("`{0}` names another user's home, which is not looked up")]
    OtherHome(String),
}

impl PathError {
    /// The code of its diagnostic.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::Empty => EMPTY_VALUE,
            Self::Nul => NUL_CHARACTER,
            Self::OtherHome(_) => BAD_PATH,
        }
    }

    /// How to mend it.
    pub(super) const fn help(&self) -> &'static str {
        match self {
            Self::Empty => "name a path, or leave the key out",
            Self::Nul => "remove the `\\u0000`",
            Self::OtherHome(_) => {
                "write the path in full; a file whose name begins with `~` is written `./~name`"
            }
        }
    }
}

/// The path that `text` means in a file that lies in `dir`.
pub(super) fn resolve(text: &str, dir: &Utf8Path, home: &Utf8Path) -> Result<Utf8PathBuf, PathError> {
    if text.is_empty() {
        return Err(PathError::Empty);
    }
    if text.contains('\0') {
        return Err(PathError::Nul);
    }
    let whole = match text.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) => match rest.strip_prefix('/') {
            Some(below) => home.join(below.trim_start_matches('/')),
            None => {
                let user = text.split('/').next().unwrap_or(text);
                return Err(PathError::OtherHome(user.to_owned()));
            }
        },
        None => dir.join(text),
    };
    Ok(plain(&whole))
}

/// The path without `.` components and doubled slashes.
pub(super) fn plain(path: &Utf8Path) -> Utf8PathBuf {
    let plain: Utf8PathBuf =
        path.components().filter(|part| !matches!(part, Utf8Component::CurDir)).collect();
    if plain.as_str().is_empty() { Utf8PathBuf::from(".") } else { plain }
}
