//! Why the daemon could not be reached.
//!
//! Invariant: each names the socket and is an [`ErrorBody`] too, so that a verb
//! prints one shape of error.

use camino::Utf8PathBuf;
use thiserror::Error;

use crate::wire::{ErrorBody, ErrorCode, PROTOCOL};

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// Nothing listens there.
    #[error("no daemon answers at `{path}`")]
    NoDaemon {
        /// The socket.
        path: Utf8PathBuf,
    },
    /// The socket belongs to another user.
    #[error("the socket `{path}` may not be used: permission denied")]
    NotPermitted {
        /// The socket.
        path: Utf8PathBuf,
    },
    /// The path does not fit into a socket's address.
    #[error("the path of the socket is too long: `{path}` has {} bytes, 107 are allowed", path.as_str().len())]
    PathTooLong {
        /// The socket.
        path: Utf8PathBuf,
    },
    /// Something is there and does not say a word.
    #[error("the daemon at `{path}` does not answer")]
    Silent {
        /// The socket.
        path: Utf8PathBuf,
    },
    /// What is there speaks another protocol.
    #[error("the daemon at `{path}` ({version}) speaks protocol {theirs}, this program speaks {PROTOCOL}")]
    VersionMismatch {
        /// The socket.
        path: Utf8PathBuf,
        /// The daemon's version.
        version: String,
        /// The daemon's protocol.
        theirs: u32,
    },
    /// The daemon answers and refuses.
    #[error("the daemon at `{path}` refuses: {error}")]
    Refused {
        /// The socket.
        path: Utf8PathBuf,
        /// In its words.
        error: ErrorBody,
    },
    /// Anything else.
    #[error("the socket `{path}`: {cause}")]
    Other {
        /// The socket.
        path: Utf8PathBuf,
        /// What failed.
        cause: String,
    },
}

impl ConnectError {
    /// The error as every verb prints it.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let body = |code| ErrorBody::new(code, self.to_string());
        match self {
            Self::NoDaemon { .. } => body(ErrorCode::NoDaemon).help("start it with `harnessd run`"),
            Self::Silent { .. } => {
                body(ErrorCode::NoDaemon).help("look whether it is stopped or stuck, and start it again")
            }
            Self::NotPermitted { .. } => {
                body(ErrorCode::NotPermitted).help("only the daemon's own user and root may use it")
            }
            Self::PathTooLong { .. } => {
                body(ErrorCode::Internal).help("choose a shorter one with `--socket` or `HARNESSD_SOCKET`")
            }
            Self::VersionMismatch { .. } => {
                body(ErrorCode::VersionMismatch).help("restart the daemon with this version of `harnessd`")
            }
            Self::Refused { error, .. } => {
                let refused = body(error.code);
                match &error.help {
                    Some(help) => refused.help(help),
                    None => refused,
                }
            }
            Self::Other { .. } => body(ErrorCode::Internal),
        }
    }
}
