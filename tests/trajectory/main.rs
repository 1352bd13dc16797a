//! Readers of transcripts on what real agents wrote, one module a reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod copilot;
mod crush;
mod database;
mod drive;
mod encodings;
mod gemini;
mod goose;
mod hermes;
mod opencode;
mod pi;
mod qwen;
mod recorded;
mod rows;
