//! What a firing does while the last run is still active (SCH-4).

use crate::base::words;

words! {
    /// The rule for a firing that finds its harness active.
    #[derive(Default)]
    Overlap as "overlap policy" {
        /// The firing is recorded as skipped.
        #[default]
        Skip = "skip",
        /// It waits for the run to end; at most one waits.
        Queue = "queue",
        /// The run is stopped, then the firing starts.
        Replace = "replace",
    }
}
