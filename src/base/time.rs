//! Time as plain values: two clocks, read by the shell and handed in.

use std::borrow::Cow;
use std::ops::{Add, Sub};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeZone, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An instant of the monotonic clock, since the machine's boot. It stands
/// still while the machine is suspended; delays and timeouts are measured on it.
/// In state that one daemon hands to the next it is an integer of nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Mono(pub Duration);

impl From<Mono> for u64 {
    fn from(at: Mono) -> Self {
        Self::try_from(at.0.as_nanos()).unwrap_or(Self::MAX)
    }
}

impl From<u64> for Mono {
    fn from(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }
}

impl Mono {
    /// The time since `earlier`, zero if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Mono {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

/// An instant of the real-time clock in microseconds since 1970 (UTC).
/// Schedules and records use it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Wall(pub i64);

/// The first microsecond of the year 0.
const YEAR_0: i64 = -62_167_219_200_000_000;
/// The last microsecond of the year 9999.
const YEAR_9999: i64 = 253_402_300_799_999_999;

impl Wall {
    /// The instant as a calendar value; out of chrono's range it is the nearest one inside.
    #[must_use]
    pub fn utc(self) -> DateTime<Utc> {
        Utc.timestamp_micros(self.0).single().unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }

    /// From a calendar value, cut to microseconds.
    #[must_use]
    pub fn from_utc(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_micros())
    }

    /// The time since `earlier`, zero if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with milliseconds: how times stand in JSON. It knows the years 0 to 9999; of a time
    /// outside of them (an agent may state any) the nearest one is written, so that it can be read again.
    #[must_use]
    pub fn rfc3339(self) -> String {
        Self(self.0.clamp(YEAR_0, YEAR_9999)).utc().to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Reads RFC 3339 with any offset.
    ///
    /// # Errors
    /// chrono's, if the text is of another form.
    pub fn parse_rfc3339(text: &str) -> Result<Self, chrono::ParseError> {
        DateTime::parse_from_rfc3339(text).map(|at| Self::from_utc(at.to_utc()))
    }
}

impl Add<Duration> for Wall {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Wall {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl From<Wall> for String {
    fn from(at: Wall) -> Self {
        at.rfc3339()
    }
}

impl JsonSchema for Wall {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Wall".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

impl TryFrom<String> for Wall {
    type Error = chrono::ParseError;
    fn try_from(text: String) -> Result<Self, chrono::ParseError> {
        Self::parse_rfc3339(&text)
    }
}

/// Both clocks, read at one moment. The core is given it with each event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock.
    pub mono: Mono,
    /// The real-time clock.
    pub wall: Wall,
}

/// [`Wall`] in state that one daemon hands to the next: whole microseconds, where JSON for people
/// is cut to milliseconds and a slot would no longer be the one that was claimed.
pub mod micros {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Wall;

    /// As an integer.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(at: &Wall, serializer: S) -> Result<S::Ok, S::Error> {
        at.0.serialize(serializer)
    }

    /// From an integer.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wall, D::Error> {
        i64::deserialize(deserializer).map(Wall)
    }

    /// The same for one that may be absent.
    pub mod option {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        use super::Wall;

        /// As an integer, or none.
        ///
        /// # Errors
        /// The serializer's.
        pub fn serialize<S: Serializer>(at: &Option<Wall>, serializer: S) -> Result<S::Ok, S::Error> {
            at.map(|at| at.0).serialize(serializer)
        }

        /// From an integer, or none.
        ///
        /// # Errors
        /// The deserializer's.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Wall>, D::Error> {
            Ok(Option::<i64>::deserialize(deserializer)?.map(Wall))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wall;

    #[test]
    fn a_wall_time_reads_back_what_it_prints() {
        let at = Wall::parse_rfc3339("2026-11-30T13:00:00.250+01:00").unwrap();
        assert_eq!(at.rfc3339(), "2026-11-30T12:00:00.250Z");
        assert_eq!(Wall::parse_rfc3339(&at.rfc3339()), Ok(at));
    }

    /// CTL-11: whatever time an agent states, what is written of it can be read.
    #[test]
    fn every_wall_time_can_be_read_again() {
        let day = 86_400_000_000;
        for (at, text) in [
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
            (super::YEAR_0 - day, "0000-01-01T00:00:00.000Z"),
            (super::YEAR_0, "0000-01-01T00:00:00.000Z"),
            (super::YEAR_0 + day, "0000-01-02T00:00:00.000Z"),
            (super::YEAR_9999 - day, "9999-12-30T23:59:59.999Z"),
            (super::YEAR_9999 + 1, "9999-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Wall(at).rfc3339(), text, "{at}");
            assert!(Wall::parse_rfc3339(text).is_ok(), "{text}");
        }
    }
}
