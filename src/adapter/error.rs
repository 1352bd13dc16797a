//! Why an agent cannot be started as it is wanted.
//!
//! Invariant: no message holds the prompt.

use thiserror::Error;

use super::options::OptionKey;

/// The longest argument (or `NAME=value`) that Linux passes on, without its NUL.
pub const LONGEST_ARGUMENT: usize = 131_071;

/// Why there is no command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SynthesisError {
    /// The adapter has no command of its own.
    #[error("adapter `{adapter}` has no command of its own: `cmd` is required")]
    NoProgram {
        /// The adapter's id.
        adapter: String,
    },
    /// The adapter takes no prompt.
    #[error("adapter `{adapter}` takes no prompt")]
    NoPrompt {
        /// The adapter's id.
        adapter: String,
    },
    /// The agent's terminal mode takes no prompt.
    #[error("adapter `{adapter}` takes no prompt in its terminal mode (`oneshot = false`)")]
    NoResidentPrompt {
        /// The adapter's id.
        adapter: String,
    },
    /// The prompt is blank.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// The prompt does not fit into one argument, and there is no other way.
    #[error("the prompt is {size} bytes, adapter `{adapter}` can be handed at most {bound}")]
    PromptTooLong {
        /// The adapter's id.
        adapter: String,
        /// The prompt's bytes.
        size: usize,
        /// The most that is possible.
        bound: usize,
    },
    /// The prompt holds a NUL, and goes by argument only.
    #[error("the prompt holds a NUL byte, which adapter `{adapter}` cannot be handed")]
    PromptNul {
        /// The adapter's id.
        adapter: String,
    },
    /// The agent would take the prompt for something else.
    #[error("adapter `{adapter}` takes a prompt like `{pattern}` for something else")]
    PromptMisread {
        /// The adapter's id.
        adapter: String,
        /// Which prompts.
        pattern: String,
    },
    /// An option that the agent cannot fulfil.
    #[error("adapter `{adapter}` has no means for `{option}`")]
    Unsupported {
        /// The adapter's id.
        adapter: String,
        /// The option.
        option: OptionKey,
    },
    /// The agent cannot be told to work in an earlier session.
    #[error("adapter `{adapter}` has no means to {verb} a session like this")]
    NoSession {
        /// The adapter's id.
        adapter: String,
        /// What was asked for.
        verb: &'static str,
    },
    /// `{workdir}` is used and there is none.
    #[error("argument `{argument}` uses `{{workdir}}`, but the harness has no `workdir`")]
    NoWorkdir {
        /// The argument.
        argument: String,
    },
    /// Something other than the prompt is too long.
    #[error("{what} is {size} bytes, at most {LONGEST_ARGUMENT} can be passed on")]
    TooLong {
        /// What it is.
        what: String,
        /// Its bytes.
        size: usize,
    },
}
