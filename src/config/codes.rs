//! The stable codes of configuration diagnostics.
//!
//! Invariant: a code is never renamed and never reused for another mistake;
//! scripts and editors match on it.

macro_rules! codes {
    ($($name:ident = $text:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub(super) const $name: &str = concat!("harnessd::config::", $text);)*
        /// Every code with its meaning, for reference pages.
        pub const CODES: &[(&str, &str)] = &[$(($name, $meaning)),*];
    };
}

codes! {
    SYNTAX = "syntax", "the file is no TOML";
    ENCODING = "encoding", "the file is no UTF-8 text";
    UNREADABLE = "unreadable", "the file cannot be read";
    UNKNOWN_KEY = "unknown_key", "no key of this name exists here";
    UNKNOWN_TABLE = "unknown_table", "no table of this name exists here";
    WRONG_TYPE = "wrong_type", "the value is of another type than the key takes";
    BAD_VALUE = "bad_value", "the value is of the right type, but not one that the key takes";
    EMPTY_VALUE = "empty_value", "the value is empty where something must stand";
    NUL_CHARACTER = "nul_character", "the value holds a NUL character";
    NOT_SUPPORTED_YET = "not_supported_yet", "the key is known, but this version does not act on it";
    GLOBAL_ONLY = "global_only", "a project file holds what only the global file may hold";
    PROJECT_ONLY = "project_only", "the global file holds what only a project file may hold";
    DROP_IN_ONLY = "drop_in_only", "a drop-in holds something else than harnesses";
    BAD_NAME = "bad_name", "a harness or project name breaks the grammar of names";
    DUPLICATE_HARNESS = "duplicate_harness", "two files declare a harness of one name";
    DUPLICATE_PROJECT = "duplicate_project", "two projects have one name";
    MISSING_PROJECT = "missing_project", "a listed project has no file (warning)";
    BAD_ADAPTER = "bad_adapter", "an `[adapter.NAME]` table does not describe an adapter";
    UNKNOWN_ADAPTER = "unknown_adapter", "`agent` names no adapter";
    UNKNOWN_MEMBER = "unknown_member", "a profile names a harness that is not declared (a project's: warning)";
    SCHEDULED_MEMBER = "scheduled_member", "a profile names a harness that has a schedule (a project's: warning)";
    TWO_AUTOSTARTS = "two_autostarts", "two profiles say that they start at boot";
    MISSING_COMMAND = "missing_command", "neither `cmd` nor `agent` says what to execute, or `[notify]` has no `command`";
    SHELL_LINE = "shell_line", "a program looks like a shell line (warning)";
    SHARED_SKILLS = "shared_skills", "two harnesses want different skills in one shared directory (of two files that are accepted apart: warning)";
    SHARED_WORKDIR = "shared_workdir", "two scheduled harnesses work in one directory without `exclusive` (warning)";
    EXCLUSIVE_KEYS = "exclusive_keys", "two keys that exclude each other stand in one table";
    PROMPT_NOT_TAKEN = "prompt_not_taken", "a prompt for an agent that takes none";
    BLANK_PROMPT = "blank_prompt", "the prompt holds nothing but white space";
    PROMPT_TOO_LONG = "prompt_too_long", "the prompt is longer than the agent can be handed";
    PROMPT_FILE = "prompt_file", "the prompt file cannot be used";
    NEEDS_PROMPT = "needs_prompt", "the key needs a prompt";
    UNFULFILLABLE = "unfulfillable", "the agent has no means to do what the key asks";
    NEEDS_ONESHOT = "needs_oneshot", "the key needs a one-shot";
    NEEDS_RESIDENT = "needs_resident", "the key needs a resident harness";
    NEEDS_WORKDIR = "needs_workdir", "the key needs a `workdir`";
    NEEDS_SCHEDULE = "needs_schedule", "the key needs a `schedule`";
    NEEDS_CHECK = "needs_check", "the key needs a `check`";
    ENABLED_WITH_SCHEDULE = "enabled_with_schedule", "`enabled = true` beside a `schedule`";
    RESTART_WITH_SCHEDULE = "restart_with_schedule", "a restart policy that a schedule does not admit";
    TOO_MUCH = "too_much", "`[defaults]` says too much for too many harnesses";
    CANNOT_LAUNCH = "cannot_launch", "no command can be made of the harness";
    BAD_PATH = "bad_path", "the path is of a form that is not supported";
    BAD_VARIABLE = "bad_variable", "no environment variable can have this name";
    RESERVED_VARIABLE = "reserved_variable", "harnessd sets variables of this name itself";
    ENV_FILE_MISSING = "env_file_missing", "the environment file does not exist (warning)";
    ENV_FILE_UNREADABLE = "env_file_unreadable", "the environment file cannot be read (warning)";
    ENV_FILE_READABLE = "env_file_world_readable", "everybody can read the environment file (warning)";
    BAD_SETTING = "bad_setting", "a `HARNESSD_*` variable holds a value that its setting does not take";
}
