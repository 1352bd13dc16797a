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
        let version = end.trouble.is_none().then(|| first_line(&end.first)).flatten();
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

/// The first line that says something.
fn first_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|one| !one.is_control()).take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::first_line;

    /// RUN-1: a version is one short line.
    #[test]
    fn a_version_is_the_first_line_that_says_something() {
        assert_eq!(first_line(b"\n 2.1.9 (Claude Code)\r\nmore\n"), Some("2.1.9 (Claude Code)".to_owned()));
        assert_eq!(first_line(b"\x1b[0m1.0"), Some("[0m1.0".to_owned()));
        assert_eq!(first_line(b" \n"), None);
        assert_eq!(first_line("v".repeat(5000).as_bytes()), Some("v".repeat(100)));
    }
}
