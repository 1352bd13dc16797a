//! ADP-4, ADP-5: whether the agents that are here are those that their adapters were last tried with.

use serde_json::{Value, json};

use crate::agents::{agent, program};
use crate::support::{Home, path_with, replace};

/// The cells of a table, without its head, as far as the lines have four of them.
fn rows(said: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    said.lines().skip(1).map(cells).take_while(|row| row.len() == 4).collect()
}

/// ADP-5: `agents --check` says of each installed agent, and of no other, how its version compares with the one
/// that its adapter was last tried with, and fails unless it is that one, with or without a daemon.
#[test]
fn installed_agents_are_compared_with_the_verified_ones() {
    let mut home = Home::new("[adapter.mine]\ncommands = [\"mine\"]\nprobe.version = [\"--version\"]\n");
    program(&home, "claude", "echo odd: warning; echo '2.1.332 (Claude Code)'");
    home.set("PATH", &path_with(&home.path("bin")));
    let said = home.ok(&["agents", "--check"]).out;
    assert_eq!(rows(&said), [["claude-code", "2.1.332", "2.1.332", "the last one verified"]]);
    assert_eq!(said.lines().count(), 3, "{said}");
    program(&home, "codex", "echo codex-cli 0.1710.0");
    program(&home, "grok", "echo 'grok 1.0.9 (4220f3b224a6)'");
    program(&home, "kimi", "echo 2.1.0+dirty");
    program(&home, "pi", "exit 3");
    program(&home, "gemini", "echo of today");
    program(&home, "mine", "echo mine 1.2");
    let judged = [
        ["claude-code", "2.1.332", "2.1.332", "the last one verified"],
        ["codex", "0.1710.0", "0.171.0", "newer than the last one verified"],
        ["gemini", "-", "0.61.0", "of unknown version: it states no version, but says `of today`"],
        ["grok", "1.0.9", "1.0.41", "older than the last one verified"],
        ["kimi", "2.1.0+dirty", "2.1.0", "another than the last one verified"],
        ["mine", "1.2", "-", "not verified at all"],
        ["pi", "-", "1.6.0", "of unknown version: exit status 3"],
    ];
    let said = home.harnessd(&["agents", "--check"]);
    assert_eq!((said.code, rows(&said.out)), (1, judged.map(|row| row.map(str::to_owned).to_vec()).to_vec()));
    let advised: Vec<&str> = said.out.lines().skip(1 + judged.len()).collect();
    assert_eq!(
        advised[0],
        "codex: docs/agents.md says what 0.171.0 did; to try 0.1710.0, set `verified` in \
         src/adapter/builtin/codex.toml to it and run `python3 tests/agents/run.py codex` in a checkout of harnessd"
    );
    let named: Vec<&str> =
        advised.iter().filter_map(|line| line.split_once(": ")).map(|(id, _)| id).collect();
    assert_eq!(named, ["codex", "gemini", "grok", "kimi", "mine", "pi"]);
    home.start_daemon();
    let said = home.harnessd(&["agents", "--check", "--json"]);
    let agents: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &agents["judged_by"]), (1, &json!("daemon")));
    for (id, check) in [
        ("claude-code", json!({"verdict": "same", "version": "2.1.332"})),
        ("codex", json!({"verdict": "newer", "version": "0.1710.0"})),
        ("gemini", json!({"verdict": "unknown", "why": "it states no version, but says `of today`"})),
        ("grok", json!({"verdict": "older", "version": "1.0.9"})),
        ("kimi", json!({"verdict": "other", "version": "2.1.0+dirty"})),
        ("mine", json!({"verdict": "unverified", "version": "1.2"})),
        ("pi", json!({"verdict": "unknown", "why": "exit status 3"})),
        ("opencode", Value::Null),
    ] {
        assert_eq!(agent(&agents, id)["check"], check, "{id}");
    }
    assert_eq!(agent(&home.ok(&["agents", "--json"]).json(), "codex")["check"], Value::Null);
    home.stop_daemon();
}

/// ADP-4, ADP-5: who has tried an agent says so in the configuration; where none is installed, none is judged.
#[test]
fn a_user_says_which_version_was_tried() {
    let mut home =
        Home::new("[adapter.codex]\nverified = \"v0.172.0\"\n[adapter.crush]\nverified = \"0.91\"\n");
    let path = format!("{}:/usr/bin:/bin", home.text("bin"));
    home.set("PATH", &path);
    let said = home.ok(&["agents", "--check"]).out;
    assert_eq!(said.lines().next(), Some("no known agent is installed"), "{said}");
    program(&home, "codex", "echo codex-cli 0.172.0");
    program(&home, "crush", "echo crush version v0.91.0");
    assert_eq!(rows(&home.ok(&["agents", "--check"]).out).len(), 2);
    replace(&home.path("bin/codex"), b"#!/bin/sh\necho codex-cli 0.171.0\n", 0o755);
    assert_eq!(home.harnessd(&["agents", "--check"]).code, 1);
}
