//! The objects that people and scripts are shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::project::ProjectView;
use super::skills::SkillsView;
use crate::base::{HarnessName, Outcome, RunId, State, Trigger, Wall};

/// A skill that was in force during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSkill {
    /// Its directory's name.
    pub name: String,
    /// The absolute directory that it was copied from.
    pub source: String,
    /// SHA-256 (hex) of its contents.
    pub hash: String,
}

/// Slots that were missed one after the other (SCH-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// The first of them.
    pub first: Wall,
    /// The last of them.
    pub last: Wall,
    /// How many.
    pub count: u64,
}

/// One run: a start, or a slot that was not run (RUN-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its id; ids sort by time.
    pub id: RunId,
    /// The harness.
    pub harness: HarnessName,
    /// Why it began.
    pub trigger: Trigger,
    /// 1 for a first try, more for retries.
    pub attempt: u32,
    /// The slot of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Wall>,
    /// When the start was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Wall>,
    /// When nothing of it was alive any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Wall>,
    /// How it ended; none: it still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why, in words; present for every outcome but `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Until when the limit lasts that it met, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Wall>,
    /// Whether the agent stated its result and did not end by itself (RUN-8).
    #[serde(default, skip_serializing_if = "is_false")]
    pub lingered: bool,
    /// The slots that it stands for, when they were missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Stretch>,
    /// The exit status of the main process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The name of the signal that ended it, like `SIGKILL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The main process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// When the main process started, in clock ticks since the machine's boot: with the pid its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start: Option<u64>,
    /// The adapter's id.
    pub adapter: String,
    /// What the agent's program says of its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The argument vector without the prompt.
    #[serde(default)]
    pub command: Vec<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// The commit that the working directory's repository was at before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_before: Option<String>,
    /// The same after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_after: Option<String>,
    /// Hash of the definition that it ran with.
    pub definition_hash: String,
    /// The log file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The format of the machine-readable output that the log holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Bytes of output that the log could not take.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped_bytes: u64,
    /// The skills in force.
    #[serde(default)]
    pub skills: Vec<RunSkill>,
}

impl Run {
    /// A first attempt of which nothing more is known.
    #[must_use]
    pub const fn new(
        id: RunId,
        harness: HarnessName,
        trigger: Trigger,
        adapter: String,
        definition_hash: String,
    ) -> Self {
        Self {
            id,
            harness,
            trigger,
            attempt: 1,
            planned_at: None,
            started_at: None,
            ended_at: None,
            outcome: None,
            cause: None,
            until: None,
            lingered: false,
            missed: None,
            exit_code: None,
            signal: None,
            pid: None,
            process_start: None,
            adapter,
            agent_version: None,
            command: Vec::new(),
            workdir: None,
            git_before: None,
            git_after: None,
            definition_hash,
            log: None,
            report: None,
            dropped_bytes: 0,
            skills: Vec::new(),
        }
    }
}

/// Why a harness waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingReason {
    /// For its restart delay.
    Backoff,
    /// For the end of a limit that its agent met.
    Limit,
    /// For somebody to log in: it is parked until it is started or its login changes.
    Login,
    /// For room among the runs that may go on at once.
    Queue,
    /// For another run in the same working directory.
    Workdir,
}

/// What a harness waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Why.
    pub reason: WaitingReason,
    /// Until when, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Wall>,
}

/// One harness as `list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HarnessView {
    /// Its full name.
    pub name: HarnessName,
    /// Its project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The adapter's id.
    pub adapter: String,
    /// Its state.
    pub state: State,
    /// Whether it starts at boot.
    pub enabled: bool,
    /// Whether it is meant to end.
    pub oneshot: bool,
    /// The main process, while one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The run in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Restarts by policy since the last start that was asked for.
    pub restarts: u32,
    /// The expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// When it is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_firing: Option<Wall>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Whether the running process has an older definition.
    pub changed: bool,
    /// Whether the file of its project says something else than what `up` has accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since_up: Option<bool>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The last ended run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
}

/// Where a harness is declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// One harness as `describe` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// As `list` shows it.
    #[serde(flatten)]
    pub harness: HarnessView,
    /// Every resolved key.
    pub definition: Value,
    /// Where it is declared.
    pub source: Source,
    /// The argument vector without the prompt.
    pub command: Vec<String>,
    /// Its skills.
    pub skills: SkillsView,
}

/// The next firings of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FiringsView {
    /// The expression.
    pub expression: String,
    /// The IANA zone.
    pub timezone: String,
    /// RFC 3339 times in that zone.
    pub firings: Vec<String>,
}

/// Whether the last configuration was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigState {
    /// It is in force.
    Ok,
    /// The last good one is in force.
    Rejected,
}

/// The configuration as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigView {
    /// The files.
    pub files: Vec<String>,
    /// Accepted or not.
    pub state: ConfigState,
    /// Objects as `validate --format json` prints them.
    pub diagnostics: Vec<Value>,
}

/// A harness that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attention {
    /// Which.
    pub harness: HarnessName,
    /// Why.
    pub reason: String,
}

/// What `status` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusView {
    /// The daemon's version.
    pub version: String,
    /// The daemon's process.
    pub pid: u32,
    /// When it started.
    pub started_at: Wall,
    /// Its configuration.
    pub config: ConfigView,
    /// The profile in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The projects whose harnesses are this daemon's, too.
    #[serde(default)]
    pub projects: Vec<ProjectView>,
    /// How many harnesses are in each state; states with none are left out.
    pub harnesses: BTreeMap<State, usize>,
    /// What needs a person.
    pub attention: Vec<Attention>,
    /// The jobs that are late, parked or failed their last run: what `status --check` looks at (SCH-11).
    #[serde(default)]
    pub problems: Vec<Attention>,
    /// What is wrong with the daemon itself, in words.
    #[serde(default)]
    pub trouble: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to this")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to this")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}
