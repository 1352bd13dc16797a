//! Layer 5: finding the agents' transcripts, reading them on, and saying whose they are.
//!
//! Invariants: every store is opened for reading only; what cannot be read is said by name and stops
//! nothing else; memory is bounded by one line and one decoder a stream.

mod book;
mod cursors;
mod files;
mod follow;
mod gather;
mod inquiry;
mod listing;
mod own;
mod read;
mod rows;
mod settle;
mod stream;
mod survey;
mod telling;

pub use follow::{Follower, Look, Subject, Warning};
pub use inquiry::{Declared, Inquiry, told_warnings};
pub use listing::Wanted;
pub use own::{Own, OwnSession, own_sessions};
pub use read::{ReadError, SessionPlace, read_session};
pub use settle::settle;
pub use survey::{Circumstances, opaque_id};
pub use telling::Telling;

#[cfg(test)]
mod tests;
