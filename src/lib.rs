//! harnessd: a declarative supervisor for coding-agent command lines.
//!
//! A pure core decides, a thin shell performs: see `docs/architecture.md`.

pub mod adapter;
pub mod base;
pub mod cli;
pub mod client;
pub mod config;
pub mod correlate;
pub mod daemon;
pub mod doctor;
pub mod edit;
pub mod host;
pub mod launch;
pub mod lifecycle;
pub mod loader;
pub mod report;
pub mod schedule;
pub mod skills;
pub mod store;
pub mod supervisor;
pub mod trajectory;
pub mod transcripts;
pub mod wire;
