//! Which version of its agent a run executes (RUN-1): the program is asked once for each file that it is.
//!
//! Invariant: no run waits for the answer, and a program that gives none is not asked again.

use std::collections::HashMap;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use tracing::warn;

use super::errands::{End, Purpose};
use super::state::Daemon;
use crate::base::RunId;
use crate::config::Harness;
use crate::host::files::Stamp;
use crate::host::process::SpawnSpec;
use crate::launch::{version_line, version_spec};
use crate::supervisor::Event;
use crate::wire::Record;

/// How long a program may think about its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program as the file that it is at present.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Program {
    path: Utf8PathBuf,
    stamp: Stamp,
}

impl Program {
    /// The file at a path; none: there is nothing.
    pub(super) fn of(path: &Utf8Path) -> Option<Self> {
        Some(Self { path: path.to_owned(), stamp: Stamp::of(path)? })
    }
}

/// What is known of a program's version.
#[derive(Debug)]
enum Answer {
    /// It was asked; these runs wait.
    Awaited(Vec<RunId>),
    /// It said this, or why it said nothing.
    Given(Result<String, String>),
}

/// The versions that are known.
#[derive(Debug, Default)]
pub(super) struct Versions(HashMap<Program, Answer>);

impl Versions {
    /// What a program said of its version, or why it said nothing; none: its answer is awaited.
    pub(super) fn of(&self, program: &Program) -> Option<Result<String, String>> {
        match self.0.get(program) {
            Some(Answer::Awaited(_)) => None,
            Some(Answer::Given(version)) => Some(version.clone()),
            // It was replaced while others were asked.
            None => Some(Err("its file was replaced meanwhile".to_owned())),
        }
    }
}

impl Daemon {
    /// Finds out the version of the program that a run executes.
    pub(super) fn ask_version(&mut self, run: RunId, harness: &Harness, executed: &SpawnSpec) {
        let Some(question) = version_spec(harness, executed) else { return };
        let Some(program) = Program::of(&question.program) else { return };
        let program = self.find_out_version(question, program);
        match self.versions.0.get_mut(&program) {
            Some(Answer::Awaited(runs)) => runs.push(run),
            Some(Answer::Given(version)) => {
                let version = version.clone();
                self.tell_version(run, version);
            }
            None => {}
        }
    }

    /// Asks a program for its version, unless it was asked.
    pub(super) fn find_out_version(&mut self, question: SpawnSpec, program: Program) -> Program {
        if !self.versions.0.contains_key(&program) {
            // It was replaced: what its older files said is of no use any more.
            self.versions
                .0
                .retain(|known, answer| known.path != program.path || matches!(answer, Answer::Awaited(_)));
            self.versions.0.insert(program.clone(), Answer::Awaited(Vec::new()));
            self.send_errand(Purpose::Version(program.clone()), question, PATIENCE);
        }
        program
    }

    /// A program was asked for its version.
    pub(super) fn version_told(&mut self, program: Program, end: &End) {
        let version = match &end.trouble {
            Some(cause) => Err(cause.clone()),
            None => version_line(&end.first).ok_or_else(|| "it says nothing".to_owned()),
        };
        if let Err(cause) = &version {
            warn!(program = %program.path, cause, "its version is not known");
        }
        if let Some(Answer::Awaited(runs)) = self.versions.0.insert(program, Answer::Given(version.clone())) {
            runs.into_iter().for_each(|run| self.tell_version(run, version.clone()));
        }
        self.tell_surveys();
    }

    fn tell_version(&mut self, run: RunId, version: Result<String, String>) {
        let Ok(version) = version else { return };
        if self.live.contains_key(&run) {
            self.feed(Event::Version { run, version });
        } else {
            // The run was shorter than the answer took.
            self.commit(vec![Record::RunVersion { id: run, version }]);
        }
    }
}
