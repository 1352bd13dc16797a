//! Instants of the real-time clock as whole microseconds, for what one process hands to its successor.
//!
//! Invariant: nothing is lost, while the RFC 3339 text that people are shown is cut to milliseconds.

use serde::{Deserialize, Deserializer, Serializer};

use super::time::Wall;

/// For `#[serde(with = "micros")]`.
///
/// # Errors
/// The serialiser's.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to this")]
pub fn serialize<S: Serializer>(at: &Wall, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.0)
}

/// For `#[serde(with = "micros")]`.
///
/// # Errors
/// If it is no whole number.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wall, D::Error> {
    i64::deserialize(deserializer).map(Wall)
}

/// The same for an instant that may be missing.
pub mod option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::base::Wall;

    /// For `#[serde(default, with = "micros::option")]`.
    ///
    /// # Errors
    /// The serialiser's.
    #[expect(clippy::ref_option, reason = "serde hands a reference to this")]
    pub fn serialize<S: Serializer>(at: &Option<Wall>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(|at| at.0).serialize(serializer)
    }

    /// For `#[serde(default, with = "micros::option")]`.
    ///
    /// # Errors
    /// If it is no whole number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Wall>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Wall))
    }
}
