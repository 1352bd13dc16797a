//! A stand-in with the contract's signatures, to be replaced by the real schedules.

use std::fmt;
use std::str::FromStr;

use chrono_tz::Tz;
use thiserror::Error;

/// Stub.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule(String);
/// Stub.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("`{0}` is no schedule")]
pub struct ScheduleError(String);
/// Stub.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("`{0}` is no time zone")]
pub struct ZoneError(String);
/// Stub.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("`{0}` is no overlap policy")]
pub struct OverlapError(String);
impl Schedule {
    /// Reads.
    ///
    /// # Errors
    /// Bad ones.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let fields = text.split_whitespace().count();
        if text.starts_with('@') || fields == 5 || fields == 6 {
            Ok(Self(text.into()))
        } else {
            Err(ScheduleError(text.into()))
        }
    }
    /// Text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
/// Stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// skip
    #[default]
    Skip,
    /// queue
    Queue,
    /// replace
    Replace,
}
impl FromStr for Overlap {
    type Err = OverlapError;
    fn from_str(text: &str) -> Result<Self, OverlapError> {
        match text {
            "skip" => Ok(Self::Skip),
            "queue" => Ok(Self::Queue),
            "replace" => Ok(Self::Replace),
            _ => Err(OverlapError(text.into())),
        }
    }
}
impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skip => "skip",
            Self::Queue => "queue",
            Self::Replace => "replace",
        })
    }
}
/// Zone.
///
/// # Errors
/// Unknown ones.
pub fn parse_zone(name: &str) -> Result<Tz, ZoneError> {
    name.parse().map_err(|_| ZoneError(name.into()))
}
