//! What a start would do, and what becomes of skills in a target (RUN-6, SKL-13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::ErrorBody;
use super::skills::ShadowedSkill;
use crate::base::{HarnessName, Wall};

/// What becomes of the names in a target, each list by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillChanges {
    /// They are copied or replaced.
    #[serde(rename = "write")]
    pub written: Vec<String>,
    /// Their copies stay as they are.
    #[serde(rename = "keep")]
    pub kept: Vec<String>,
    /// Their copies go, entries of others in a private target included.
    #[serde(rename = "remove")]
    pub removed: Vec<String>,
    /// They are left alone because somebody else holds them.
    pub occupied: Vec<String>,
}

/// What a projection does, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectionView {
    /// Where the copies go.
    pub target: String,
    /// Whether the target is this harness's alone.
    pub private: bool,
    /// What becomes of each name.
    #[serde(flatten)]
    pub changes: SkillChanges,
    /// Merged skills that are too large or cannot be read.
    pub left_out: Vec<String>,
    /// The merged skills that won over others, with the copies that lost.
    pub shadowed: Vec<Shadowing>,
}

/// A skill that won over others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shadowing {
    /// Its name.
    pub name: String,
    /// The winning directory.
    pub source: String,
    /// The copies that lost, the strongest first.
    pub copies: Vec<ShadowedSkill>,
}

/// What `skills sync` did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncView {
    /// The harness.
    pub harness: HarnessName,
    /// The adapter's id.
    pub adapter: String,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What became of its skills; none: its agent takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<ProjectionView>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Whose environment a plan was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planner {
    /// The daemon's: what it would start.
    Daemon,
    /// The caller's: what `once` would start here.
    Caller,
}

/// What would happen at the next start of a harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    /// The harness.
    pub harness: HarnessName,
    /// The adapter's id.
    pub adapter: String,
    /// Whose environment it was made in.
    pub made_by: Planner,
    /// Its next firings.
    pub firings: Vec<PlannedFiring>,
    /// The start.
    #[serde(flatten)]
    pub start: PlannedStart,
}

impl PlanView {
    /// So many firings are told.
    pub const FIRINGS: usize = 5;
}

/// The start, or why there would be none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PlannedStart {
    /// It would be refused.
    Fails {
        /// Why: what the start itself would say.
        failure: ErrorBody,
    },
    /// What it would execute.
    Executes(Box<Execution>),
}

/// What a start would execute, and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// The program's file.
    pub program: String,
    /// The arguments without the prompt (`<prompt>`), ids of sessions (`<session>`) and secrets.
    pub command: Vec<String>,
    /// The working directory.
    pub workdir: String,
    /// The names of its variables.
    #[serde(rename = "env")]
    pub environment: Vec<String>,
    /// What it reads on its standard input.
    pub stdin: PlannedInput,
    /// In which session it would work.
    pub session: PlannedSession,
    /// The log of its output, `<run>` for the id of the run.
    pub log: String,
    /// What becomes of its skills; none: its agent takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<ProjectionView>,
    /// Files that would be written for the agent beside its skills.
    pub documents: Vec<String>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// What a process reads on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlannedInput {
    /// Nothing.
    Nothing,
    /// Its terminal.
    Terminal,
    /// The prompt.
    Prompt,
}

/// In which session a run works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlannedSession {
    /// In a new one.
    New,
    /// In its own last one, which goes on.
    Resumed,
}

/// A firing to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFiring {
    /// The slot.
    #[serde(rename = "utc")]
    pub at: Wall,
    /// The same in the zone of the schedule.
    pub local: String,
    /// When the delay of its `jitter` is over; none: there is no delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_until: Option<Wall>,
}
