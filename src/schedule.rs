//! STUB, to be replaced by the schedule part: `@every` and `@hourly` only.

use std::fmt;
use std::time::Duration;

use chrono_tz::Tz;

use crate::base::{Wall, parse_duration};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule(String, Option<Duration>);

impl Schedule {
    /// Reads it.
    ///
    /// # Errors
    /// If it is no expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("@every ") {
            Some(every) => Ok(Self(text.into(), Some(parse_duration(every).map_err(|e| e.to_string())?))),
            None if text == "@hourly" => Ok(Self(text.into(), None)),
            None => Err(text.into()),
        }
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first firing after `after`.
    #[must_use]
    pub fn next_after(&self, after: Wall, _zone: Tz, anchor: Wall) -> Option<Wall> {
        let (anchor, step) = match self.1 {
            Some(every) => (anchor.0, i64::try_from(every.as_micros()).ok()?),
            None => (0, 3_600_000_000),
        };
        let passed = (after.0 - anchor).div_euclid(step);
        Some(Wall(anchor + (passed + 1) * step))
    }

    /// Whether it is `@every`.
    #[must_use]
    pub fn is_interval(&self) -> bool {
        self.1.is_some()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a firing does while a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// Nothing.
    #[default]
    Skip,
    /// It waits.
    Queue,
    /// It replaces the run.
    Replace,
}
