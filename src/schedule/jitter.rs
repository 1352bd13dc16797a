//! The delay of a firing (SCH-6).
//!
//! Invariant: it depends on nothing but its arguments, so that it is the same
//! after a restart, a reload and an update of harnessd.

use std::time::Duration;

use crate::base::{Random, Wall};

/// FNV-1a's: the standard library's hash may be another one in the next release.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// How long the firing of `slot` of the schedule called `key` is delayed: less than `bound`.
#[must_use]
pub fn jitter(key: &str, slot: Wall, bound: Duration) -> Duration {
    let bound = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
    if bound == 0 {
        return Duration::ZERO;
    }
    let bytes = key.bytes().chain(slot.0.to_le_bytes());
    let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // The last bytes have hardly reached the high bits: a remainder would show their pattern.
    Duration::from_micros(Random::new(hash).next() % bound)
}
