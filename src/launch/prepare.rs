//! One start, prepared: skills projected, prompt read, argv and environment made.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::beside::find;
use super::environment::{Surroundings, child_environment, own_variables, skill_facts, text_of};
use super::error::LaunchError;
use super::skills::{handed_dir, skills_job};
use super::trail::trail;
use crate::adapter::{Handover, Invocation, NativeSkill, PromptOptions, Session, Synthesis, TargetKind};
use crate::base::{RunId, duration_text};
use crate::config::{Harness, PromptSource, Work};
use crate::host::git::Repository;
use crate::host::process::{SpawnSpec, StdinSource};
use crate::host::{self, files, terminal};
use crate::skills::{self, SkillError};
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

/// In which session a run is to work; ids are the agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// A new one.
    Fresh,
    /// This one goes on.
    Resume(String),
    /// A copy of this one.
    Fork(String),
}

impl Chosen {
    fn said<'a>(&'a self, fresh: &'a str) -> Session<'a> {
        match self {
            Self::Fresh => Session::Fresh(fresh),
            Self::Resume(id) => Session::Resume(id),
            Self::Fork(of) => Session::Fork { of, fresh },
        }
    }
}

/// The id of a session that a run begins: of the form of version 4, which is what agents take, from the
/// random part of the run's own id.
fn fresh_id(run: RunId) -> String {
    let digest: [u8; 32] = Sha256::digest(run.uuid().as_bytes()).into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// A lock of an index that is older than this belongs to no git that is still at work.
const STALE: Duration = Duration::from_secs(600);

/// The directory that a harness runs in: its `workdir`, else the home directory, never the
/// daemon's own.
#[must_use]
pub fn workdir(harness: &Harness, around: &Surroundings) -> Utf8PathBuf {
    harness.workdir.clone().unwrap_or_else(|| around.home.clone())
}

/// Whether preparing reads so little that the loop may do it itself.
#[must_use]
pub fn is_quick(harness: &Harness) -> bool {
    let prompt_is_here = !matches!(&harness.work, Work::Prompt { prompt: PromptSource::File(_), .. });
    prompt_is_here && harness.env_file.is_none() && !harness.adapter.takes_skills()
}

/// Prepares one start: projection, then the prompt, then argv and environment (SKL-6, PRM-3).
///
/// # Errors
/// [`LaunchError`], which names the harness and the path.
pub fn prepare(
    harness: &Harness,
    run: RunId,
    around: &Surroundings,
    session: &Chosen,
) -> Result<Prepared, LaunchError> {
    let workdir = workdir(harness, around);
    let mut warnings = Vec::new();
    let env_file = read_env_file(harness, &mut warnings)?;
    let (skills, native) = project(harness, around, &mut warnings)?;
    let prompt = read_prompt(harness)?;
    let fresh = fresh_id(run);
    let session = Some(session.said(&fresh));
    let synthesis = synthesize(harness, around, &workdir, prompt.as_deref(), native.as_deref(), session)?;
    write_documents(harness, around, &synthesis)?;
    let env = child_environment(harness, run, around, &synthesis, &env_file);
    let program = locate(harness, &env, &workdir, around)?;
    let stdin = match (synthesis.stdin, harness.tty) {
        (Some(bytes), _) => StdinSource::Bytes(bytes),
        (None, true) => StdinSource::Terminal,
        (None, false) => StdinSource::Null,
    };
    let argv: Vec<OsString> = synthesis.argv.into_iter().map(OsString::from).collect();
    let (trail, odd) = trail(harness, around, &env, own_variables(harness, &env_file), &argv);
    let trail = Trail { session: synthesis.session, ..trail };
    warnings.extend(odd);
    let spec = SpawnSpec {
        program,
        argv,
        env: env.into_iter().collect(),
        cwd: workdir.clone(),
        stdin,
        tty: harness.tty.then_some((terminal::COLUMNS, terminal::ROWS)),
        limits: around.limits,
    };
    let repository = Repository::holding(&workdir);
    let git_before = repository.as_ref().and_then(Repository::head);
    warnings.extend(repository.as_ref().and_then(stale_lock));
    let (shown, report) = (synthesis.shown, synthesis.report);
    Ok(Prepared { spec, shown, workdir, skills, repository, git_before, warnings, report, trail })
}

/// What is to be said of a lock that stops every git in the working directory until a person removes it.
fn stale_lock(repository: &Repository) -> Option<String> {
    let (lock, age) = repository.stale_lock(STALE)?;
    let age = duration_text(Duration::from_secs(age.as_secs()));
    Some(format!(
        "`{lock}` is {age} old: a git that died may have left it, and until it is removed no other one works"
    ))
}

/// The argument vector that a start would have, with `<prompt>` for the prompt; for `describe`.
///
/// # Errors
/// [`LaunchError::Synthesis`].
pub fn shown_command(harness: &Harness, around: &Surroundings) -> Result<Vec<String>, LaunchError> {
    let native = skills_job(harness, around).map(|job| native_skills(&skills::survey(&job), &[]));
    let prompt = match &harness.work {
        Work::Prompt { prompt: PromptSource::Text(text), .. } => Some(text.as_str()),
        Work::Prompt { prompt: PromptSource::File(_), .. } => Some("<prompt>"),
        Work::Command { .. } => None,
    };
    synthesize(harness, around, &workdir(harness, around), prompt, native.as_deref(), None)
        .map(|made| made.shown)
}

fn synthesize(
    harness: &Harness,
    around: &Surroundings,
    workdir: &Utf8Path,
    prompt: Option<&str>,
    native: Option<&[NativeSkill]>,
    session: Option<Session<'_>>,
) -> Result<Synthesis, LaunchError> {
    let none = PromptOptions::default();
    let (program, args, options) = match &harness.work {
        Work::Command { program, args } => (program, args.as_slice(), &none),
        Work::Prompt { program, options, .. } => (program, &[][..], options),
    };
    let target = handover_dir(harness, around);
    let handover = target.as_deref().zip(native).map(|(target, native)| Handover { target, native });
    let invocation = Invocation {
        program: program.as_deref(),
        args,
        prompt,
        resident: !harness.oneshot(),
        options,
        workdir: Some(workdir),
        skills: handover,
        session,
    };
    harness.adapter.synthesize(&invocation).map_err(|cause| LaunchError::Synthesis { cause })
}

/// What the adapter calls `D`: the private directory, or the shared target itself.
fn handover_dir(harness: &Harness, around: &Surroundings) -> Option<Utf8PathBuf> {
    let facts = skill_facts(harness, around);
    match facts.target? {
        TargetKind::Private { .. } => Some(handed_dir(harness, around)),
        TargetKind::Shared { .. } => skills_job(harness, around)?.target.map(|target| target.dir),
    }
}

/// The copies that the agent would find by itself, as the adapter hides them. Where the winner is
/// not projected (its name is taken, or it is too large) its native copy is left in sight.
fn native_skills(merged: &skills::Merged, occupied: &[String]) -> Vec<NativeSkill> {
    let native = merged.native.iter();
    native
        .map(|copy| NativeSkill {
            name: copy.name.clone(),
            dir: copy.source.clone(),
            shadowed: copy.shadowed,
            projected: copy.projected && !occupied.contains(&copy.name),
        })
        .filter(|copy| copy.projected || copy.shadowed || !merged.wins(&copy.name))
        .collect()
}

type Projected = (Vec<RunSkill>, Option<Vec<NativeSkill>>);

fn project(
    harness: &Harness,
    around: &Surroundings,
    warnings: &mut Vec<String>,
) -> Result<Projected, LaunchError> {
    let Some(job) = skills_job(harness, around) else { return Ok((Vec::new(), None)) };
    let merged = skills::survey(&job);
    let failed = |cause| LaunchError::Skills { cause };
    let projection = skills::project(&job, &merged).map_err(failed)?;
    warnings.extend(projection.warnings.iter().map(ToString::to_string));
    let native = native_skills(&merged, &projection.occupied);
    Ok((projection.skills, Some(native)))
}

fn read_env_file(
    harness: &Harness,
    warnings: &mut Vec<String>,
) -> Result<Vec<(String, String)>, LaunchError> {
    let Some(path) = &harness.env_file else { return Ok(Vec::new()) };
    let failed = |cause: String| LaunchError::EnvFile { path: path.clone(), cause };
    match files::read_env_file(path) {
        Ok(Some(pairs)) => Ok(pairs),
        Ok(None) => {
            warnings.push(format!("env file `{path}` does not exist"));
            Ok(Vec::new())
        }
        Err(cause) => Err(failed(cause.to_string())),
    }
}

fn read_prompt(harness: &Harness) -> Result<Option<String>, LaunchError> {
    match &harness.work {
        Work::Command { .. } => Ok(None),
        Work::Prompt { prompt: PromptSource::Text(text), .. } => Ok(Some(text.clone())),
        Work::Prompt { prompt: PromptSource::File(path), .. } => files::read_prompt(path)
            .map(Some)
            .map_err(|cause| LaunchError::Prompt { path: path.clone(), cause: cause.to_string() }),
    }
}

/// Documents that the agent reads beside its skills, like a plugin's manifest.
fn write_documents(
    harness: &Harness,
    around: &Surroundings,
    synthesis: &Synthesis,
) -> Result<(), LaunchError> {
    let Some(dir) = handover_dir(harness, around) else { return Ok(()) };
    for (path, text) in &synthesis.documents {
        let path = dir.join(path);
        files::write_if_changed(&path, text.as_bytes()).map_err(|cause| LaunchError::Skills {
            cause: SkillError::TargetNotWritable {
                adapter: harness.adapter.id().to_owned(),
                target: path.clone(),
                cause: host::cause(&cause),
            },
        })?;
    }
    Ok(())
}

/// Finds the program (CFG-6): `cmd`, else the adapter's variable, else its command in PATH, else
/// the places where its installer puts it. The first word's failure is the one that is told.
fn locate(
    harness: &Harness,
    env: &BTreeMap<OsString, OsString>,
    workdir: &Utf8Path,
    around: &Surroundings,
) -> Result<Utf8PathBuf, LaunchError> {
    let (Work::Command { program, .. } | Work::Prompt { program, .. }) = &harness.work;
    // The override variable is the daemon's own or the harness's; the child never sees the former.
    let mut overriding = text_of(&around.env);
    overriding.extend(text_of(env));
    let words = harness.adapter.command_words(program.as_deref(), &overriding, &around.home);
    let path = env.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let mut first = None;
    for word in &words {
        match find(word, path, workdir, &around.home) {
            Ok(found) => return Ok(found),
            Err(cause) => first = first.or(Some(cause.to_string())),
        }
    }
    let cause = first.unwrap_or_else(|| format!("adapter `{}` has no command", harness.adapter.id()));
    Err(LaunchError::Program { cause })
}
