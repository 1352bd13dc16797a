//! One start, drafted: all that it will execute, before any of it is done.
//!
//! Invariant: nothing is written. A plan shows a draft and a start performs one, so what the plan
//! says is what the start does (RUN-6).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::beside::find;
use super::environment::{Surroundings, child_environment, own_variables, skill_facts, text_of};
use super::error::LaunchError;
use super::skills::{SkillsDraft, handed_dir, skills_job};
use super::trail::trail;
use crate::adapter::{Handover, Invocation, NativeSkill, PromptOptions, Session, Synthesis, TargetKind};
use crate::base::{RunId, duration_text};
use crate::config::{Harness, PromptSource, Work};
use crate::host::git::Repository;
use crate::host::process::{SpawnSpec, StdinSource, check_workdir};
use crate::host::{files, terminal};
use crate::skills;
use crate::wire::Trail;

/// What a start is made from: what was asked, and what was read for it.
#[derive(Debug)]
pub(super) struct Brief<'a> {
    pub(super) harness: &'a Harness,
    pub(super) around: &'a Surroundings,
    pub(super) run: RunId,
    pub(super) session: Chosen,
    pub(super) workdir: Utf8PathBuf,
    env_file: Vec<(String, String)>,
    prompt: Option<String>,
}

/// The command of a start.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) spec: SpawnSpec,
    /// The argument vector without the prompt.
    pub(super) shown: Vec<String>,
    pub(super) report: Option<String>,
    pub(super) trail: Trail,
    /// Files for the agent, each with its contents.
    pub(super) documents: Vec<(Utf8PathBuf, String)>,
    /// What is odd about the stores of its transcripts.
    pub(super) warnings: Vec<String>,
}

/// A start of which nothing is done yet.
#[derive(Debug)]
pub struct Draft<'a> {
    pub(super) brief: Brief<'a>,
    /// None: its agent takes none.
    pub(super) skills: Option<SkillsDraft>,
    pub(super) command: Command,
    pub(super) repository: Option<Repository>,
    /// What is odd about the files that were read for it.
    pub(super) warnings: Vec<String>,
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

/// Whether a process can work in a directory.
pub(super) fn enterable(workdir: &Utf8Path) -> Result<(), LaunchError> {
    check_workdir(workdir).map_err(|cause| LaunchError::Workdir { cause: cause.to_string() })
}

/// Whether preparing reads so little that the loop may do it itself.
#[must_use]
pub fn is_quick(harness: &Harness) -> bool {
    let prompt_is_here = !matches!(&harness.work, Work::Prompt { prompt: PromptSource::File(_), .. });
    prompt_is_here && harness.env_file.is_none() && !harness.adapter.takes_skills()
}

/// Drafts one start. The prompt is read here, for that start alone (PRM-3).
///
/// # Errors
/// [`LaunchError`], which names the path: a start with these arguments would fail so.
pub fn draft<'a>(
    harness: &'a Harness,
    run: RunId,
    around: &'a Surroundings,
    session: Chosen,
) -> Result<Draft<'a>, LaunchError> {
    let workdir = workdir(harness, around);
    enterable(&workdir)?;
    let mut warnings = Vec::new();
    let env_file = read_env_file(harness, &mut warnings)?;
    let skills = SkillsDraft::of(harness, around)?;
    let prompt = read_prompt(harness)?;
    let brief = Brief { harness, around, run, session, workdir, env_file, prompt };
    let native =
        skills.as_ref().map(|skills| native_skills(skills.merged(), &skills.preview().changes.occupied));
    let command = brief.command(native.as_deref())?;
    let repository = Repository::holding(&brief.workdir);
    warnings.extend(repository.as_ref().and_then(stale_lock));
    Ok(Draft { brief, skills, command, repository, warnings })
}

impl Brief<'_> {
    /// The command, where the agent would find these copies by itself.
    pub(super) fn command(&self, native: Option<&[NativeSkill]>) -> Result<Command, LaunchError> {
        let Self { harness, around, run, .. } = *self;
        let fresh = fresh_id(run);
        let session = Some(self.session.said(&fresh));
        let synthesis = synthesize(harness, around, &self.workdir, self.prompt.as_deref(), native, session)?;
        let env = child_environment(harness, run, around, &synthesis, &self.env_file);
        let program = locate(harness, &env, &self.workdir, around)?;
        let stdin = match (synthesis.stdin, harness.tty) {
            (Some(bytes), _) => StdinSource::Bytes(bytes),
            (None, true) => StdinSource::Terminal,
            (None, false) => StdinSource::Null,
        };
        let argv: Vec<OsString> = synthesis.argv.into_iter().map(OsString::from).collect();
        let own = own_variables(harness, &self.env_file);
        let (trail, warnings) = trail(harness, self.around, &env, own, &argv);
        let trail = Trail { session: synthesis.session, ..trail };
        let documents = match handover_dir(harness, around) {
            Some(dir) => synthesis.documents.into_iter().map(|(path, text)| (dir.join(path), text)).collect(),
            None => Vec::new(),
        };
        let spec = SpawnSpec {
            program,
            argv,
            env: env.into_iter().collect(),
            cwd: self.workdir.clone(),
            stdin,
            tty: harness.tty.then_some((terminal::COLUMNS, terminal::ROWS)),
            limits: around.limits,
        };
        Ok(Command { spec, shown: synthesis.shown, report: synthesis.report, trail, documents, warnings })
    }
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
pub(super) fn native_skills(merged: &skills::Merged, occupied: &[String]) -> Vec<NativeSkill> {
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

/// Finds the program (CFG-6): `cmd`, else the adapter's variable, else its command in PATH, else
/// the places where its installer puts it. The first word's failure is the one that is told.
pub(super) fn locate(
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
