//! The two clocks, read at one moment.
//!
//! Invariant: the only place of the product that asks what time it is.

use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::base::{Mono, Now, Wall};

/// Both clocks now.
///
/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME` exist on every Linux, so a failure
/// to read one cannot happen; it would read as the clock's origin.
#[must_use]
pub fn now() -> Now {
    let mono = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    let wall = clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, |at| at.num_microseconds());
    Now { mono: Mono(mono), wall: Wall(wall) }
}

/// Whether something keeps the wall clock right; none: the system does not tell.
#[must_use]
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: all bytes zero is a valid `timex`; its `modes` then ask for no change.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the one structure that it is given.
    let told = Errno::result(unsafe { libc::adjtimex(&raw mut state) }).ok()?;
    Some(told != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    use super::now;
    use crate::base::Wall;

    #[test]
    fn the_clocks_go_on_and_the_wall_clock_is_of_this_century() {
        let (first, second) = (now(), now());
        assert!(first.mono <= second.mono);
        assert!(first.wall > Wall::parse_rfc3339("2020-01-01T00:00:00Z").unwrap());
    }
}
