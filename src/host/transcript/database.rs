//! An agent's SQLite database, while the agent may be writing it.

use camino::Utf8Path;

use super::Unreadable;
use crate::trajectory::{Database, Row, Watermark};

/// An open database of sessions.
#[derive(Debug)]
pub struct SessionDatabase {}

impl SessionDatabase {
    /// Opens it; none: there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, is no database, or lacks what the layout needs.
    pub fn open(_path: &Utf8Path, _layout: &Database) -> Result<Option<Self>, Unreadable> {
        Ok(None)
    }

    /// Each row of the `sessions` statement.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn sessions(&self, _each: &mut dyn FnMut(&Row)) -> Result<(), Unreadable> {
        Ok(())
    }

    /// Each row of the `records` statement of a session, from the watermark on.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn records(
        &self,
        _session: &str,
        _after: &Watermark,
        _each: &mut dyn FnMut(&Row),
    ) -> Result<(), Unreadable> {
        Ok(())
    }
}
