//! How much room a file system has.

use std::io;

use camino::Utf8Path;
use nix::sys::statvfs::statvfs;

/// The room of a file system, as an ordinary user may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can be written.
    pub free: u64,
    /// All of its bytes.
    pub total: u64,
    /// Whether files can be made: some file systems number them.
    pub more_files: bool,
}

/// The room where a path leads to.
///
/// # Errors
/// What the system says.
#[expect(clippy::useless_conversion, reason = "the system's types are narrower on other machines")]
pub fn space(path: &Utf8Path) -> io::Result<Space> {
    let found = statvfs(path.as_std_path())?;
    let unit = found.fragment_size();
    let bytes = |blocks| u64::from(blocks) * u64::from(unit);
    let more_files = found.files() == 0 || found.files_available() > 0;
    Ok(Space { free: bytes(found.blocks_available()), total: bytes(found.blocks()), more_files })
}
