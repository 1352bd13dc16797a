//! The commands beside an agent: the check of its run, the notice of its end, the question for its version.
//!
//! Invariant: what is executed is found as a shell in the command's own environment and directory
//! would find it.

use std::ffi::{OsStr, OsString};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::environment::{Surroundings, is_private, passed_on};
use super::error::LaunchError;
use crate::config::Harness;
use crate::host::limits::InheritedLimits;
use crate::host::process::{ProgramError, SpawnSpec, StdinSource, find_program};
use crate::wire::Run;

type Variables = Vec<(OsString, OsString)>;

/// What a run's process was started with, kept for a command that follows it, and that command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The command.
    #[serde(default)]
    pub command: Vec<String>,
    env: Variables,
    cwd: Utf8PathBuf,
    limits: InheritedLimits,
}

impl Conditions {
    /// Those of a process, for `command`.
    #[must_use]
    pub fn of(SpawnSpec { env, cwd, limits, .. }: SpawnSpec, command: Vec<String>) -> Self {
        Self { command, env, cwd, limits }
    }
}

/// The check of a run (RUN-7), in the environment and the directory of the run.
///
/// # Errors
/// [`LaunchError::Program`].
pub fn check_spec(conditions: Conditions, around: &Surroundings) -> Result<SpawnSpec, LaunchError> {
    spec(conditions, around)
}

/// The notice of a run's end (RUN-5): in the daemon's environment, in the home directory, with the run as
/// JSON on its standard input.
///
/// # Errors
/// [`LaunchError::Program`].
pub fn notice_spec(command: &[String], run: &Run, around: &Surroundings) -> Result<SpawnSpec, LaunchError> {
    let mut input =
        serde_json::to_vec(run).map_err(|cause| LaunchError::Defect { cause: cause.to_string() })?;
    input.push(b'\n');
    let env = passed_on(around).into_iter().collect();
    let (command, cwd) = (command.to_vec(), around.home.clone());
    let conditions = Conditions { command, env, cwd, limits: around.limits };
    Ok(SpawnSpec { stdin: StdinSource::Bytes(input), ..spec(conditions, around)? })
}

/// The question for the version of the program that a run executes (RUN-1): in the run's environment,
/// but no part of the run. None where the adapter knows no such question, and for a program that is not
/// one of the adapter's own commands: what a wrapper does with the question nobody knows.
#[must_use]
pub fn version_spec(harness: &Harness, run: &SpawnSpec) -> Option<SpawnSpec> {
    let question = harness.adapter.version_args();
    let own =
        run.program.file_name().is_some_and(|file| harness.adapter.commands().iter().any(|one| one == file));
    if question.is_empty() || !own {
        return None;
    }
    let words = question.iter().map(OsString::from);
    Some(SpawnSpec {
        program: run.program.clone(),
        argv: run.argv.first().cloned().into_iter().chain(words).collect(),
        env: run.env.iter().filter(|(name, _)| !is_private(name)).cloned().collect(),
        cwd: run.cwd.clone(),
        stdin: StdinSource::Null,
        tty: None,
        limits: run.limits,
    })
}

fn spec(conditions: Conditions, around: &Surroundings) -> Result<SpawnSpec, LaunchError> {
    let Conditions { command, env, cwd, limits } = conditions;
    let word = command.first().map_or("", String::as_str);
    let path = env.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let program = find(word, path, &cwd, &around.home)
        .map_err(|cause| LaunchError::Program { cause: cause.to_string() })?;
    let argv = command.into_iter().map(OsString::from).collect();
    Ok(SpawnSpec { program, argv, env, cwd, stdin: StdinSource::Null, tty: None, limits })
}

/// The file that a word means; a shell would replace a leading `~/`, and here nobody else does.
pub(super) fn find(
    word: &str,
    path: Option<&OsStr>,
    cwd: &Utf8Path,
    home: &Utf8Path,
) -> Result<Utf8PathBuf, ProgramError> {
    let below_home = word.strip_prefix("~/").map(|below| home.join(below).into_string());
    find_program(below_home.as_deref().unwrap_or(word), path, cwd)
}
