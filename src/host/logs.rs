//! One run's log: two segments of bytes exactly as they came.
//!
//! `<run>.log` is written to; when it is half as large as the bound it becomes
//! `<run>.log.1`, and the one of that name before it is gone. Invariants: both
//! together never exceed the bound; a reader that keeps up sees every byte
//! once, however often the segments move under it.

mod directory;
mod reader;
mod writer;

pub use directory::{Log, all, directory, harnesses};
pub use reader::{LogReader, Start};
pub use writer::LogWriter;

use camino::{Utf8Path, Utf8PathBuf};

/// The older segment of the log at `path`.
#[must_use]
pub fn older_segment(path: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}.1"))
}

/// Removes both segments of a pruned run's log. That they are gone already is no error.
///
/// # Errors
/// If one of them is there and cannot be removed.
pub fn remove(path: &Utf8Path) -> std::io::Result<()> {
    for segment in [path, &older_segment(path)] {
        match std::fs::remove_file(segment) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
