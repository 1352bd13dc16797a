//! Prompt files.
//!
//! Invariant: what is handed out is text that says something (PRM-3: no agent
//! is launched with an empty prompt).

use camino::Utf8Path;
use thiserror::Error;

use super::{ReadProblem, read_regular};

/// The largest prompt file that is read.
const LARGEST: u64 = 16 << 20;

/// Why a prompt file is no prompt. Whoever shows it names the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PromptProblem {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] ReadProblem),
    /// It is no text.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// Nothing but white space.
    #[error("it is blank")]
    Blank,
}

/// What a configuration has to know of a prompt file (PRM-2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFileState {
    /// It can be used.
    Good,
    /// It does not exist.
    Missing,
    /// It is a directory or another thing that is no file.
    NotRegular,
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It is no text.
    NotUtf8,
    /// It holds white space only.
    Blank,
}

/// The present contents of a prompt file, byte for byte.
///
/// # Errors
/// If it is not an existing, readable, regular, non-blank UTF-8 file.
pub fn read_prompt(path: &Utf8Path) -> Result<String, PromptProblem> {
    let text = String::from_utf8(read_regular(path, LARGEST)?).map_err(|_| PromptProblem::NotUtf8)?;
    if text.trim().is_empty() { Err(PromptProblem::Blank) } else { Ok(text) }
}

/// Whether a prompt file could be used now.
#[must_use]
pub fn prompt_file_state(path: &Utf8Path) -> PromptFileState {
    match read_prompt(path) {
        Ok(_) => PromptFileState::Good,
        Err(PromptProblem::NotUtf8) => PromptFileState::NotUtf8,
        Err(PromptProblem::Blank) => PromptFileState::Blank,
        Err(PromptProblem::File(problem)) => match problem {
            ReadProblem::Missing => PromptFileState::Missing,
            ReadProblem::NotRegular(_) => PromptFileState::NotRegular,
            ReadProblem::Unreadable(cause) => PromptFileState::Unreadable(cause),
            ReadProblem::TooLarge { .. } => PromptFileState::Unreadable(problem.to_string()),
        },
    }
}
