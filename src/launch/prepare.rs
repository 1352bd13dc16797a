//! One start, prepared: a draft performed up to the process itself.

use camino::Utf8PathBuf;

use super::draft::{Chosen, Command, Draft, draft, native_skills};
use super::environment::Surroundings;
use super::error::LaunchError;
use crate::base::RunId;
use crate::config::Harness;
use crate::host::git::Repository;
use crate::host::process::SpawnSpec;
use crate::host::{self, files};
use crate::skills::SkillError;
use crate::wire::{RunSkill, Trail};

/// What a start executes.
#[derive(Debug)]
pub struct Prepared {
    /// The process.
    pub spec: SpawnSpec,
    /// Its argument vector without the prompt.
    pub shown: Vec<String>,
    /// Its working directory.
    pub workdir: Utf8PathBuf,
    /// The skills that were projected.
    pub skills: Vec<RunSkill>,
    /// The repository that holds the working directory.
    pub repository: Option<Repository>,
    /// The commit that it is at.
    pub git_before: Option<String>,
    /// What was odd: for the daemon's log and the run's.
    pub warnings: Vec<String>,
    /// The format of the machine-readable output that the agent is asked for.
    pub report: Option<String>,
    /// Where its transcripts will lie.
    pub trail: Trail,
}

/// Prepares one start: drafts it, then projects its skills and writes what its agent reads (SKL-6).
///
/// # Errors
/// [`LaunchError`], which names the path.
pub fn prepare(
    harness: &Harness,
    run: RunId,
    around: &Surroundings,
    session: Chosen,
) -> Result<Prepared, LaunchError> {
    draft(harness, run, around, session)?.perform()
}

impl Draft<'_> {
    /// Does what the draft says, but for starting the process.
    ///
    /// # Errors
    /// [`LaunchError`], when the skills or the documents cannot be written.
    pub fn perform(self) -> Result<Prepared, LaunchError> {
        let Self { brief, skills, mut command, repository, mut warnings } = self;
        let mut projected = Vec::new();
        if let Some(skills) = skills {
            let projection = skills.project().map_err(|cause| LaunchError::Skills { cause })?;
            warnings.extend(projection.warnings.iter().map(ToString::to_string));
            let occupied = &projection.changes.occupied;
            if *occupied != skills.preview().changes.occupied {
                // Somebody took a name, or gave one up, since the draft: what is hidden follows that.
                command = brief.command(Some(&native_skills(skills.merged(), occupied)))?;
            }
            projected = projection.skills;
        }
        let Command { spec, shown, report, trail, documents, warnings: odd } = command;
        for (path, text) in &documents {
            files::write_if_changed(path, text.as_bytes()).map_err(|cause| LaunchError::Skills {
                cause: SkillError::TargetNotWritable {
                    adapter: brief.harness.adapter.id().to_owned(),
                    target: path.clone(),
                    cause: host::cause(&cause),
                },
            })?;
        }
        warnings.extend(odd);
        let git_before = repository.as_ref().and_then(Repository::head);
        let workdir = brief.workdir;
        Ok(Prepared {
            spec,
            shown,
            workdir,
            skills: projected,
            repository,
            git_before,
            warnings,
            report,
            trail,
        })
    }
}
