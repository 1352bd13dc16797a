//! From a file's bytes to its text.
//!
//! Invariant: what is accepted is UTF-8; a byte order mark is dropped, line
//! ends stay as they are (TOML takes both).

use camino::Utf8Path;

use super::codes::ENCODING;
use crate::base::{Diagnostic, Place};

/// The text of a configuration file.
///
/// # Errors
/// If the bytes are no UTF-8: the diagnostic says where the first wrong byte
/// stands. It has no span, because there is no text to point into.
#[expect(clippy::result_large_err, reason = "made once a file, and shown as it is")]
pub fn decode(file: &Utf8Path, bytes: Vec<u8>) -> Result<String, Diagnostic> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line_start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = String::from_utf8_lossy(&bytes[line_start..at]).chars().count() + 1;
        let message = format!("line {line}, column {column}: byte 0x{:02X} is no UTF-8", bytes[at]);
        let place = Place { file: file.to_owned(), span: None };
        Diagnostic::error(ENCODING, place, message).help("save the file as UTF-8 text")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
