//! The machine's only randomness: run ids and the jitter of delays.
//!
//! Invariant: the same seed and the same calls give the same values.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{Random, RunId, RunIds, Wall};

/// Per mille that a delay is shortened or lengthened by, at most.
const JITTER: u64 = 100;
/// A wait for a stated time is lengthened by this at most.
const LONGEST: Duration = Duration::from_secs(300);

/// A seeded source of run ids and jitter, shared by all machines of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chance {
    ids: RunIds,
    random: Random,
}

impl Chance {
    /// A source from the shell's entropy.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { ids: RunIds::new(seed), random: Random::new(seed.rotate_left(32) ^ 0x5851_f42d_4c95_7f2d) }
    }

    /// The id of a run that is decided at `at`.
    pub fn run_id(&mut self, at: Wall) -> RunId {
        self.ids.next(at)
    }

    /// `delay`, up to 10 % shorter or longer; zero stays zero.
    pub fn jittered(&mut self, delay: Duration) -> Duration {
        let part = self.random.next() % (2 * JITTER + 1);
        per_mille(delay, 1000 - JITTER + part)
    }

    /// `wait`, up to 10 % and five minutes longer and never shorter: before its time a limit still holds.
    pub fn beyond(&mut self, wait: Duration) -> Duration {
        let part = self.random.next() % (JITTER + 1);
        wait + per_mille(wait.min(LONGEST * 10), part)
    }
}

fn per_mille(time: Duration, part: u64) -> Duration {
    let nanos = time.as_nanos() * u128::from(part) / 1000;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
