//! Layer 2: the life of one harness, as a pure state machine.
//!
//! Events and the time go in, effects come out; the machine holds no clock, no
//! process and no configuration. Invariant: at most one run is alive, no start
//! is decided before the run before it has ended, and each run that was started
//! ends exactly once.

mod chance;
mod machine;
mod phase;
mod policy;
mod signal;
mod step;
mod tally;
#[cfg(test)]
mod tests;
mod verdict;

pub use chance::Chance;
pub use machine::Machine;
pub use phase::{Request, Standing, Wait};
pub use policy::{Policy, RestartPolicy};
pub use signal::signal_name;
pub use step::{Effect, End, Event, Firing};
pub use verdict::{Overspent, StopReason};
