//! Randomness for the pure core, which is handed it as a seed.
//!
//! Invariant: two daemons that start at one moment do not get one seed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 64 bits that differ from start to start.
///
/// The standard library keys its hash maps from the kernel's random source;
/// hashing with such a key gives a seed without a system call of our own.
#[must_use]
pub fn seed() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::seed;

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed(), seed());
    }
}
