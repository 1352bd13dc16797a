//! The arguments of every verb: one definition for parsing, help and manual page.

mod completions;
mod init;
mod planning;
mod profiles;
mod projects;
mod schema;
mod writing;

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::base::version;

pub(super) use completions::CompletionsArgs;
pub(super) use init::InitArgs;
pub(super) use planning::{CheckArgs, PlanArgs, SkillsArgs, SkillsVerb, SyncArgs};
pub(super) use profiles::UseProfileArgs;
pub(super) use projects::{DownArgs, UpArgs};
pub(super) use schema::{SchemaArgs, SchemaOf};
pub(super) use writing::{AddArgs, EditArgs, ScheduleSetArgs, SetArgs, UnsetArgs, WriteArgs};

/// A declarative supervisor for coding-agent command lines.
#[derive(Debug, Parser)]
#[command(name = "harnessd", version = version(), about, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 done, 1 the operation failed, 2 usage, 3 no daemon answers.")]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// What every verb takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every verb")]
pub(super) struct Common {
    /// The global configuration file [env: HARNESSD_CONFIG] [default: ~/.config/harnessd/harness.toml, else /etc/harnessd/harness.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<Utf8PathBuf>,
    /// Where runs, logs and skill copies are kept [env: HARNESSD_STATE_DIR] [default: ~/.local/state/harnessd]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state_dir: Option<Utf8PathBuf>,
    /// The control socket [env: HARNESSD_SOCKET] [default: $XDG_RUNTIME_DIR/harnessd/harnessd.sock]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) socket: Option<Utf8PathBuf>,
    /// Take bare names as global harnesses, though inside a project
    #[arg(long, global = true)]
    pub(super) global: bool,
    /// Print JSON, whose keys stay
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Run the daemon in the foreground
    Run(RunArgs),
    /// List all harnesses with their states
    List,
    /// Show one harness in full: definition, command, skills
    Describe(NameArgs),
    /// Start harnesses
    Start(StartArgs),
    /// Stop harnesses with everything they started
    Stop(TargetArgs),
    /// Stop and start harnesses
    Restart(TargetArgs),
    /// Start the harnesses that a profile names
    UseProfile(UseProfileArgs),
    /// Register a project and start what is enabled in it; again after its file has changed
    Up(UpArgs),
    /// Stop all of a registered project and forget it
    Down(DownArgs),
    /// List the harnesses of this project, outside of one those of all projects
    Ps,
    /// Read the configuration again
    Reload,
    /// Execute the program anew, in place: after an upgrade the new version takes over all that runs
    Reexec,
    /// Tell whether this program could take over the state on standard input
    #[command(hide = true)]
    ProbeHandover,
    /// Show the daemon, its configuration and what needs attention
    Status(StatusArgs),
    /// Do one run in the foreground and exit by its outcome; needs no daemon
    Once(NameArgs),
    /// Check configuration files; starts nothing and needs no daemon
    Validate(ValidateArgs),
    /// List the known agents: which are installed, logged in, and what each supports
    Agents(AgentsArgs),
    /// Show what the next start of a harness would do, and do nothing
    Plan(PlanArgs),
    /// Look for what may be wrong with the daemon and around it; repairs nothing, needs no daemon
    Doctor,
    /// Write a configuration file to begin with, for the agents that are found
    Init(InitArgs),
    /// Show the merged skills of harnesses: who won, who is shadowed
    Skills(SkillsArgs),
    /// List runs, newest first
    Runs(RunsArgs),
    /// Show one run
    Show(ShowArgs),
    /// Print the log of a run, or of a harness's runs
    Logs(LogsArgs),
    /// List what agents did: their sessions, and whose run each belongs to
    Trajectories(TrajectoriesArgs),
    /// Print one trajectory: what was said and done in it
    Trajectory(TrajectoryArgs),
    /// Sum up what runs used: tokens, calls, and what agents state as their cost
    Usage(UsageArgs),
    /// Work with schedules
    Schedule(ScheduleArgs),
    /// Declare a harness in a configuration file
    Add(AddArgs),
    /// Give a key of a harness a value, in the file that declares it
    Set(SetArgs),
    /// Take a key of a harness out of the file that declares it
    Unset(UnsetArgs),
    /// Take a harness out of the file that declares it
    Remove(EditArgs),
    /// Let a harness start with the daemon: `set NAME enabled true`
    Enable(EditArgs),
    /// Let a harness start with the daemon no more: `set NAME enabled false`
    Disable(EditArgs),
    /// Print a JSON Schema of a kind of file, or of what the control socket speaks
    Schema(SchemaArgs),
    /// Print a script that completes the command line in a shell
    Completions(CompletionsArgs),
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// How the daemon's own log is written to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
}

/// The form of the daemon's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// One line of text an event
    Text,
    /// One JSON object an event
    Json,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Print the jobs that are late, parked or failed their last run; exit 1 if there is one
    #[arg(long)]
    pub(super) check: bool,
}

/// Arguments of `agents`.
#[derive(Debug, Args)]
pub(super) struct AgentsArgs {
    /// Compare the installed ones with the versions that were last verified; exit 1 if one is another
    #[arg(long)]
    pub(super) check: bool,
}

/// One harness.
#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// The harness
    pub(super) name: String,
}

/// Some harnesses.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// The harnesses
    #[arg(required_unless_present = "all")]
    pub(super) names: Vec<String>,
    /// Every harness (`start`: that is resident; `restart`: that is not stopped)
    #[arg(long, conflicts_with = "names")]
    pub(super) all: bool,
    /// Wait: `start` until it runs (a one-shot: until its run has ended), `stop` until nothing of it is alive
    #[arg(long)]
    pub(super) wait: bool,
}

/// Arguments of `start`.
#[derive(Debug, Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Go on with a session of the harness's own: the one of this id, else its last one
    #[arg(long, value_name = "SESSION", num_args = 0..=1, conflicts_with_all = ["all", "fork"])]
    pub(super) resume: Option<Option<String>>,
    /// Work in a copy of a session of the harness's own: of the one of this id, else of its last one
    #[arg(long, value_name = "SESSION", num_args = 0..=1, conflicts_with = "all")]
    pub(super) fork: Option<Option<String>>,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// The files; none: the global file, its drop-ins and the enclosing project's
    pub(super) files: Vec<Utf8PathBuf>,
    /// Take the files as global or project files instead of telling by their places
    #[arg(long = "as", value_name = "KIND", requires = "files")]
    pub(super) kind: Option<Kind>,
    /// How mistakes are printed [default: human]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<DiagnosticFormat>,
    /// Exit 1 for warnings, too
    #[arg(long)]
    pub(super) strict: bool,
}

/// The kind of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// The user's or system's own file
    Global,
    /// A project's `harness.toml`
    Project,
}

/// How mistakes are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiagnosticFormat {
    /// With the offending text underlined
    Human,
    /// `file:line:col: code: message`
    Short,
    /// One JSON object
    Json,
    /// A SARIF 2.1.0 log, for code scanning
    Sarif,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(super) struct RunsArgs {
    /// Only runs of this harness
    pub(super) name: Option<String>,
    /// At most so many
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 50)]
    pub(super) limit: usize,
    /// Only runs whose outcome is not `ok`, `stopped`, `replaced` or `skipped`
    #[arg(long)]
    pub(super) failed: bool,
    /// Only runs since a time (`2026-11-30T08:00:00Z`) or for a while back (`12h`)
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The run's id, or enough of its beginning or end to tell it
    pub(super) run: String,
}

/// Arguments of `logs`.
#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// A harness (its newest run) or a run
    pub(super) target: String,
    /// The last N lines
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 100)]
    pub(super) lines: usize,
    /// The bytes as the agent wrote them, its machine-readable output not turned into text
    #[arg(long)]
    pub(super) raw: bool,
    /// The whole log
    #[arg(long, conflicts_with = "lines")]
    pub(super) all: bool,
    /// Go on as it grows; of a harness also into its next runs
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Whole logs of the harness's runs that were active since a time, or for a while back
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["lines", "all"])]
    pub(super) since: Option<String>,
}

/// Arguments of `trajectories`.
#[derive(Debug, Args)]
pub(super) struct TrajectoriesArgs {
    /// Only of this harness
    pub(super) name: Option<String>,
    /// Only of this run
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Only those that went on at or after a time, or in a while back (`12h`)
    #[arg(long, value_name = "WHEN", conflicts_with = "run")]
    pub(super) from: Option<String>,
    /// Only those that began at or before a time
    #[arg(long, value_name = "WHEN", conflicts_with = "run")]
    pub(super) to: Option<String>,
}

/// Arguments of `trajectory`.
#[derive(Debug, Args)]
pub(super) struct TrajectoryArgs {
    /// An id that `trajectories` prints or enough of its beginning, or the agent's own id
    pub(super) session: String,
    /// How it is printed [default: text; with `--json`: json]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<TrajectoryFormat>,
}

/// How a trajectory is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TrajectoryFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// One JSON object an event
    Jsonl,
    /// Spans for an OpenTelemetry collector, as OTLP in JSON
    Otlp,
}

/// Arguments of `usage`.
#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    /// Only of this harness
    pub(super) name: Option<String>,
    /// What a row is the sum of [default: harnesses]
    #[arg(long, value_name = "WHAT")]
    pub(super) by: Option<UsageBy>,
    /// Only what was used since a time (`2026-11-30T08:00:00Z`) or for a while back (`12h`)
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
}

/// What a row of usage is the sum of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum UsageBy {
    /// A run
    Run,
    /// A day, in the time zone of the harness's schedule, else of the system
    Day,
    /// A model
    Model,
    /// A project
    Project,
}

/// Arguments of `schedule`.
#[derive(Debug, Args)]
pub(super) struct ScheduleArgs {
    #[command(subcommand)]
    pub(super) verb: ScheduleVerb,
}

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub(super) enum ScheduleVerb {
    /// Print the next firings of a harness or an expression
    Next(NextArgs),
    /// Give a harness a schedule, in the file that declares it: `set NAME schedule EXPR`
    Set(ScheduleSetArgs),
}

/// Arguments of `schedule next`.
#[derive(Debug, Args)]
pub(super) struct NextArgs {
    /// A harness with a schedule, or an expression like `0 3 * * *`
    pub(super) what: String,
    /// So many firings
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 5)]
    pub(super) count: usize,
    /// After this time (RFC 3339) instead of now
    #[arg(long, value_name = "TIME")]
    pub(super) from: Option<String>,
    /// In this IANA time zone
    #[arg(long, value_name = "ZONE")]
    pub(super) timezone: Option<String>,
}
