//! The program as its users meet it: the real binary, real processes, a fresh home.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod bad_input;
mod contained;
mod control;
mod daemon;
mod fleet;
mod limits;
mod once;
mod output;
mod records;
mod reload;
mod robust;
mod scenarios;
mod schedules;
mod support;
mod terminal;
mod tour;
mod traps;
mod validating;
