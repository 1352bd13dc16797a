//! Readers of transcripts on what real agents wrote, one module a reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claude_code;
mod codex;
mod drive;
mod reckon;
mod recorded;
