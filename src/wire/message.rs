//! Requests and replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::session::Which;
use crate::base::nearest;

/// The version of the protocol; client and daemon must agree on it.
pub const PROTOCOL: u32 = 1;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Op {
    /// The first request of a connection: which protocol the client speaks.
    Hello {
        /// Its [`PROTOCOL`].
        protocol: u32,
        /// Its version, for messages.
        version: String,
    },
    /// The daemon, its configuration and what needs attention.
    Status,
    /// All harnesses.
    List,
    /// One harness in full.
    Describe {
        /// Full name.
        name: String,
    },
    /// Starts harnesses.
    Start {
        /// Full names.
        #[serde(default)]
        names: Vec<String>,
        /// Every resident harness.
        #[serde(default)]
        all: bool,
        /// Answer when the start has succeeded (resident) or the run has ended (one-shot).
        #[serde(default)]
        wait: bool,
        /// It goes on with this session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<Which>,
        /// It works in a copy of this session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork: Option<Which>,
    },
    /// Stops harnesses.
    Stop {
        /// Full names.
        #[serde(default)]
        names: Vec<String>,
        /// Every harness.
        #[serde(default)]
        all: bool,
        /// Answer when nothing of them is alive.
        #[serde(default)]
        wait: bool,
    },
    /// Stops and starts harnesses.
    Restart {
        /// Full names.
        #[serde(default)]
        names: Vec<String>,
        /// Every harness that is not stopped.
        #[serde(default)]
        all: bool,
        /// As for `start`.
        #[serde(default)]
        wait: bool,
    },
    /// Starts the members of a profile, which is in use from then on.
    UseProfile {
        /// Its name.
        name: String,
        /// Stop what other profiles name and this one does not.
        #[serde(default)]
        exclusive: bool,
        /// As for `start` and `stop`.
        #[serde(default)]
        wait: bool,
    },
    /// The agents: which are there, of which version, logged in or not.
    Agents,
    /// What may be wrong with the daemon and what is around it.
    Doctor,
    /// Reads the configuration again.
    Reload,
    /// Executes the program anew, in place: a newer version takes everything over.
    Reexec,
    /// Registers a project, or accepts its file as it is now, and starts what is enabled in it.
    Up {
        /// Its file, absolute.
        file: String,
    },
    /// Stops all of a registered project and forgets it; by its name or its file.
    Down {
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its file, absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// The harnesses of projects.
    Ps {
        /// Only those of the project with this file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// Runs, newest first.
    Runs {
        /// Only of this harness.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
        /// Only those that failed.
        #[serde(default)]
        failed: bool,
        /// Only those that started at or after this RFC 3339 time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    /// One run.
    Show {
        /// Its id, or an unambiguous part.
        run: String,
    },
    /// The skills of a harness.
    Skills {
        /// Full name.
        name: String,
    },
    /// Projects the skills of a harness.
    SkillsSync {
        /// Full name.
        name: String,
        /// Tells only what that would do.
        #[serde(default)]
        dry_run: bool,
    },
    /// What the next start of a harness would do.
    Plan {
        /// Full name.
        name: String,
    },
    /// The trajectories of harnesses that let them be read, newest first.
    Trajectories {
        /// Only of this harness.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Only of this run: its id, or an unambiguous part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        /// Only those that went on at or after this RFC 3339 time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// Only those that began at or before this RFC 3339 time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// One trajectory, a page of its events.
    Trajectory {
        /// Its id, the agent's own id of the session, or the id of a run that has a log alone.
        session: String,
        /// So many events are passed over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skip: Option<usize>,
        /// At most so many events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// What runs used.
    Usage {
        /// Only of this harness.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What is summed up: `run`, `day`, `model` or `project`; none: harnesses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Only what was used at or after this RFC 3339 time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    /// Events from now on.
    Subscribe,
}

/// One request: a line. It is read by [`decode_request`](super::decode_request) only, which refuses
/// what it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Chosen by the client; the reply carries it.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub op: Op,
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// The daemon's [`PROTOCOL`].
    pub protocol: u32,
    /// The daemon's version.
    pub version: String,
}

/// The stable names of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// No harness has that name.
    UnknownHarness,
    /// No adapter has that name.
    UnknownAdapter,
    /// No profile has that name.
    UnknownProfile,
    /// No project has that name, or lies there.
    UnknownProject,
    /// No run has that id.
    UnknownRun,
    /// No trajectory has that id.
    UnknownSession,
    /// Its harness does not let its trajectories be read (`harvest`).
    NotHarvested,
    /// It runs already (and a second one was asked for).
    AlreadyRunning,
    /// It is being stopped.
    AlreadyStopping,
    /// The configuration has mistakes.
    ConfigInvalid,
    /// The program could not be started.
    SpawnFailed,
    /// The prompt could not be read.
    PromptUnreadable,
    /// A skill root could not be read.
    SkillRootUnreadable,
    /// The skill target could not be written.
    TargetNotWritable,
    /// The run that was waited for did not end `ok`.
    RunFailed,
    /// A configuration file could not be written; it is as it was.
    FileNotWritten,
    /// The caller may not do that.
    NotPermitted,
    /// No daemon answers.
    NoDaemon,
    /// Client and daemon speak different protocols.
    VersionMismatch,
    /// The request cannot be understood.
    BadRequest,
    /// A line is longer than 1 MiB, or there are too many clients.
    TooLarge,
    /// The program cannot take over; the daemon goes on as it was.
    NotReexecuted,
    /// A defect, or an environment that failed us.
    Internal,
}

/// A failure as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Error)]
#[error("{message}")]
pub struct ErrorBody {
    /// To be matched on.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// How to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl ErrorBody {
    /// An error without a help line.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    /// One error about several things: the code and the help are the first one's.
    #[must_use]
    pub fn and(first: Option<Self>, next: Self) -> Self {
        match first {
            Some(first) => Self { message: format!("{}; {}", first.message, next.message), ..first },
            None => next,
        }
    }

    /// Adds the help line.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One reply: a line, `{"id":…,"ok":…}` or `{"id":…,"error":…}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The request's id.
    pub id: u64,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Value>,
    /// Or the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

impl Reply {
    /// A success.
    #[must_use]
    pub const fn ok(id: u64, value: Value) -> Self {
        Self { id, ok: Some(value), error: None }
    }

    /// A failure.
    #[must_use]
    pub const fn error(id: u64, error: ErrorBody) -> Self {
        Self { id, ok: None, error: Some(error) }
    }
}

/// The error for a name that no harness has.
#[must_use]
pub fn unknown_harness<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ErrorBody {
    let known: Vec<&str> = known.collect();
    // The same name in another project (or in none) is near, however long the project's name is.
    let local = |full: &str| full.rsplit('/').next().unwrap_or_default().to_owned();
    let namesakes = known.iter().copied().filter(|other| *other != name && local(other) == local(name));
    let mut near: Vec<&str> = namesakes.collect();
    near.extend(nearest(name, known.iter().copied()).into_iter().filter(|one| local(one) != local(name)));
    let near: Vec<String> = near.into_iter().take(3).map(|near| format!("`{near}`")).collect();
    let bare = local(name);
    let help = match (near.is_empty(), known.is_empty()) {
        _ if bare != name && known.contains(&bare.as_str()) => {
            format!("outside of the project there is `{bare}`: say `--global` for it")
        }
        (false, _) => format!("did you mean {}?", near.join(" or ")),
        (true, true) => "no harness is configured".to_owned(),
        (true, false) => "`harnessd list` shows the harnesses".to_owned(),
    };
    ErrorBody::new(ErrorCode::UnknownHarness, format!("no harness is named `{}`", name.escape_debug()))
        .help(help)
}
