//! The clock and the time zone that schedules go by.

use super::Sight;
use crate::base::Wall;
use crate::host::{clock, zone};
use crate::wire::Finding;

/// No program of today was started before it.
const EARLIEST: &str = "2025-01-01T00:00:00Z";

pub(super) fn look(_: &Sight<'_>) -> Vec<Finding> {
    let (now, zone) = (clock::now().wall, zone::system());
    let text =
        format!("it is {} in {}", now.utc().with_timezone(&zone).format("%Y-%m-%d %H:%M:%S"), zone.name());
    let past = Wall::parse_rfc3339(EARLIEST).is_ok_and(|earliest| now < earliest);
    let first = if past {
        Finding::error(format!("{text}, which cannot be")).help("set the clock: schedules go by it")
    } else {
        Finding::ok(text)
    };
    let second = match clock::is_synchronised() {
        Some(true) => Finding::ok("the clock is kept right"),
        Some(false) => Finding::note("the kernel does not know of anything that keeps the clock right").help(
            "a time service like `systemd-timesyncd` or `chrony` does; a virtual machine may need none",
        ),
        None => Finding::note("whether the clock is kept right cannot be told"),
    };
    vec![first, second]
}
