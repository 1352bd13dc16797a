//! Layer 5: finding the agents' transcripts, reading them on, and saying whose they are.
//!
//! Invariants: every store is opened for reading only; what cannot be read is said by name and stops
//! nothing else; memory is bounded by one line and one decoder a stream.

mod book;
mod cursors;
mod files;
mod follow;
mod gather;
mod own;
mod read;
mod rows;
mod stream;

pub use follow::{Follower, Look, Subject, Warning};
pub use own::{Own, OwnSession, own_sessions};
pub use read::{ReadError, SessionPlace, read_session};

#[cfg(test)]
mod tests;
