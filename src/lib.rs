//! harnessd: a declarative supervisor for coding-agent command lines.
//!
//! A pure core decides, a thin shell performs: see `docs/architecture.md`.

pub mod adapter;
pub mod base;
pub mod config;
pub mod lifecycle;
pub mod schedule;
pub mod wire;
