//! The history's only source of chance: the same seed, the same history.

use std::time::Duration;

/// A seeded generator (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xa076_1d64_78bd_642f)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of 0 to `sides` - 1.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// True that often of a hundred times.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.roll(from.len() as u64)).unwrap()]
    }

    /// Between a millisecond and `max`, short times more often than long ones.
    pub(crate) fn time(&mut self, max: Duration) -> Duration {
        let max = u64::try_from(max.as_millis()).unwrap().max(1);
        let bound = self.roll(max) + 1;
        Duration::from_millis(self.roll(bound) + 1)
    }
}
