//! Why a start could not be prepared. Whoever shows it names the harness.

use camino::Utf8PathBuf;
use thiserror::Error;

use crate::adapter::SynthesisError;
use crate::skills::SkillError;
use crate::wire::ErrorCode;

/// Why a start could not be prepared; its text goes into the run's record.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The prompt file is gone, unreadable or blank (PRM-3).
    #[error("prompt file `{path}`: {cause}")]
    Prompt {
        /// The resolved path.
        path: Utf8PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The environment file cannot be used.
    #[error("env file `{path}`: {cause}")]
    EnvFile {
        /// The resolved path.
        path: Utf8PathBuf,
        /// What is wrong with it; never a value.
        cause: String,
    },
    /// The skills could not be projected (SKL-11).
    #[error("{cause}")]
    Skills {
        /// The failure.
        #[source]
        cause: SkillError,
    },
    /// The adapter cannot express what is asked.
    #[error("{cause}")]
    Synthesis {
        /// The failure.
        #[source]
        cause: SynthesisError,
    },
    /// Its working directory cannot be entered.
    #[error("{cause}")]
    Workdir {
        /// The failure, with the path.
        cause: String,
    },
    /// It was not prepared because of a defect, or because no thread could be had.
    #[error("{cause}")]
    Defect {
        /// What is known.
        cause: String,
    },
    /// The program is not there or is no program.
    #[error("{cause}")]
    Program {
        /// The failure, with the path.
        cause: String,
    },
}

impl LaunchError {
    /// The code that callers match on.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Prompt { .. } => ErrorCode::PromptUnreadable,
            Self::Skills { .. } => ErrorCode::TargetNotWritable,
            Self::Defect { .. } => ErrorCode::Internal,
            Self::EnvFile { .. } | Self::Synthesis { .. } | Self::Workdir { .. } | Self::Program { .. } => {
                ErrorCode::SpawnFailed
            }
        }
    }
}
