//! One reference among the packed ones.
//!
//! Invariant: of a file that is sorted, as every git of today writes it, only a few blocks are read,
//! however many references it holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use camino::Utf8Path;

use crate::host::files::open_regular;

/// How much is searched line by line, and read at once.
const BLOCK: u64 = 8 << 10;
/// How much is read of a file that is not sorted.
const MOST: u64 = 16 << 20;

/// What stands before the name in the file of packed references.
pub(super) fn find(path: &Utf8Path, name: &str) -> Option<String> {
    let (file, size) = open_regular(path).ok()?;
    let head = block(&file, 0, BLOCK.min(size)).ok()?;
    let first = head.split(|byte| *byte == b'\n').next()?;
    let sorted = first.starts_with(b"# pack-refs with:") && first.windows(8).any(|word| word == b" sorted ");
    let (from, to) = if sorted { narrowed(&file, size, name).ok()? } else { (0, size.min(MOST)) };
    let lines = block(&file, from, to - from).ok()?;
    let mut lines = lines.split(|byte| *byte == b'\n');
    let line = lines.find(|line| name_of(line) == Some(name.as_bytes()))?;
    std::str::from_utf8(line).ok()?.split_once(' ').map(|(hash, _)| hash.to_owned())
}

/// The part of a sorted file, beginning with a line, that holds the name if the file does.
fn narrowed(file: &File, size: u64, name: &str) -> io::Result<(u64, u64)> {
    let (mut low, mut high) = (0, size);
    while high - low > BLOCK {
        let middle = low + (high - low) / 2;
        match record_after(file, middle, high)? {
            Some((at, found)) if found.as_slice() <= name.as_bytes() => low = at,
            _ => high = middle,
        }
    }
    // The line that begins before `high` may end behind it.
    Ok((low, size.min(high + BLOCK)))
}

/// The first record that begins behind `from` and before `end`: where it begins, and its name.
fn record_after(file: &File, from: u64, end: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut at = from;
    while at < end {
        let bytes = block(file, at, BLOCK)?;
        let mut start = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(line_end) => line_end + 1,
            // Longer than any line of git's: nothing can be told of what lies here.
            None => return Ok(None),
        };
        while let Some(length) = bytes[start..].iter().position(|byte| *byte == b'\n') {
            if let Some(name) = name_of(&bytes[start..start + length]) {
                let begins = at + start as u64;
                return Ok((begins < end).then(|| (begins, name.to_vec())));
            }
            start += length + 1;
        }
        // Only remarks so far; the line that is cut off here is looked at again, from its line break on.
        at += (start as u64 - 1).max(1);
    }
    Ok(None)
}

/// The name in a line; none in one of remarks (`#`, `^`).
fn name_of(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    (!line.starts_with(b"#") && !line.starts_with(b"^")).then(|| &line[at + 1..])
}

/// At most so many bytes from there.
fn block(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
