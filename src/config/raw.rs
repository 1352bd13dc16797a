//! Tables as they are written, before any rule.
//!
//! Invariant: each structure refuses keys that it does not know; values that
//! have a form of their own (durations, schedules …) are in it. Whether a
//! combination makes sense is for the rules.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;

use super::scalar::{
    Amount, Bound, Delay, Element, Memory, Parsed, Pause, Positive, Signal, Size, Weight, Words, table,
};
use crate::base::Outcome;
use crate::lifecycle::RestartPolicy;
use crate::schedule::{CatchUp, Overlap};

/// `[harness.NAME]` or `[defaults]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawHarness {
    /// A program, not a shell line, looked up in the `PATH` of the child's environment.
    ///
    /// Default: the agent's command.
    pub(super) cmd: Option<String>,
    /// The arguments of `cmd`; `{workdir}` in one is the resolved `workdir`. Not beside a prompt. For keys and
    /// tokens use `env_file`: what is given to a name like `--api-key`, `X_TOKEN=` or `Authorization:` is
    /// recorded and shown as `<secret>`, as are keys with the mark of a well-known issuer, but anybody on the
    /// machine can see the arguments of a process.
    #[schemars(extend("default" = serde_json::json!([])))]
    pub(super) args: Option<Vec<Element>>,
    /// Which agent it is; `harnessd agents` lists them.
    ///
    /// Default: told by `cmd`, else `generic`.
    pub(super) agent: Option<String>,
    /// Given to the agent byte for byte; makes the harness a one-shot. Not beside `prompt_file` or `args`.
    pub(super) prompt: Option<String>,
    /// The prompt from a file, which is read at every start.
    pub(super) prompt_file: Option<String>,
    /// Whether it is meant to end; otherwise it is *resident*.
    ///
    /// Default: `true` with a prompt, else `false`.
    pub(super) oneshot: Option<bool>,
    /// The model that the agent is to use. It needs a prompt, as `auto_accept`, `max_turns` and `quiet` do.
    ///
    /// Default: the agent's.
    pub(super) model: Option<String>,
    /// The agent asks for no permission.
    #[schemars(extend("default" = false))]
    pub(super) auto_accept: Option<bool>,
    /// Bound of the agent's turns; 0: any.
    #[schemars(extend("default" = 0))]
    pub(super) max_turns: Option<u32>,
    /// `logs` and `once` show the agent's answer and its errors; `false`: also what it says meanwhile and a line
    /// for each tool that it calls. Passed on where the agent has a flag for it.
    #[schemars(extend("default" = true))]
    pub(super) quiet: Option<bool>,
    /// When it runs: five or six cron fields, `@daily` and its like, `@every 90m`. One-shots only.
    pub(super) schedule: Option<String>,
    /// The IANA zone that the schedule is read in. It needs a `schedule`, as `jitter`, `overlap`, `catch_up` and
    /// `catch_up_window` do.
    ///
    /// Default: the system's.
    pub(super) timezone: Option<Parsed<Tz>>,
    /// Each firing is late by an amount below it, the same for the same firing at any time. Less than the
    /// interval of `@every`.
    #[schemars(extend("default" = "0s"))]
    pub(super) jitter: Option<Parsed<Pause>>,
    /// What a firing does while a run goes on.
    #[schemars(extend("default" = "skip"))]
    pub(super) overlap: Option<Parsed<Overlap>>,
    /// What becomes of firings that were missed because the daemon or the machine was not there; `all` is
    /// bounded by 10.
    #[schemars(extend("default" = "one"))]
    pub(super) catch_up: Option<Parsed<CatchUp>>,
    /// What was missed longer ago is not made up for.
    #[schemars(extend("default" = "24h"))]
    pub(super) catch_up_window: Option<Parsed<Pause>>,
    /// A run that takes longer is stopped: outcome `timeout`. One-shots only, as `first_output_timeout`,
    /// `idle_timeout`, `check`, `linger_timeout` and `exclusive`.
    ///
    /// Default: `1h` with a schedule, else none.
    pub(super) timeout: Option<Parsed<Bound>>,
    /// A run that has written nothing at all by then is stopped: `no-output`.
    pub(super) first_output_timeout: Option<Parsed<Bound>>,
    /// A run that writes nothing for so long is stopped: `no-output`.
    pub(super) idle_timeout: Option<Parsed<Bound>>,
    /// A program that runs after an agent that ended `ok`, in the same directory and environment; if it fails
    /// the outcome is `check-failed`.
    pub(super) check: Option<Words>,
    /// The time that `check` may take. It needs a `check`.
    #[schemars(extend("default" = "10m"))]
    pub(super) check_timeout: Option<Parsed<Bound>>,
    /// An agent that has stated its result and has not ended by then is stopped; the outcome is the stated one.
    #[schemars(extend("default" = "30s"))]
    pub(super) linger_timeout: Option<Parsed<Pause>>,
    /// One-shots of one `workdir` that all say `true` wait for one another. `validate` warns of scheduled
    /// harnesses that share a `workdir` where nothing is said.
    #[schemars(extend("default" = false))]
    pub(super) exclusive: Option<bool>,
    /// Whether the agent is given the tools of harnessd (MCP).
    #[serde(rename = "mcp")]
    #[schemars(extend("default" = false))]
    _mcp: Option<bool>,
    /// What follows when it has ended. A schedule admits `no` and `on-failure`, and its next firing takes the
    /// place of a retry that waits, for the end of a limit too.
    ///
    /// Default: `always`; one-shots `no`.
    pub(super) restart: Option<Parsed<RestartPolicy>>,
    /// A resident agent that is started again, by its policy, by `restart` or with the daemon, goes on with its
    /// own last session and is not given its prompt again. Its first start is as usual; where no session is
    /// known, or its files are gone, a new one is begun, which the log says. It needs a `workdir`, by which its
    /// sessions are told from others, and an agent that can (`harnessd agents`).
    #[schemars(extend("default" = false))]
    pub(super) resume: Option<bool>,
    /// The first delay before a restart; it doubles up to `backoff_max`.
    #[schemars(extend("default" = "1s"))]
    pub(super) restart_delay: Option<Parsed<Delay>>,
    /// Start it with the daemon. Not beside a `schedule`.
    #[schemars(extend("default" = false))]
    pub(super) enabled: Option<bool>,
    /// Where it runs.
    ///
    /// Default: the project's directory, else none.
    pub(super) workdir: Option<String>,
    /// A file of `NAME=value` lines, read at every start.
    pub(super) env_file: Option<String>,
    /// Variables, over those of `env_file`.
    #[schemars(extend("default" = serde_json::json!({})))]
    pub(super) env: Option<BTreeMap<String, Element>>,
    /// Further skill roots; they add up over the layers.
    #[schemars(extend("default" = serde_json::json!([])))]
    pub(super) skill_paths: Option<Vec<Element>>,
    /// Whether the agent's own skill roots count.
    #[schemars(extend("default" = true))]
    pub(super) use_default_skill_paths: Option<bool>,
    /// Its trajectories may be listed and read, and its exclusions (docs/trajectories.md). What it uses is
    /// counted in any case.
    #[schemars(extend("default" = false))]
    pub(super) harvest: Option<bool>,
    /// What an agent may do through the tools of harnessd (MCP). In the global file only.
    #[schemars(extend("default" = serde_json::json!(["read"])))]
    pub(super) mcp_allow: Option<Vec<Element>>,
    /// Whether it gets a terminal.
    ///
    /// Default: `true` for resident agents, `false` for `generic` and one-shots.
    pub(super) tty: Option<bool>,
    /// How it is asked to stop.
    #[schemars(extend("default" = "TERM"))]
    pub(super) stop_signal: Option<Parsed<Signal>>,
    /// Then what is left of its tree is killed.
    #[schemars(extend("default" = "10s"))]
    pub(super) stop_timeout: Option<Parsed<Pause>>,
    /// Bound of the memory of a run's whole tree. It needs a control group that is delegated to the daemon
    /// (docs/containment.md); without one the start fails.
    pub(super) memory_max: Option<Parsed<Memory>>,
    /// Its share of the processors against others, which have 100; it needs a delegated control group likewise.
    pub(super) cpu_weight: Option<Weight>,
    /// A run whose agent reports more than `max_cost_usd` or `max_tokens` (prompts and completions together) is
    /// stopped within five seconds: outcome `budget`. It goes by the agent's transcripts (docs/trajectories.md),
    /// so it needs a `workdir` and an agent that states what it bounds; many state no cost, or only at their
    /// end.
    #[serde(deserialize_with = "table")]
    pub(super) budget: Option<RawBudget>,
    /// So many ended runs are kept.
    #[schemars(extend("default" = 50))]
    pub(super) keep_runs: Option<u32>,
    /// Bound of one run's log.
    #[schemars(extend("default" = "64 MiB"))]
    pub(super) log_max_bytes: Option<Parsed<Size>>,
    /// For people.
    pub(super) description: Option<String>,
}

/// `[harness.NAME.budget]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawBudget {
    /// What the agent states as its cost, in US dollars.
    pub(super) max_cost_usd: Option<Amount>,
    /// Tokens of prompts and completions together.
    pub(super) max_tokens: Option<u64>,
}

/// `[daemon]`; what has a built-in default is always present after merging.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDaemon {
    /// Runs, logs, skill copies.
    ///
    /// Default: `~/.local/state/harnessd`.
    #[serde(default)]
    pub(super) state_dir: Option<String>,
    /// The control socket.
    ///
    /// Default: in the runtime directory.
    #[serde(default)]
    pub(super) socket: Option<String>,
    /// Reload when a file changes.
    pub(super) watch: bool,
    /// So many exits within `crash_loop_window` make a harness `degraded`.
    pub(super) crash_loop_exits: Positive,
    /// The time in which `crash_loop_exits` are counted.
    pub(super) crash_loop_window: Parsed<Bound>,
    /// After so many failures in a row a harness is `failed`; 0: never.
    pub(super) max_attempts: u32,
    /// The longest delay before a restart.
    pub(super) backoff_max: Parsed<Bound>,
    /// Bound of the files of one skill.
    pub(super) skill_max_files: Positive,
    /// Bound of the bytes of one skill.
    pub(super) skill_max_bytes: Parsed<Size>,
    /// Directories of projects whose harnesses the daemon runs.
    #[serde(default)]
    pub(super) projects: Option<Vec<Element>>,
    /// So many one-shots run at once, the others wait in the order of their firings.
    ///
    /// Default: none: any.
    #[serde(default)]
    pub(super) max_parallel_runs: Option<Positive>,
}

/// `[notify]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawNotify {
    /// Gets each ended run as one JSON object on its standard input (the RUN of docs/json.md). Required.
    pub(super) command: Option<Words>,
    /// The outcomes that it hears of.
    ///
    /// Default: all but `ok`, `stopped`, `replaced`, `skipped`.
    #[schemars(with = "Option<Vec<Outcome>>")]
    pub(super) on: Option<Vec<Element>>,
    /// The command is killed then; a failure is logged and not repeated.
    #[schemars(extend("default" = crate::base::duration_text(super::notify::TIMEOUT)))]
    pub(super) timeout: Option<Parsed<Bound>>,
}

/// `[profile.NAME]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawProfile {
    /// For people.
    pub(super) description: Option<String>,
    /// Its members by their full names: `NAME`, of a project `PROJECT/NAME`. None of them has a schedule.
    #[schemars(extend("default" = serde_json::json!([])))]
    pub(super) harnesses: Option<Vec<Element>>,
    /// Start the members with the daemon, as `enabled` does for each; one profile at most says so.
    #[schemars(extend("default" = false))]
    pub(super) autostart: Option<bool>,
}

/// `[project]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawProject {
    /// Its harnesses are `NAME/…`.
    ///
    /// Default: the directory's.
    pub(super) name: Option<String>,
    /// Whether `skills` in the project's directory is a skill root.
    #[schemars(extend("default" = false))]
    pub(super) skills: Option<bool>,
}
