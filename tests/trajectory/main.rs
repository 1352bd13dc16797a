//! Readers of transcripts on what real agents wrote, one module a reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crush;
mod database;
mod drive;

mod copilot;
mod encodings;
mod gemini;
mod pi;
mod qwen;
mod recorded;
mod goose;
mod hermes;
mod opencode;
mod rows;
