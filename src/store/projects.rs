//! The projects that `up` has registered (CFG-5).
//!
//! Invariant: a row holds the text that was accepted, whatever the file says by now.

use camino::Utf8Path;
use rusqlite::{Connection, Row};

use super::error::StoreProblem;
use crate::base::Wall;
use crate::wire::RegisteredProject;

pub(super) const SELECT: &str = "SELECT file, name, text, hash, up_at FROM projects ORDER BY up_at, file";

pub(super) fn read(row: &Row<'_>) -> Result<RegisteredProject, StoreProblem> {
    Ok(RegisteredProject {
        file: row.get::<_, String>(0)?.into(),
        name: row.get(1)?,
        text: row.get(2)?,
        hash: row.get(3)?,
        up_at: Wall(row.get(4)?),
    })
}

pub(super) fn all(connection: &Connection) -> Result<Vec<RegisteredProject>, StoreProblem> {
    let mut statement = connection.prepare(SELECT)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Registers a project, or the text that was accepted of it last.
pub(super) fn put(connection: &Connection, project: &RegisteredProject) -> Result<(), StoreProblem> {
    let RegisteredProject { file, name, text, hash, up_at } = project;
    let sql = "INSERT OR REPLACE INTO projects (file, name, text, hash, up_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute((file.as_str(), name, text, hash, up_at.0))?;
    Ok(())
}

pub(super) fn remove(connection: &Connection, file: &Utf8Path) -> Result<(), StoreProblem> {
    connection.prepare_cached("DELETE FROM projects WHERE file = ?1")?.execute([file.as_str()])?;
    Ok(())
}
