//! Why a daemon cannot run at all.

use camino::Utf8PathBuf;
use thiserror::Error;

use crate::host::socket::SocketError;
use crate::host::{self, lock::LockError};
use crate::store::StoreError;
use crate::wire::ErrorBody;

/// Why a daemon cannot run at all.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The state directory cannot be made or written.
    #[error("state directory `{path}`: {}", host::cause(cause))]
    StateDirectory {
        /// The directory.
        path: Utf8PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Another daemon has the state directory.
    #[error("state directory `{path}`: {cause}")]
    Locked {
        /// The directory.
        path: Utf8PathBuf,
        /// By whom.
        cause: LockError,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The control socket cannot be opened.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The kernel refused something that the daemon cannot do without.
    #[error("{what}: {}", host::cause(cause))]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        cause: std::io::Error,
    },
    /// What a predecessor handed over cannot be taken.
    #[error("hand-over: {0}")]
    Handover(String),
    /// A setting of the environment or the command line is wrong.
    #[error("{0}")]
    Setting(String),
    /// Records could not be stored before the end.
    #[error("{records} records of runs are lost: {cause}")]
    RecordsLost {
        /// How many; each is in the log.
        records: usize,
        /// Why.
        cause: String,
    },
    /// A foreground run was refused.
    #[error(transparent)]
    Refused(#[from] ErrorBody),
}

impl DaemonError {
    /// Wraps a system error with what was tried.
    pub(super) fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::System { what, cause: cause.into() }
    }
}
