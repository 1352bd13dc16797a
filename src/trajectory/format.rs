//! The formats of transcripts that are known, one file each.

use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::told::Read;
use super::{
    antigravity, claude_code, codex, copilot, crush, gemini, goose, grok, hermes, kimi, opencode, pi, qwen,
    vibe,
};
use crate::base::words;

words! {
    /// A format of transcripts, as an adapter's `[trajectory]` names it.
    Format as "transcript format" {
        /// Claude Code's `projects/**.jsonl`.
        ClaudeCode = "claude-code",
        /// Codex's rollouts.
        Codex = "codex",
        /// OpenCode's database.
        OpenCode = "opencode",
        /// Crush's database.
        Crush = "crush",
        /// pi's session files.
        Pi = "pi",
        /// Gemini CLI's chats.
        Gemini = "gemini",
        /// Qwen Code's chats.
        Qwen = "qwen",
        /// Copilot CLI's session state.
        Copilot = "copilot",
        /// Kimi Code's `wire.jsonl`.
        Kimi = "kimi",
        /// Grok Build's session directories.
        Grok = "grok",
        /// Goose's database.
        Goose = "goose",
        /// Hermes' database.
        Hermes = "hermes",
        /// mistral-vibe's unified sessions.
        Vibe = "vibe",
        /// Antigravity's transcripts.
        Antigravity = "antigravity",
    }
}

macro_rules! readers {
    ($($name:ident => $module:ident,)+) => {
        /// The state of one format's reader.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(super) enum Reader { $($name(Box<$module::Reader>),)+ }

        impl Reader {
            pub(super) fn new(format: Format) -> Self {
                match format { $(Format::$name => Self::$name(Box::default()),)+ }
            }

            pub(super) fn get(&mut self) -> &mut dyn Read {
                match self { $(Self::$name(reader) => &mut **reader,)+ }
            }
        }

        impl Format {
            /// How its store is laid out.
            #[must_use]
            pub const fn layout(self) -> Layout {
                match self { $(Self::$name => $module::LAYOUT,)+ }
            }
        }
    };
}

readers! {
    ClaudeCode => claude_code,
    Codex => codex,
    OpenCode => opencode,
    Crush => crush,
    Pi => pi,
    Gemini => gemini,
    Qwen => qwen,
    Copilot => copilot,
    Kimi => kimi,
    Grok => grok,
    Goose => goose,
    Hermes => hermes,
    Vibe => vibe,
    Antigravity => antigravity,
}
