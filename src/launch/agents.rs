//! Which agents are there: their programs, and the files of their logins (ADP-5).
//!
//! Invariant: of a login's files only the size is looked at, and nothing is executed here.

use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::beside::find;
use super::draft::{locate, workdir};
use super::environment::{Surroundings, agent_environment, passed_on, readable_variables, text_of};
use super::error::LaunchError;
use crate::adapter::{Adapter, Registry, Release};
use crate::config::Harness;
use crate::host::files::{self, ReadProblem};
use crate::host::process::{SpawnSpec, StdinSource};
use crate::wire::{AgentState, Login, RetentionView};

/// An agent as files show it, and the question for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// What is known so far.
    pub state: AgentState,
    /// What its program is to be asked; none: there is no program, or it is not to be asked.
    pub question: Option<SpawnSpec>,
}

/// Every agent of the registry as it is found in this environment, by id.
#[must_use]
pub fn agents(registry: &Registry, around: &Surroundings) -> Vec<FoundAgent> {
    let mut found: Vec<FoundAgent> = registry.all().iter().map(|one| agent(one, around)).collect();
    found.sort_by(|one, other| one.state.agent.id.cmp(&other.state.agent.id));
    found
}

fn agent(adapter: &Adapter, around: &Surroundings) -> FoundAgent {
    // The variable that names another program is one of ours, which no child inherits.
    let overriding = text_of(&around.env);
    let passed = passed_on(around);
    let env = text_of(&passed);
    let words = adapter.command_words(None, &overriding, &around.home);
    let path = passed.get(&OsString::from("PATH")).map(OsString::as_os_str);
    let program = words.iter().find_map(|word| find(word, path, &around.home, &around.home).ok());
    let (login, login_files) = login(adapter.login_files(&env, &around.home));
    let retention = adapter.retention(&env, &around.home).map(retention);
    let question = program.clone().and_then(|program| question(adapter, program, around));
    let state = AgentState {
        agent: adapter.view(),
        installed: program.is_some(),
        path: program.map(Utf8PathBuf::into_string),
        version: None,
        version_trouble: None,
        login,
        login_files,
        retention,
        check: None,
    };
    FoundAgent { state, question }
}

/// The program that a start of a harness would execute.
///
/// # Errors
/// [`LaunchError::Program`].
pub fn program(harness: &Harness, around: &Surroundings) -> Result<Utf8PathBuf, LaunchError> {
    let env = agent_environment(harness, around, readable_variables(harness));
    let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    locate(harness, &env, &workdir(harness, around), around)
}

/// A file of at most so many bytes holds no login: `{}`, `[]` or `null` with the end of its line.
const EMPTY: u64 = 6;

/// Whether one of the files is there and holds something, which then stands first.
fn login(mut places: Vec<Utf8PathBuf>) -> (Login, Vec<String>) {
    let holds = |place: &Utf8PathBuf| place.metadata().is_ok_and(|file| file.is_file() && file.len() > EMPTY);
    let login = match places.iter().position(holds) {
        Some(at) => {
            places[..=at].rotate_right(1);
            Login::Yes
        }
        None => Login::Unknown,
    };
    (login, places.into_iter().map(Utf8PathBuf::into_string).collect())
}

/// The same with what the agent's settings say. They may hold comments, which JSON has not.
fn retention(of: RetentionView) -> RetentionView {
    let document = match files::read_config(Utf8Path::new(&of.file)) {
        Err(ReadProblem::Missing) => return of,
        Err(problem) => Err(problem.to_string()),
        Ok(text) => {
            serde_json::from_slice::<Value>(&text).map_err(|error| format!("it is no plain JSON: {error}"))
        }
    };
    let document = match document {
        Ok(document) => document,
        Err(trouble) => return RetentionView { trouble: Some(trouble), ..of },
    };
    let value = match of.key.split('.').try_fold(&document, |value, part| value.get(part)) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(found @ (Value::Number(_) | Value::Bool(_))) => Some(found.to_string()),
        _ => None,
    };
    RetentionView { value, ..of }
}

/// The question for the version of a program, in the environment that a run of it would have. A program of
/// another name than the agent's, which the user has put in its place, is not asked.
fn question(adapter: &Adapter, program: Utf8PathBuf, around: &Surroundings) -> Option<SpawnSpec> {
    let own = program.file_name().is_some_and(|file| adapter.commands().iter().any(|one| one == file));
    if adapter.version_args().is_empty() || !own {
        return None;
    }
    let mut env = passed_on(around);
    env.extend(adapter.quietened().map(|(name, value)| (name.into(), value.into())));
    let argv = [program.as_str()].into_iter().chain(adapter.version_args().iter().map(String::as_str));
    Some(SpawnSpec {
        argv: argv.map(OsString::from).collect(),
        program,
        env: env.into_iter().collect(),
        cwd: around.home.clone(),
        stdin: StdinSource::Null,
        tty: None,
        limits: around.limits,
    })
}

/// The longest version that is kept, in characters.
const LONGEST: usize = 100;

/// The first line with a number like `1.2`, else the first that says something: some programs warn first,
/// and only what they say of themselves has such a number as a word.
#[must_use]
pub fn version_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.clone().find(|line| Release::stated(line).is_some()).or_else(|| lines.next())?;
    let mut said = line.chars().filter(|one| !one.is_control());
    let mut kept: String = said.by_ref().take(LONGEST).collect();
    // A version that was cut would be another one.
    let cut_within = said.next().is_some_and(|next| !next.is_whitespace());
    if let Some(before) = kept.rfind(char::is_whitespace).filter(|_| cut_within) {
        kept.truncate(before);
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::version_line;

    /// RUN-1: a version is one short line.
    #[test]
    fn a_version_is_one_short_line() {
        assert_eq!(version_line(b"\n 2.1.9 (Claude Code)\r\nmore\n"), Some("2.1.9 (Claude Code)".to_owned()));
        assert_eq!(version_line(b"\x1b[0m1.0"), Some("[0m1.0".to_owned()));
        assert_eq!(version_line(b" \n"), None);
        let long = format!("{} 1.0.102", "v".repeat(94));
        assert_eq!(version_line(long.as_bytes()), Some("v".repeat(94)));
        assert_eq!(version_line("v".repeat(5000).as_bytes()), Some("v".repeat(100)));
    }

    /// RUN-1: what a program warns of before it says its version is not its version.
    #[test]
    fn a_warning_is_no_version() {
        let warned = b"WARNING: proceeding, even though /tmp/v1.0 is odd (x.y).\ncodex-cli 0.171.0\n";
        assert_eq!(version_line(warned), Some("codex-cli 0.171.0".to_owned()));
        assert_eq!(version_line(b"agent\nv1.2.3-beta\n"), Some("v1.2.3-beta".to_owned()));
        assert_eq!(version_line(b"build 77\nof today\n"), Some("build 77".to_owned()));
    }
}
