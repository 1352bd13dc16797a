//! What only real processes can show: how children begin, end, are found and
//! reaped, and which signals arrive.
//!
//! A `waitpid(-1)` takes the statuses of every child of this process, and
//! dispositions are the whole process's, so one test runs at a time.

#![expect(clippy::unwrap_used, reason = "what tests share stands outside of the test functions")]

mod child;
mod clean;
mod reaping;
mod signals;
mod small_disk;
mod tree;
