//! Layer 2: what an agent says of its own run, read from its machine-readable output.
//!
//! A streaming decoder for each format answers how the agent ended ([`Decoder`], RUN-0), and the
//! same records are rendered as text for people ([`Renderer`]). Invariants: an outcome comes from
//! the agent's terminal record alone, never from a text that it quotes; bytes may arrive in any
//! pieces and any encoding; what is held in memory is bounded.

mod claude_code;
mod codex;
mod copilot;
mod decoder;
mod echo;
mod format;
mod gemini;
mod goose;
mod grok;
mod hermes;
mod kimi;
mod lines;
mod opencode;
mod pi;
mod qwen;
mod render;
mod reset;
mod statement;
mod told;
mod vibe;
mod words;

pub use decoder::Decoder;
pub use format::Format;
pub use render::Renderer;
pub use statement::Statement;
