//! Starting children, signalling and reaping them.
//!
//! Invariant: a child begins clean (LIF-7) whatever this process inherited or
//! set up for itself, and is known by its pid alone.

mod ask;
mod child;
mod execute;
mod output;
mod program;
mod reap;
mod signal;

pub use ask::ask;
pub(in crate::host) use output::make_nonblocking;
pub use output::{Output, read_output, write_some};
pub use program::{ProgramError, find_program};
pub use reap::reap;
pub use signal::{signal_group, signal_pid};

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use thiserror::Error;

use self::execute::{Executed, Image, Refusal, execute};
use super::cgroup::Entry;
use super::limits::InheritedLimits;
use super::{cause, terminal, tree};

/// What a child reads as its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// `/dev/null`.
    Null,
    /// These bytes and then the end, as a regular file that cannot be changed.
    Bytes(Vec<u8>),
    /// Its terminal; only together with [`SpawnSpec::tty`].
    Terminal,
}

/// A child to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnSpec {
    /// The file to execute, as [`find_program`] resolved it.
    pub program: Utf8PathBuf,
    /// Every argument, the first being the program's own name as it was written.
    pub argv: Vec<OsString>,
    /// The whole environment; nothing is added to it. The last of two equal names counts.
    pub env: Vec<(OsString, OsString)>,
    /// The directory to start in.
    pub cwd: Utf8PathBuf,
    /// Standard input.
    pub stdin: StdinSource,
    /// Columns and rows of a terminal of its own; none: its output is a pipe.
    pub tty: Option<(u16, u16)>,
    /// The limits that the child gets back.
    pub limits: InheritedLimits,
}

/// A child that was started: the `exec` succeeded.
#[derive(Debug)]
pub struct Spawned {
    /// Its pid, which is its session and its process group too.
    pub pid: i32,
    /// When it started, in clock ticks since boot: with the pid its identity.
    pub start_time: u64,
    /// What it prints: a pipe's end or the master of its terminal, not blocking.
    pub output: OwnedFd,
    /// Why it is not in the control group that it should have been in.
    pub outside: Option<io::Error>,
}

/// Why a child could not be started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// Its program cannot be had.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Its directory is not there.
    #[error("workdir `{path}` does not exist")]
    WorkdirMissing {
        /// The directory.
        path: Utf8PathBuf,
    },
    /// Its directory is something else.
    #[error("workdir `{path}` is not a directory")]
    WorkdirNotDirectory {
        /// The path.
        path: Utf8PathBuf,
    },
    /// Its directory may not be entered.
    #[error("workdir `{path}` cannot be entered: {cause}")]
    WorkdirClosed {
        /// The directory.
        path: Utf8PathBuf,
        /// What the system says.
        cause: String,
    },
    /// The system refused to execute the program.
    #[error("execute `{path}`: {cause}")]
    Exec {
        /// The program.
        path: Utf8PathBuf,
        /// What the system says.
        cause: String,
    },
    /// It is limited, and could not be put where the limits are in force.
    #[error("enter its control group: {}", cause(.0))]
    Group(#[source] io::Error),
    /// Something that every child needs was not to be had.
    #[error("{what}: {}", cause(source))]
    Resources {
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl SpawnError {
    /// Whether the system was short of something (descriptors, processes,
    /// memory), so that the same start may succeed later.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        let Self::Resources { source, .. } = self else { return false };
        [Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::ENOMEM]
            .iter()
            .any(|short| source.raw_os_error() == Some(*short as i32))
    }
}

/// Names what was being done when the system refused.
fn doing<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> SpawnError {
    move |source| SpawnError::Resources { what, source: source.into() }
}

/// Starts a child: its own session, the default disposition of every signal
/// and an empty mask, no descriptor but 0 to 2, umask 022, the limits given
/// back, exactly the environment given.
///
/// A failed start leaves no process behind: its remains are waited for here.
///
/// # Errors
/// See [`SpawnError`]; each message is whole.
pub fn spawn(spec: &SpawnSpec) -> Result<Spawned, SpawnError> {
    spawn_into(spec, None)
}

/// As [`spawn`], into a control group: the child is in it before it does anything else.
///
/// # Errors
/// See [`SpawnError`].
pub fn spawn_into(spec: &SpawnSpec, group: Option<&Entry>) -> Result<Spawned, SpawnError> {
    check_workdir(&spec.cwd)?;
    let Pipes { output, input, out, err } = pipes(spec)?;
    let image = Image::of(spec).map_err(|error| refused(spec, error))?;
    let executed = execute(&image, [&input, &out, &err], spec.tty.is_some(), spec.limits, group);
    let Executed { pid, outside } = executed.map_err(|refusal| match refusal {
        Refusal::Outside(error) => SpawnError::Group(error),
        Refusal::Other(error) => refused(spec, error),
    })?;
    // The child is not reaped yet, so its entry in /proc stands even if it has ended.
    let start_time = tree::facts(pid).map_or(0, |facts| facts.start_time);
    Ok(Spawned { pid, start_time, output, outside })
}

/// The descriptors of a child, and our end of its output.
struct Pipes {
    output: OwnedFd,
    input: OwnedFd,
    out: OwnedFd,
    err: OwnedFd,
}

fn pipes(spec: &SpawnSpec) -> Result<Pipes, SpawnError> {
    let (output, out) = match spec.tty {
        Some((columns, rows)) => terminal::open(columns, rows).map_err(doing("open a terminal"))?,
        None => {
            let (read, write) = pipe2(OFlag::O_CLOEXEC).map_err(doing("open a pipe"))?;
            make_nonblocking(&read).map_err(doing("open a pipe"))?;
            (read, write)
        }
    };
    let err = out.try_clone().map_err(doing("open a pipe"))?;
    let input = match &spec.stdin {
        StdinSource::Null => File::open("/dev/null").map_err(doing("open `/dev/null`"))?.into(),
        StdinSource::Bytes(bytes) => child::sealed(bytes).map_err(doing("keep the standard input"))?,
        StdinSource::Terminal if spec.tty.is_some() => out.try_clone().map_err(doing("open a terminal"))?,
        StdinSource::Terminal => {
            return Err(doing("open the standard input")(io::Error::other("the child has no terminal")));
        }
    };
    Ok(Pipes { output, input, out, err })
}

/// Whether a process can work in a directory.
///
/// # Errors
/// Why it cannot, as [`spawn`] says it.
pub fn check_workdir(path: &Utf8Path) -> Result<(), SpawnError> {
    let path = path.to_owned();
    match path.metadata() {
        Ok(found) if found.is_dir() => match program::may_execute(&path) {
            Ok(()) => Ok(()),
            Err(closed) => Err(SpawnError::WorkdirClosed { path, cause: cause(&closed) }),
        },
        Ok(_) => Err(SpawnError::WorkdirNotDirectory { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SpawnError::WorkdirMissing { path }),
        Err(error) => Err(SpawnError::WorkdirClosed { path, cause: cause(&error) }),
    }
}

/// What a failed start means. The error does not say which step failed, so
/// the circumstances are looked at again.
fn refused(spec: &SpawnSpec, error: io::Error) -> SpawnError {
    let shortage = SpawnError::Resources { what: "start a process", source: error };
    if shortage.is_shortage() {
        return shortage;
    }
    let SpawnError::Resources { source: error, .. } = shortage else { return shortage };
    if let Err(workdir) = check_workdir(&spec.cwd) {
        return workdir;
    }
    match program::check(&spec.program) {
        Err(problem) => problem.into(),
        Ok(()) => SpawnError::Exec {
            path: spec.program.clone(),
            cause: program::missing_interpreter(&spec.program, &error).unwrap_or_else(|| cause(&error)),
        },
    }
}

#[cfg(test)]
mod tests;
