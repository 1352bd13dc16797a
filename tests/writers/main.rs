//! Writers on random files: what was asked changes, and nothing else does.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod dice;
mod files;
mod fuzz;
mod meaning;
mod properties;
#[path = "../sources/seeds.rs"]
mod seeds;
