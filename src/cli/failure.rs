//! Why a verb failed, and the exit status that says so (CTL-7).

use std::io;

use thiserror::Error;

use crate::base::{Diagnostic, Sources};
use crate::client::ConnectError;
use crate::daemon::DaemonError;
use crate::host::lock::LockError;
use crate::store::StoreError;
use crate::wire::{ErrorBody, ErrorCode};

/// The operation failed.
const FAILED: u8 = 1;
/// The arguments are wrong.
pub(super) const USAGE: u8 = 2;
/// No daemon answers.
const NO_DAEMON: u8 = 3;

/// Why a verb failed.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// An answer of the daemon, or the same kind of failure found here.
    #[error(transparent)]
    Said(#[from] ErrorBody),
    /// A foreground run did not end well.
    #[error("{body}")]
    Ended {
        /// How it ended.
        body: ErrorBody,
        /// The exit status that says so: the agent's own where it has one.
        status: u8,
    },
    /// A configuration file would have mistakes.
    #[error("{body}")]
    Invalid {
        /// What was not done.
        body: ErrorBody,
        /// The mistakes.
        diagnostics: Vec<Diagnostic>,
        /// The texts that they point into.
        sources: Sources,
    },
    /// The arguments do not fit.
    #[error("{0}")]
    Usage(String),
    /// The daemon cannot run.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read.
    #[error("{what}: {cause}")]
    File {
        /// Which.
        what: String,
        /// Why.
        cause: io::Error,
    },
    /// The output cannot be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The exit status.
    pub(super) const fn exit_status(&self) -> u8 {
        match self {
            Self::Said(ErrorBody { code: ErrorCode::NoDaemon, .. }) => NO_DAEMON,
            Self::Usage(_) => USAGE,
            Self::Ended { status, .. } => *status,
            _ => FAILED,
        }
    }

    /// The failure as the object that `--json` prints; it has a help line in any case.
    pub(super) fn body(&self) -> ErrorBody {
        let body = self.said();
        match body.help {
            Some(_) => body,
            None => {
                let help = usual_help(body.code);
                body.help(help)
            }
        }
    }

    fn said(&self) -> ErrorBody {
        match self {
            Self::Said(body)
            | Self::Ended { body, .. }
            | Self::Invalid { body, .. }
            | Self::Daemon(DaemonError::Refused(body)) => body.clone(),
            Self::Usage(message) => ErrorBody::new(ErrorCode::BadRequest, message.clone())
                .help("`harnessd help` and `harnessd VERB --help` show what is understood"),
            Self::Store(cause) | Self::Daemon(DaemonError::Store(cause)) => cause.body(),
            Self::Daemon(cause) => {
                let code = match cause {
                    DaemonError::Locked { cause: LockError::Held { .. }, .. } => ErrorCode::AlreadyRunning,
                    _ => ErrorCode::Internal,
                };
                ErrorBody::new(code, cause.to_string()).help(daemon_help(cause))
            }
            Self::File { .. } | Self::Output(_) => ErrorBody::new(ErrorCode::Internal, self.to_string()),
        }
    }
}

/// What is wrong with the arguments, in one line, of what is printed for people.
pub(super) fn usage_message(usage: &clap::Error) -> String {
    let text = usage.render().to_string();
    let said = text.split("\n\n").next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What helps where nothing more exact is known.
const fn usual_help(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UnknownHarness => "`harnessd list` shows the harnesses",
        ErrorCode::UnknownAdapter => "`harnessd agents` shows the agents",
        ErrorCode::UnknownProfile => "`[profile.NAME]` in the global file declares one",
        ErrorCode::UnknownProject => "`harnessd ps` shows the projects",
        ErrorCode::UnknownRun => "`harnessd runs` lists the runs",
        ErrorCode::UnknownSession => "`harnessd trajectories` lists the sessions",
        ErrorCode::NotHarvested => "`harvest = true` in its table lets them be read",
        ErrorCode::AlreadyRunning => "wait for its end, or end it: `harnessd stop` ends what the daemon runs",
        ErrorCode::AlreadyStopping => "try again when it is stopped; `harnessd status` shows the daemon",
        ErrorCode::ConfigInvalid => "`harnessd validate` shows each mistake with its place",
        ErrorCode::SpawnFailed => {
            "`harnessd plan` shows what a start executes, `harnessd doctor` whether it is there"
        }
        ErrorCode::PromptUnreadable => "mend the file: it is read at every start",
        ErrorCode::SkillRootUnreadable => {
            "make it readable for the user that harnessd runs as, or take it out of `skill_paths`"
        }
        ErrorCode::TargetNotWritable => {
            "make it writable for the user that harnessd runs as, and end who holds its lock"
        }
        ErrorCode::RunFailed => "`harnessd logs` with its name shows what it wrote",
        ErrorCode::FileNotWritten => "make the file and its directory writable for this user",
        ErrorCode::NotPermitted => "see the message: it is refused on purpose",
        ErrorCode::NoDaemon => {
            "its log says what it is busy with; `harnessd doctor` looks at its lock and its store"
        }
        ErrorCode::VersionMismatch => "`harnessd reexec` puts the installed version in the daemon's place",
        ErrorCode::BadRequest => "`harnessd help` and `harnessd VERB --help` show what is understood",
        ErrorCode::TooLarge => "ask for less at a time, or when fewer ask",
        ErrorCode::NotReexecuted => "the daemon goes on; mend what the message says, then try again",
        ErrorCode::Internal => "`harnessd doctor` looks for what may be wrong; the daemon's log may say more",
    }
}

/// How to mend what keeps a daemon from running.
const fn daemon_help(cause: &DaemonError) -> &'static str {
    match cause {
        DaemonError::Locked { cause: LockError::Held { .. }, .. } => {
            "stop that daemon, or choose another directory with `--state-dir`"
        }
        DaemonError::StateDirectory { .. } | DaemonError::Locked { .. } => {
            "make the directory writable for this user, or choose another with `--state-dir`"
        }
        DaemonError::Socket(_) => "choose another path with `--socket` or `HARNESSD_SOCKET`",
        DaemonError::Setting(_) => "mend or unset the variable",
        DaemonError::RecordsLost { .. } => {
            "the log names each; make room on the disk, or end what holds the store; a damaged one is moved aside by \
             the next `harnessd run`"
        }
        _ => "see the message; this machine refused what harnessd cannot do without",
    }
}

impl From<ConnectError> for Failure {
    fn from(cause: ConnectError) -> Self {
        Self::Said(cause.body())
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use crate::wire::{ErrorBody, ErrorCode};

    /// CTL-7: an error has a help line, the exact one where there is one, else what usually helps.
    #[test]
    fn every_failure_says_what_helps() {
        let help = |failure: Failure| failure.body().help.unwrap();
        let bare = ErrorBody::new(ErrorCode::RunFailed, "m");
        assert_eq!(help(bare.clone().help("exact").into()), "exact");
        assert_eq!(help(bare.into()), "`harnessd logs` with its name shows what it wrote");
        let file = Failure::File { what: "`/x`".to_owned(), cause: std::io::Error::other("c") };
        assert_eq!(
            help(file),
            "`harnessd doctor` looks for what may be wrong; the daemon's log may say more"
        );
    }
}
