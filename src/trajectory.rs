//! Layer 2: what an agent did, as its own files tell it (TRJ-2).
//!
//! One reader a format turns lines, documents or rows into one model: a [`Session`] and its
//! [`Event`]s. Invariants: a reader never panics and holds a bounded memory, whatever it is given;
//! it tells what the agent states and nothing else; its state can be written down after any whole
//! line or row and read back, and holds identifiers and numbers, never a text of the transcript (CTL-12).

mod classify;
mod decoder;
mod format;
mod layout;
mod model;
mod otlp;
mod record;
mod rows;
mod text;
mod told;

mod antigravity;
mod claude_code;
mod codex;
mod copilot;
mod crush;
mod gemini;
mod goose;
mod grok;
mod hermes;
mod kimi;
mod opencode;
mod pi;
mod qwen;
mod vibe;

pub use decoder::Decoder;
pub use format::Format;
pub use layout::{Database, Files, Head, Layout, PidFile, PidNote, Row, Watermark};
pub use model::{Action, Call, Event, Kinship, Needs, Oddities, Parent, Session, Tokens, What};
pub use otlp::{Spans, Trace, envelope};
pub use text::text;
