//! The formats of machine-readable output that are known, one file each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statement::{Statement, Trouble};
use super::told::Told;
use super::{claude_code, codex, copilot, gemini, goose, grok, hermes, kimi, opencode, pi, qwen, vibe};
use crate::base::{Outcome, words};

words! {
    /// A format of machine-readable output, as an adapter's `[outcome]` names it.
    Format as "report format" {
        /// Claude Code's `stream-json`.
        ClaudeCode = "claude-code",
        /// Codex's `--json`.
        Codex = "codex",
        /// GitHub Copilot CLI's `--output-format json`.
        Copilot = "copilot",
        /// Gemini CLI's `stream-json`.
        Gemini = "gemini",
        /// Goose's `stream-json`.
        Goose = "goose",
        /// Grok Build's `streaming-json`.
        Grok = "grok",
        /// The text of Hermes' `chat -Q`.
        Hermes = "hermes",
        /// Kimi Code's `stream-json`.
        Kimi = "kimi",
        /// OpenCode's `--format json`.
        OpenCode = "opencode",
        /// pi's `--mode json`.
        Pi = "pi",
        /// Qwen Code's `stream-json`.
        Qwen = "qwen",
        /// mistral-vibe's `--output streaming`.
        Vibe = "vibe",
    }
}

impl Format {
    /// What an exit status means by itself, where the program gives it a meaning.
    pub(super) const fn exit(self, code: i32) -> Option<(Outcome, &'static str)> {
        match self {
            Self::Gemini => gemini::exit(code),
            Self::Qwen => qwen::exit(code),
            _ => None,
        }
    }

    /// What an error comes to that the program told last, before it ended by itself.
    pub(super) fn error(self, words: &str) -> Statement {
        match self {
            Self::Kimi => kimi::error(words),
            _ => Statement::error(&Trouble { words, ..Trouble::default() }),
        }
    }

    /// Whether its output always states how a run ended.
    pub(super) const fn states_results(self) -> bool {
        !matches!(self, Self::Hermes)
    }
}

/// Reads the records of one format, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reader {
    ClaudeCode(claude_code::Reader),
    Codex,
    Copilot(copilot::Reader),
    Gemini,
    Goose(goose::Reader),
    Grok(grok::Reader),
    Hermes,
    Kimi(kimi::Reader),
    OpenCode,
    Pi(pi::Reader),
    Qwen,
    Vibe(vibe::Reader),
}

impl Reader {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::ClaudeCode => Self::ClaudeCode(claude_code::Reader::default()),
            Format::Codex => Self::Codex,
            Format::Copilot => Self::Copilot(copilot::Reader::default()),
            Format::Gemini => Self::Gemini,
            Format::Goose => Self::Goose(goose::Reader::default()),
            Format::Grok => Self::Grok(grok::Reader::default()),
            Format::Hermes => Self::Hermes,
            Format::Kimi => Self::Kimi(kimi::Reader::default()),
            Format::OpenCode => Self::OpenCode,
            Format::Pi => Self::Pi(pi::Reader::default()),
            Format::Qwen => Self::Qwen,
            Format::Vibe => Self::Vibe(vibe::Reader::default()),
        }
    }

    /// Tells what a line says; false: it is no record of this format.
    pub(super) fn read(&mut self, line: &[u8], tell: &mut dyn FnMut(Told)) -> bool {
        // A stray byte in a text must not lose the record that holds it.
        let text = String::from_utf8_lossy(line);
        let begins = line.trim_ascii_start().first() == Some(&b'{');
        let record = begins.then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
        let Some(record) = record else { return self.plain(&text, tell) };
        match self {
            Self::ClaudeCode(reader) => reader.read(&record, tell),
            Self::Codex => codex::read(&record, tell),
            Self::Copilot(reader) => reader.read(&record, tell),
            Self::Gemini => gemini::read(&record, tell),
            Self::Goose(reader) => reader.read(&record, tell),
            Self::Grok(reader) => reader.read(&record, tell),
            Self::Hermes => false,
            Self::Kimi(reader) => reader.read(&record, tell),
            Self::OpenCode => opencode::read(&record, tell),
            Self::Pi(reader) => reader.read(&record, tell),
            Self::Qwen => qwen::read(&record, tell),
            Self::Vibe(reader) => reader.read(&record, tell),
        }
    }

    /// Tells what a line says that is no record; false: it is none of the program's own.
    fn plain(&mut self, line: &str, tell: &mut dyn FnMut(Told)) -> bool {
        match self {
            Self::Goose(reader) => reader.repeats(line),
            Self::Grok(reader) => reader.repeats(line),
            Self::Hermes => hermes::plain(line, tell),
            Self::Kimi(_) => kimi::plain(line, tell),
            Self::Vibe(reader) => reader.plain(line, tell),
            _ => false,
        }
    }

    /// A statement that the program may go on after, by itself, as its end leaves it; no code: it was killed.
    pub(super) fn held(&self, code: Option<i32>) -> Option<&Statement> {
        match self {
            Self::ClaudeCode(reader) => reader.held(),
            Self::Pi(reader) => reader.held(),
            Self::Vibe(reader) => code.and_then(|code| reader.held(code)),
            _ => None,
        }
    }
}
