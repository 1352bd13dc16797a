//! Layer 3: which session belongs to which run (COR-1 to COR-9). Pure: stores come resolved, as values.
//!
//! Invariant: a missed attribution can be mended later, a wrong one is silent and permanent; so in doubt
//! nobody is credited, and the exclusion is reported.

mod attribute;
mod facts;

pub use attribute::{Attribution, attribute, owner};
pub use facts::{Facts, Found, Known, Window};
