//! Layer 3: which session belongs to which run (COR-1 to COR-9). Pure: stores come resolved, as values.
//!
//! Invariant: a missed attribution can be mended later, a wrong one is silent and permanent; so in doubt
//! nobody is credited, and the exclusion is reported.

mod attribute;
mod claim;
mod facts;
mod ledger;
mod owner;
#[cfg(test)]
mod tests;

pub use attribute::{Attribution, attribute};
pub use facts::{Facts, Found, Known, Peer, Window};
pub use ledger::Ledger;
pub use owner::owner;

use std::time::Duration;

/// Some stores cut times to the second: a session may seem to have begun that much too early (COR-1).
pub const SLACK: Duration = Duration::from_secs(2);
