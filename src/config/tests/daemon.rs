//! CFG-6: the daemon's own settings.

use std::time::Duration;

use super::{Files, Surroundings, global, loaded, surroundings};
use crate::config::DaemonSettings;
use crate::config::daemon::defaults;

fn with_env(text: &str, env: &[(&str, &str)]) -> super::Loaded {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    super::load(&[global(text)], &Surroundings { env, ..surroundings() }, &Files)
}

fn settings(text: &str, env: &[(&str, &str)]) -> DaemonSettings {
    with_env(text, env).configuration.unwrap().daemon
}

/// CFG-6: built-in < `[daemon]` < `HARNESSD_*`.
#[test]
fn a_variable_beats_the_table_and_the_table_the_built_in() {
    assert_eq!(settings("", &[]), defaults());
    assert_eq!(loaded(&[]).configuration.unwrap().daemon, defaults());
    let table = "[daemon]\nwatch = false\nbackoff_max = \"1m\"\nstate_dir = \"state\"\ncrash_loop_exits = 9\n\
                 max_parallel_runs = 3\n";
    let read = settings(table, &[]);
    let expected = DaemonSettings {
        watch: false,
        backoff_max: Duration::from_secs(60),
        state_dir: Some("/home/u/.config/harnessd/state".into()),
        crash_loop_exits: 9,
        max_parallel_runs: Some(3),
        ..defaults()
    };
    assert_eq!(read, expected);
    let env = [
        ("HARNESSD_WATCH", "true"),
        ("HARNESSD_BACKOFF_MAX", "2m"),
        ("HARNESSD_STATE_DIR", "~/s"),
        ("HARNESSD_SOCKET", "/run/s"),
        ("HARNESSD_CRASH_LOOP_EXITS", "4"),
        ("HARNESSD_SKILL_MAX_BYTES", "1 MiB"),
        ("HARNESSD_MAX_PARALLEL_RUNS", "8"),
    ];
    let expected = DaemonSettings {
        watch: true,
        backoff_max: Duration::from_secs(120),
        state_dir: Some("/home/u/s".into()),
        socket: Some("/run/s".into()),
        crash_loop_exits: 4,
        skill_max_bytes: 1 << 20,
        max_parallel_runs: Some(8),
        ..defaults()
    };
    assert_eq!(settings(table, &env), expected);
}

/// CFG-6: an exported empty variable counts as unset.
#[test]
fn an_empty_variable_says_nothing() {
    let env = [("HARNESSD_WATCH", ""), ("HARNESSD_SOCKET", ""), ("HARNESSD_MAX_ATTEMPTS", "")];
    assert_eq!(settings("", &env), defaults());
}

/// CFG-6: a bad value of a variable is an error, each one, and names the variable.
#[test]
fn a_bad_variable_is_an_error() {
    let env = [
        ("HARNESSD_WATCH", "perhaps"),
        ("HARNESSD_BACKOFF_MAX", "soon"),
        ("HARNESSD_CRASH_LOOP_EXITS", "0"),
        ("HARNESSD_STATE_DIR", "~bob/s"),
        ("HARNESSD_MAX_PARALLEL_RUNS", "all"),
        ("HARNESSD_RUN_ID", "no setting"),
    ];
    let loaded = with_env("", &env);
    assert!(loaded.configuration.is_none());
    let mut found: Vec<String> = loaded.diagnostics.iter().map(|one| one.message.clone()).collect();
    found.sort();
    let expected = [
        "`HARNESSD_BACKOFF_MAX`: `soon` is no duration: write a number with units, like `90s`, `5m` or `1h 30m`",
        "`HARNESSD_CRASH_LOOP_EXITS`: takes an integer from 1 to 4294967295, not `0`",
        "`HARNESSD_MAX_PARALLEL_RUNS`: takes an integer from 1 to 4294967295, not `all`",
        "`HARNESSD_STATE_DIR`: `~bob` names another user's home, which is not looked up",
        "`HARNESSD_WATCH`: takes `true` or `false`, not `perhaps`",
    ];
    assert_eq!(found, expected);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["harnessd::config::bad_setting"; 5]);
}
