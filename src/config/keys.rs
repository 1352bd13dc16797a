//! Every key that a configuration may hold, with what it takes and an example.
//!
//! Invariant: the lists and the structures of `raw` name the same keys (a test
//! compares them), so that no key is parsed without a help line.

/// One key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes, as a noun phrase.
    pub takes: &'static str,
    /// A line that could stand in a file.
    pub example: &'static str,
    /// Whether this version only parses it and then refuses it.
    pub later: bool,
}

const fn key(name: &'static str, takes: &'static str, example: &'static str) -> Key {
    Key { name, takes, example, later: false }
}

const fn later(name: &'static str, takes: &'static str, example: &'static str) -> Key {
    Key { name, takes, example, later: true }
}

const DURATION: &str = "a duration";
const SWITCH: &str = "`true` or `false`";
const POSITIVE: &str = "an integer from 1 to 4294967295";
const NATURAL: &str = "an integer from 0 to 4294967295";

/// The keys of `[harness.NAME]` and `[defaults]`, in the order of the reference.
pub(super) const HARNESS_KEYS: &[Key] = &[
    key("cmd", "a program's name or path", r#"cmd = "claude""#),
    key("args", "a list of strings", r#"args = ["--verbose"]"#),
    key("agent", "the name of an agent", r#"agent = "claude-code""#),
    key("prompt", "a string", r#"prompt = "tidy the changelog""#),
    key("prompt_file", "a path", r#"prompt_file = "prompts/sweep.md""#),
    key("oneshot", SWITCH, "oneshot = true"),
    key("model", "the name of a model", r#"model = "sonnet""#),
    key("auto_accept", SWITCH, "auto_accept = true"),
    key("max_turns", NATURAL, "max_turns = 40"),
    key("quiet", SWITCH, "quiet = false"),
    key("schedule", "a schedule expression", r#"schedule = "30 6 * * 1-5""#),
    key("timezone", "the name of a time zone", r#"timezone = "Europe/Berlin""#),
    key("jitter", DURATION, r#"jitter = "5m""#),
    key("overlap", "`skip`, `queue` or `replace`", r#"overlap = "queue""#),
    key("catch_up", "`one`, `none` or `all`", r#"catch_up = "none""#),
    key("catch_up_window", DURATION, r#"catch_up_window = "24h""#),
    key("timeout", DURATION, r#"timeout = "1h""#),
    key("first_output_timeout", DURATION, r#"first_output_timeout = "2m""#),
    key("idle_timeout", DURATION, r#"idle_timeout = "10m""#),
    key("check", "a program or a list of strings", r#"check = ["cargo", "test"]"#),
    key("check_timeout", DURATION, r#"check_timeout = "10m""#),
    key("linger_timeout", DURATION, r#"linger_timeout = "30s""#),
    key("exclusive", SWITCH, "exclusive = true"),
    later("mcp", SWITCH, "mcp = true"),
    key("restart", "`no`, `always`, `unless-stopped` or `on-failure`", r#"restart = "on-failure""#),
    key("resume", SWITCH, "resume = true"),
    key("restart_delay", "a duration or a number of seconds", r#"restart_delay = "5s""#),
    key("enabled", SWITCH, "enabled = true"),
    key("workdir", "a path", r#"workdir = "~/src/app""#),
    key("env_file", "a path", r#"env_file = ".env""#),
    key("env", "a table of strings", r#"env = { RUST_LOG = "info" }"#),
    key("skill_paths", "a list of paths", r#"skill_paths = ["~/work/skills"]"#),
    key("use_default_skill_paths", SWITCH, "use_default_skill_paths = false"),
    key("harvest", SWITCH, "harvest = true"),
    later("mcp_allow", "a list of `read` and `write`", r#"mcp_allow = ["read"]"#),
    key("tty", SWITCH, "tty = false"),
    key("stop_signal", "the name of a signal", r#"stop_signal = "INT""#),
    key("stop_timeout", DURATION, r#"stop_timeout = "10s""#),
    key("memory_max", "a size of at least 1 MiB", r#"memory_max = "2 GiB""#),
    key("cpu_weight", "an integer from 1 to 10000", "cpu_weight = 50"),
    key("budget", "a table", "budget = { max_cost_usd = 2.5 }"),
    key("keep_runs", NATURAL, "keep_runs = 50"),
    key("log_max_bytes", "a size", r#"log_max_bytes = "64 MiB""#),
    key("description", "a string", r#"description = "nightly sweep""#),
];

/// The keys of `[harness.NAME.budget]`.
pub(super) const BUDGET_KEYS: &[Key] = &[
    key("max_cost_usd", "an amount of at least 0", "max_cost_usd = 2.5"),
    key("max_tokens", "an integer of at least 0", "max_tokens = 200000"),
];

/// The keys of `[daemon]`.
pub(super) const DAEMON_KEYS: &[Key] = &[
    key("state_dir", "a path", r#"state_dir = "~/.local/state/harnessd""#),
    key("socket", "a path", r#"socket = "/run/user/1000/harnessd/socket""#),
    key("watch", SWITCH, "watch = false"),
    key("crash_loop_exits", POSITIVE, "crash_loop_exits = 5"),
    key("crash_loop_window", DURATION, r#"crash_loop_window = "60s""#),
    key("max_attempts", NATURAL, "max_attempts = 10"),
    key("backoff_max", DURATION, r#"backoff_max = "5m""#),
    key("skill_max_files", "an integer of at least 1", "skill_max_files = 4096"),
    key("skill_max_bytes", "a size", r#"skill_max_bytes = "256 MiB""#),
    later("projects", "a list of paths", r#"projects = ["~/src/app"]"#),
    key("max_parallel_runs", POSITIVE, "max_parallel_runs = 4"),
];

/// The keys of `[notify]`.
pub(super) const NOTIFY_KEYS: &[Key] = &[
    key("command", "a program or a list of strings", r#"command = ["notify-send", "harnessd"]"#),
    key("on", "a list of outcomes", r#"on = ["failed", "timeout"]"#),
    key("timeout", DURATION, r#"timeout = "30s""#),
];

/// The keys of `[profile.NAME]`.
pub(super) const PROFILE_KEYS: &[Key] = &[
    key("description", "a string", r#"description = "what runs by day""#),
    key("harnesses", "a list of names of harnesses", r#"harnesses = ["web", "app/worker"]"#),
    key("autostart", SWITCH, "autostart = true"),
];

/// The keys of `[project]`.
pub(super) const PROJECT_KEYS: &[Key] =
    &[key("name", "a string", r#"name = "app""#), key("skills", SWITCH, "skills = true")];

/// The keys that one kind of table may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// `[harness.NAME]` and `[defaults]`.
    Harness,
    /// `[daemon]`.
    Daemon,
    /// `[notify]`.
    Notify,
    /// `[profile.NAME]`.
    Profile,
    /// `[project]`.
    Project,
}

/// The keys that a table of this kind may hold.
#[must_use]
pub const fn known_keys(kind: TableKind) -> &'static [Key] {
    match kind {
        TableKind::Harness => HARNESS_KEYS,
        TableKind::Daemon => DAEMON_KEYS,
        TableKind::Notify => NOTIFY_KEYS,
        TableKind::Profile => PROFILE_KEYS,
        TableKind::Project => PROJECT_KEYS,
    }
}

/// The key that a path inside a table stands for (`budget.max_tokens` is one of its own).
pub(super) fn find(keys: &'static [Key], path: &[String]) -> Option<&'static Key> {
    let within = |keys: &'static [Key], name: &str| keys.iter().find(|key| key.name == name);
    match path {
        [] => None,
        [budget, inner] if budget == "budget" => within(BUDGET_KEYS, inner),
        [name, ..] => within(keys, name),
    }
}
