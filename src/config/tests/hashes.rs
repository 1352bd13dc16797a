//! CFG-10: what a changed definition changes.

use super::{Harness, global, harness, project};

const BASE: &str = "[harness.a]\nagent = \"claude-code\"\nprompt = \"x\"\nschedule = \"@daily\"\n";

fn made(text: &str) -> std::sync::Arc<Harness> {
    harness(&[global(text)], "a")
}

/// CFG-10: keys that count at an exit, at boot or on a call apply at once; a
/// running process is not told to be restarted for them.
#[test]
fn keys_that_apply_at_once_leave_the_launch_hash() {
    let base = made(BASE);
    for change in [
        "restart = \"on-failure\"",
        "restart_delay = \"9s\"",
        "timezone = \"UTC\"",
        "overlap = \"queue\"",
        "jitter = \"1m\"",
        "catch_up = \"all\"",
        "catch_up_window = \"1h\"",
        "exclusive = true",
        "keep_runs = 3",
        "harvest = true",
        "budget = { max_cost_usd = 1 }",
        "budget = { max_tokens = 1 }",
        "description = \"nightly\"",
    ] {
        let changed = made(&format!("{BASE}{change}\n"));
        assert_ne!(base.definition_hash, changed.definition_hash, "{change}");
        assert_eq!(base.launch_hash, changed.launch_hash, "{change}");
    }
    let hourly = made(&BASE.replace("@daily", "@hourly"));
    assert_ne!(base.definition_hash, hourly.definition_hash);
    assert_eq!(base.launch_hash, hourly.launch_hash);
    let enabled = made("[harness.a]\nagent = \"claude-code\"\nprompt = \"x\"\nenabled = true\n");
    let plain = made("[harness.a]\nagent = \"claude-code\"\nprompt = \"x\"\n");
    assert_ne!(enabled.definition_hash, plain.definition_hash);
    assert_eq!(enabled.launch_hash, plain.launch_hash);
    assert_eq!(base.launch_hash, plain.launch_hash, "a new schedule, with its hour, applies at once");
}

/// CFG-10: what a start uses applies at the next one.
#[test]
fn keys_that_a_start_uses_change_the_launch_hash() {
    let base = made(BASE);
    for change in [
        "cmd = \"/opt/claude\"",
        "model = \"opus\"",
        "auto_accept = true",
        "max_turns = 3",
        "quiet = false",
        "timeout = \"5m\"",
        "workdir = \"/w\"",
        "env_file = \"e\"",
        "env = { A = \"1\" }",
        "skill_paths = [\"s\"]",
        "use_default_skill_paths = false",
        "tty = true",
        "stop_signal = \"INT\"",
        "stop_timeout = \"1s\"",
        "log_max_bytes = \"1 MiB\"",
        "first_output_timeout = \"1m\"",
        "idle_timeout = \"1m\"",
        "linger_timeout = \"1m\"",
        "check = \"true\"",
        "memory_max = \"1 GiB\"",
        "cpu_weight = 10",
    ] {
        let changed = made(&format!("{BASE}{change}\n"));
        assert_ne!(base.launch_hash, changed.launch_hash, "{change}");
        assert_ne!(base.definition_hash, changed.definition_hash, "{change}");
    }
    for (from, to) in [("\"x\"", "\"y\""), ("claude-code", "codex"), ("prompt =", "prompt_file =")] {
        assert_ne!(base.launch_hash, made(&BASE.replacen(from, to, 1)).launch_hash, "{to}");
    }
    let checked = format!("{BASE}check = \"true\"\n");
    let longer = format!("{checked}check_timeout = \"1h\"\n");
    assert_ne!(made(&checked).launch_hash, made(&longer).launch_hash);
    let moved = "[adapter.claude-code]\ncommands = [\"claude\", \"claude-next\"]\n";
    assert_ne!(base.launch_hash, made(&format!("{moved}{BASE}")).launch_hash, "its adapter's data");
}

/// CFG-10: comments, order, spelling and values that are the default change nothing.
#[test]
fn another_spelling_of_the_same_definition_changes_nothing() {
    let base = made(BASE);
    for same in [
        format!("# a comment\n\n{BASE}"),
        format!("{BASE}stop_timeout = \"10000ms\"\nrestart = \"no\"\nquiet = true\ntimeout = \"60m\"\n"),
        "[defaults]\nschedule = \"@daily\"\n[harness]\na = { prompt = 'x', agent = \"Claude\" }\n".to_owned(),
    ] {
        assert_eq!(base.definition_hash, made(&same).definition_hash, "{same}");
    }
    assert_eq!(base.definition_hash.len(), 64);
}

/// The rank of a skill root is part of the definition, its text alone is not.
#[test]
fn a_root_that_changes_its_rank_is_a_change() {
    let inputs = |global_text: &str, own: &str| {
        let text = format!("[harness.a]\nagent = \"pi\"\nskill_paths = [{own}]\n");
        harness(&[global(global_text), project(&text)], "app/a").launch_hash.clone()
    };
    let as_global = inputs("[defaults]\nskill_paths = [\"/s\"]\n", "");
    assert_ne!(as_global, inputs("", "\"/s\""));
}
