//! Readers of transcripts on what real agents wrote, one module a reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod drive;

mod copilot;
mod encodings;
mod gemini;
mod pi;
mod qwen;
mod recorded;
