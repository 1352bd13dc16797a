//! Opening what agents write, for reading only (TRJ-1).
//!
//! Invariant: nothing here writes, creates or locks anything in an agent's store.

pub mod database;
pub mod evidence;
pub mod lines;
pub mod places;

use camino::Utf8PathBuf;
use thiserror::Error;

/// Why something of a store cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {message}")]
pub struct Unreadable {
    /// The file, directory or database.
    pub path: Utf8PathBuf,
    /// What is wrong with it, in words.
    pub message: String,
}
