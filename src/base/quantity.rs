//! Durations and sizes as people write them in a configuration.

use std::time::Duration;

use bytesize::ByteSize;
use thiserror::Error;

/// Why a text is no duration or size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Not a duration.
    #[error("`{0}` is no duration: write a number with units, like `90s`, `5m` or `1h 30m`")]
    Duration(String),
    /// Not a size.
    #[error("`{0}` is no size: write a number with a unit, like `64 MiB` or `500 KB`")]
    Size(String),
}

/// Reads `90s`, `1h 30m`, `500ms`.
///
/// # Errors
/// If the text is not of that form; a bare number has no unit and is refused.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    humantime::parse_duration(text.trim()).map_err(|_| QuantityError::Duration(text.to_owned()))
}

/// `duration` as text that [`parse_duration`] reads back.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// Reads `64 MiB`, `500 KB`, `1024` (bytes).
///
/// # Errors
/// If the text is not of that form.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    text.trim()
        .parse::<ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| QuantityError::Size(text.to_owned()))
}

/// `bytes` in binary units.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::{QuantityError, duration_text, parse_duration, parse_size, size_text};
    use std::time::Duration;

    #[test]
    fn durations_and_sizes_read_back_what_they_print() {
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration_text(Duration::from_secs(5400)), "1h 30m");
        assert_eq!(parse_duration("90"), Err(QuantityError::Duration("90".into())));
        assert_eq!(parse_size("64 MiB"), Ok(64 << 20));
        assert_eq!(size_text(64 << 20), "64.0 MiB");
        assert_eq!(parse_size("many"), Err(QuantityError::Size("many".into())));
    }
}
