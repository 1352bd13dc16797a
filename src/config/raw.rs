//! Tables as they are written, before any rule.
//!
//! Invariant: each structure refuses keys that it does not know; values that
//! have a form of their own (durations, schedules …) are in it. Whether a
//! combination makes sense is for the rules.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use serde::Deserialize;

use super::scalar::{
    Amount, Bound, Delay, Element, Memory, Parsed, Pause, Positive, Signal, Size, Weight, Words,
};
use crate::lifecycle::RestartPolicy;
use crate::schedule::{CatchUp, Overlap};

/// `[harness.NAME]` or `[defaults]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawHarness {
    pub(super) cmd: Option<String>,
    pub(super) args: Option<Vec<Element>>,
    pub(super) agent: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) prompt_file: Option<String>,
    pub(super) oneshot: Option<bool>,
    pub(super) model: Option<String>,
    pub(super) auto_accept: Option<bool>,
    pub(super) max_turns: Option<u32>,
    pub(super) quiet: Option<bool>,
    pub(super) schedule: Option<String>,
    pub(super) timezone: Option<Parsed<Tz>>,
    pub(super) jitter: Option<Parsed<Pause>>,
    pub(super) overlap: Option<Parsed<Overlap>>,
    pub(super) catch_up: Option<Parsed<CatchUp>>,
    pub(super) catch_up_window: Option<Parsed<Pause>>,
    pub(super) timeout: Option<Parsed<Bound>>,
    pub(super) first_output_timeout: Option<Parsed<Bound>>,
    pub(super) idle_timeout: Option<Parsed<Bound>>,
    pub(super) check: Option<Words>,
    pub(super) check_timeout: Option<Parsed<Bound>>,
    pub(super) linger_timeout: Option<Parsed<Pause>>,
    pub(super) exclusive: Option<bool>,
    #[serde(rename = "mcp")]
    _mcp: Option<bool>,
    pub(super) restart: Option<Parsed<RestartPolicy>>,
    pub(super) resume: Option<bool>,
    pub(super) restart_delay: Option<Parsed<Delay>>,
    pub(super) enabled: Option<bool>,
    pub(super) workdir: Option<String>,
    pub(super) env_file: Option<String>,
    pub(super) env: Option<BTreeMap<String, Element>>,
    pub(super) skill_paths: Option<Vec<Element>>,
    pub(super) use_default_skill_paths: Option<bool>,
    pub(super) harvest: Option<bool>,
    pub(super) mcp_allow: Option<Vec<Element>>,
    pub(super) tty: Option<bool>,
    pub(super) stop_signal: Option<Parsed<Signal>>,
    pub(super) stop_timeout: Option<Parsed<Pause>>,
    pub(super) memory_max: Option<Parsed<Memory>>,
    pub(super) cpu_weight: Option<Weight>,
    pub(super) budget: Option<RawBudget>,
    pub(super) keep_runs: Option<u32>,
    pub(super) log_max_bytes: Option<Parsed<Size>>,
    pub(super) description: Option<String>,
}

/// `[harness.NAME.budget]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawBudget {
    pub(super) max_cost_usd: Option<Amount>,
    pub(super) max_tokens: Option<u64>,
}

/// `[daemon]`; what has a built-in default is always present after merging.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDaemon {
    #[serde(default)]
    pub(super) state_dir: Option<String>,
    #[serde(default)]
    pub(super) socket: Option<String>,
    pub(super) watch: bool,
    pub(super) crash_loop_exits: Positive,
    pub(super) crash_loop_window: Parsed<Bound>,
    pub(super) max_attempts: u32,
    pub(super) backoff_max: Parsed<Bound>,
    pub(super) skill_max_files: Positive,
    pub(super) skill_max_bytes: Parsed<Size>,
    #[serde(default)]
    pub(super) projects: Option<Vec<Element>>,
    #[serde(default)]
    pub(super) max_parallel_runs: Option<Positive>,
}

/// `[notify]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawNotify {
    pub(super) command: Option<Words>,
    pub(super) on: Option<Vec<Element>>,
    pub(super) timeout: Option<Parsed<Bound>>,
}

/// `[profile.NAME]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawProfile {
    /// For people.
    pub(super) description: Option<String>,
    /// Its members by their full names: `NAME`, of a project `PROJECT/NAME`. None of them has a schedule.
    pub(super) harnesses: Option<Vec<Element>>,
    /// Start the members at boot; one profile at most says so.
    pub(super) autostart: Option<bool>,
}

/// `[project]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawProject {
    pub(super) name: Option<String>,
    pub(super) skills: Option<bool>,
}
