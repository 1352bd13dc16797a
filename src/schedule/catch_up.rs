//! What becomes of firings that fell due while nobody was there to see (SCH-5).

use crate::base::words;

words! {
    /// The rule for missed firings.
    #[derive(Default)]
    CatchUp as "catch-up policy" {
        /// At most one is made up for.
        #[default]
        One = "one",
        /// None is.
        None = "none",
        /// Each is, up to a bound.
        All = "all",
    }
}
