//! Readers of transcripts on what real agents wrote, one module a reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod antigravity;
mod claude_code;
mod codex;
mod copilot;
mod corpus;
mod crowded;
mod crush;
mod database;
mod drive;
mod encodings;
mod fuzz;
mod gemini;
mod goose;
mod grok;
mod grown;
mod hermes;
mod kimi;
mod memory;
mod opencode;
mod pi;
mod qwen;
mod reckon;
mod recorded;
mod rows;
#[path = "../sources/seeds.rs"]
mod seeds;
mod state;
mod vibe;
