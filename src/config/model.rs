//! What a valid configuration says, with every default filled in.
//!
//! Invariant: a value of these types has passed every rule; impossible
//! combinations (a schedule on a resident harness, a prompt beside arguments)
//! cannot be written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;
use chrono_tz::Tz;

use crate::adapter::{Adapter, PromptOptions, Registry};
use crate::base::{HarnessName, Outcome};
use crate::lifecycle::RestartPolicy;
use crate::schedule::{CatchUp, Overlap, Schedule};

/// A whole, valid configuration: the unit that the daemon applies.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The daemon's own settings.
    pub daemon: DaemonSettings,
    /// Every harness by its full name.
    pub harnesses: BTreeMap<HarnessName, Arc<Harness>>,
    /// The built-in adapters with the user's tables over them.
    pub registry: Arc<Registry>,
    /// Who hears of ended runs.
    pub notify: Option<Arc<Notify>>,
    /// The groups of harnesses by their names.
    pub profiles: BTreeMap<String, Profile>,
    /// Every file that was read, as it was named.
    pub files: Vec<Utf8PathBuf>,
}

/// The `[daemon]` table of the global file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Where state is kept; none: the default place.
    pub state_dir: Option<Utf8PathBuf>,
    /// The control socket; none: the default place.
    pub socket: Option<Utf8PathBuf>,
    /// Whether changed files are reloaded without being asked.
    pub watch: bool,
    /// This many exits inside `crash_loop_window` make a harness `degraded`.
    pub crash_loop_exits: u32,
    /// See `crash_loop_exits`; a run longer than it resets the backoff.
    pub crash_loop_window: Duration,
    /// After this many consecutive failed attempts a harness is `failed`; 0: never.
    pub max_attempts: u32,
    /// The cap of the backoff.
    pub backoff_max: Duration,
    /// So many runs of one-shots may go on at once; none: any number.
    pub max_parallel_runs: Option<u32>,
    /// Bound of files a skill.
    pub skill_max_files: u64,
    /// Bound of bytes a skill.
    pub skill_max_bytes: u64,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        super::daemon::defaults()
    }
}

/// The `[notify]` table: a command that hears of ended runs (RUN-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// The program and its arguments; it gets the run as JSON on its standard input.
    pub command: Vec<String>,
    /// The outcomes that it wants to hear of.
    pub on: Vec<Outcome>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A `[profile.NAME]` table: harnesses that are started together (CFG-12).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// For people.
    pub description: Option<String>,
    /// Its members, each once. One of a project may be unknown now, or have a schedule.
    pub harnesses: Vec<HarnessName>,
    /// Start the members at boot; one profile at most.
    pub autostart: bool,
}

/// What is watched of a one-shot's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// A run that has written nothing at all by then is stopped.
    pub first_output_timeout: Option<Duration>,
    /// A run that writes nothing for this long is stopped.
    pub idle_timeout: Option<Duration>,
    /// A run whose agent has stated its result is stopped after this.
    pub linger_timeout: Duration,
    /// What is to hold after a run that ended well (RUN-7).
    pub check: Option<Check>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            first_output_timeout: None,
            idle_timeout: None,
            linger_timeout: Duration::from_secs(30),
            check: None,
        }
    }
}

/// What a run may use, by what its agent reports (USE-5).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub max_cost_usd: Option<f64>,
    /// Tokens, of prompts and completions together.
    pub max_tokens: Option<u64>,
}

/// A command that tells whether a run did what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Where a harness is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, as it was named.
    pub file: Utf8PathBuf,
    /// The line of its table's header, from 1.
    pub line: usize,
}

/// The project that declares a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `[project] name`, or the directory's name, sanitised.
    pub name: String,
    /// The directory of the project file.
    pub root: Utf8PathBuf,
    /// Whether `<root>/skills` is a project-local skill root.
    pub skills: bool,
}

/// What a harness executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A program with its arguments.
    Command {
        /// `cmd`; none: the adapter's own command.
        program: Option<String>,
        /// `args`, before `{workdir}` is filled in.
        args: Vec<String>,
    },
    /// The adapter's one-shot template with a prompt.
    Prompt {
        /// `cmd`, which replaces the template's first word.
        program: Option<String>,
        /// Where the prompt comes from.
        prompt: PromptSource,
        /// `model`, `auto_accept`, `max_turns`, `quiet`.
        options: PromptOptions,
    },
}

/// Where a prompt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSource {
    /// `prompt`, byte for byte.
    Text(String),
    /// `prompt_file`, read at each start.
    File(Utf8PathBuf),
}

/// How a harness is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Meant to run for ever.
    Resident {
        /// Its restart policy.
        restart: RestartPolicy,
    },
    /// Meant to end.
    OneShot {
        /// Its restart policy (retries).
        restart: RestartPolicy,
        /// When it is due.
        schedule: Option<Timetable>,
        /// After this a run is stopped with outcome `timeout`.
        timeout: Option<Duration>,
        /// What else is watched of a run.
        watch: Watch,
    },
}

/// A schedule with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Timetable {
    /// The expression.
    pub expression: Schedule,
    /// The zone that it is read in.
    pub timezone: Tz,
    /// What a firing does while a run is active.
    pub overlap: Overlap,
    /// Each firing is delayed by a stable amount below this; 0: not at all.
    pub jitter: Duration,
    /// What becomes of missed firings.
    pub catch_up: CatchUp,
    /// No firing that was missed longer ago than this is made up for.
    pub catch_up_window: Duration,
}

impl Timetable {
    /// A schedule whose other options are the defaults.
    #[must_use]
    pub const fn new(expression: Schedule, timezone: Tz) -> Self {
        Self {
            expression,
            timezone,
            overlap: Overlap::Skip,
            jitter: Duration::ZERO,
            catch_up: CatchUp::One,
            catch_up_window: Duration::from_secs(24 * 3600),
        }
    }
}

/// Who names a skill root (SKL-2), without the adapter's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Declared {
    /// `skill_paths` of the global file.
    Global,
    /// `skill_paths` of a project file.
    Project,
}

/// One harness, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Harness {
    /// Its full name.
    pub name: HarnessName,
    /// Where it is declared.
    pub origin: Origin,
    /// Its project, if a project file declares it.
    pub project: Option<Project>,
    /// Its adapter.
    pub adapter: Arc<Adapter>,
    /// What it executes.
    pub work: Work,
    /// Resident or one-shot.
    pub mode: Mode,
    /// Start at boot.
    pub enabled: bool,
    /// A resident agent goes on with its own last session when it is started again (TRJ-8).
    pub resume: bool,
    /// Base of the restart backoff.
    pub restart_delay: Duration,
    /// Absolute working directory; none: see LIF-7.
    pub workdir: Option<Utf8PathBuf>,
    /// Whether it works in the home directory, named or not.
    pub at_home: bool,
    /// Absolute path of the environment file.
    pub env_file: Option<Utf8PathBuf>,
    /// Variables of the harness's own table, over `[defaults]`.
    pub env: BTreeMap<String, String>,
    /// Declared skill roots, absolute, lowest precedence first.
    pub skill_paths: Vec<(Declared, Utf8PathBuf)>,
    /// Whether the adapter's default roots contribute.
    pub use_default_skill_paths: bool,
    /// Runs that share a working directory wait for one another.
    pub exclusive: bool,
    /// Bound of a run's memory in bytes, where cgroups are delegated.
    pub memory_max: Option<u64>,
    /// Weight of a run's share of the processors (1 to 10,000), where cgroups are delegated.
    pub cpu_weight: Option<u32>,
    /// Whether its trajectories may be listed and read (TRJ-6).
    pub harvest: bool,
    /// A run that has used more than this is stopped; at least one of its bounds is set.
    pub budget: Option<Budget>,
    /// Run under a pseudo-terminal.
    pub tty: bool,
    /// The signal's number (15 for `TERM`).
    pub stop_signal: i32,
    /// Grace between the stop signal and KILL.
    pub stop_timeout: Duration,
    /// How many ended runs are kept.
    pub keep_runs: u32,
    /// Bound of one run's log.
    pub log_max_bytes: u64,
    /// For people.
    pub description: Option<String>,
    /// SHA-256 (hex) of every resolved key.
    pub definition_hash: String,
    /// SHA-256 (hex) of the keys that a start uses: when it differs from that of
    /// the running process, `changed: restart to apply` is shown.
    pub launch_hash: String,
}

impl Harness {
    /// Whether it is a one-shot.
    #[must_use]
    pub const fn oneshot(&self) -> bool {
        matches!(self.mode, Mode::OneShot { .. })
    }

    /// Its restart policy.
    #[must_use]
    pub const fn restart(&self) -> RestartPolicy {
        match self.mode {
            Mode::Resident { restart } | Mode::OneShot { restart, .. } => restart,
        }
    }

    /// Its schedule.
    #[must_use]
    pub const fn timetable(&self) -> Option<&Timetable> {
        match &self.mode {
            Mode::OneShot { schedule, .. } => schedule.as_ref(),
            Mode::Resident { .. } => None,
        }
    }

    /// What is watched of its runs.
    #[must_use]
    pub const fn watch(&self) -> Option<&Watch> {
        match &self.mode {
            Mode::OneShot { watch, .. } => Some(watch),
            Mode::Resident { .. } => None,
        }
    }

    /// Whether people want only the answer of its agent.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        match &self.work {
            Work::Prompt { options, .. } => options.quiet,
            Work::Command { .. } => false,
        }
    }

    /// Its wall-clock bound.
    #[must_use]
    pub const fn timeout(&self) -> Option<Duration> {
        match self.mode {
            Mode::OneShot { timeout, .. } => timeout,
            Mode::Resident { .. } => None,
        }
    }
}
