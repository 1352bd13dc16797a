//! Which version of its agent a run executes (RUN-1): the program is asked once for each file that it is.
//!
//! Invariant: no run waits for the answer, and a program that gives none is not asked again.

use std::collections::HashMap;
use std::time::Duration;

use camino::Utf8PathBuf;
use tracing::warn;

use super::errands::{End, Purpose};
use super::state::Daemon;
use crate::base::RunId;
use crate::config::Harness;
use crate::host::files::Stamp;
use crate::host::process::SpawnSpec;
use crate::launch::version_spec;
use crate::supervisor::Event;
use crate::wire::Record;

/// How long a program may think about its version.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest version that is kept, in characters.
const LONGEST: usize = 100;

/// A program as the file that it is at present.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Program {
    path: Utf8PathBuf,
    stamp: Stamp,
}

/// What is known of a program's version.
#[derive(Debug)]
enum Answer {
    /// It was asked; these runs wait.
    Awaited(Vec<RunId>),
    /// It said this, or nothing that helps.
    Given(Option<String>),
}

/// The versions that are known.
#[derive(Debug, Default)]
pub(super) struct Versions(HashMap<Program, Answer>);

impl Daemon {
    /// Finds out the version of the program that a run executes.
    pub(super) fn ask_version(&mut self, run: RunId, harness: &Harness, executed: &SpawnSpec) {
        let Some(question) = version_spec(harness, executed) else { return };
        let Some(stamp) = Stamp::of(&question.program) else { return };
        let program = Program { path: question.program.clone(), stamp };
        match self.versions.0.get_mut(&program) {
            Some(Answer::Awaited(runs)) => runs.push(run),
            Some(Answer::Given(version)) => {
                let version = version.clone();
                self.tell_version(run, version);
            }
            None => {
                // It was replaced: what its older files said is of no use any more.
                self.versions.0.retain(|known, answer| {
                    known.path != program.path || matches!(answer, Answer::Awaited(_))
                });
                self.versions.0.insert(program.clone(), Answer::Awaited(vec![run]));
                self.send_errand(Purpose::Version(program), question, PATIENCE);
            }
        }
    }

    /// A program was asked for its version.
    pub(super) fn version_told(&mut self, program: Program, end: &End) {
        let version = end.trouble.is_none().then(|| version_line(&end.first)).flatten();
        if version.is_none() {
            let cause = end.trouble.as_deref().unwrap_or("it says nothing");
            warn!(program = %program.path, cause, "its version is not known");
        }
        if let Some(Answer::Awaited(runs)) = self.versions.0.insert(program, Answer::Given(version.clone())) {
            runs.into_iter().for_each(|run| self.tell_version(run, version.clone()));
        }
    }

    fn tell_version(&mut self, run: RunId, version: Option<String>) {
        let Some(version) = version else { return };
        if self.live.contains_key(&run) {
            self.feed(Event::Version { run, version });
        } else {
            // The run was shorter than the answer took.
            self.commit(vec![Record::RunVersion { id: run, version }]);
        }
    }
}

/// The first line with a number like `1.2`, else the first that says something: some programs warn first,
/// and only what they say of themselves has such a number as a word.
fn version_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.clone().find(|line| line.split_whitespace().any(is_version)).or_else(|| lines.next())?;
    Some(line.chars().filter(|one| !one.is_control()).take(LONGEST).collect())
}

/// Whether a word is like `1.2`, `v1.2.3` or `1.2.3-beta`.
fn is_version(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    let Some((major, rest)) = number.split_once('.') else { return false };
    !major.is_empty()
        && major.bytes().all(|one| one.is_ascii_digit())
        && rest.starts_with(|one: char| one.is_ascii_digit())
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
