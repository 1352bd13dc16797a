//! Stores, registries and databases that are none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use super::agents::{claude, crush, home};
use super::{HARVEST, calls_of, listed, text_of};
use crate::support::until;

/// TRJ-5, and bad input: what cannot be read is a warning that names it, once in the daemon's log and in every
/// answer; the run's own session is read and counted all the same.
#[test]
fn what_cannot_be_read_is_named_and_all_else_goes_on() {
    let mut home = home();
    let work = home.path("work").canonicalize().unwrap();
    let project: String =
        work.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let project = format!(".claude/projects/{project}");
    let at = |name: &str| format!("{project}/{name}.jsonl");
    home.write(at("closed"), "{}\n");
    fs::set_permissions(home.path(at("closed")), fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(home.path(at("directory"))).unwrap();
    nix::unistd::mkfifo(&home.path(at("fifo")), nix::sys::stat::Mode::S_IRWXU).unwrap();
    home.write(".claude/projects/locked/other.jsonl", "{}\n");
    fs::set_permissions(home.path(".claude/projects/locked"), fs::Permissions::from_mode(0o000)).unwrap();
    home.configure(&claude(&home, "job", "call", HARVEST));
    home.for_an_ordinary_user();
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    calls_of(&home, &home.runs("job")[0], 1);
    let expected = [
        (at("closed"), "permission"),
        (at("directory"), "it is a directory, not a regular file"),
        (at("fifo"), "it is a FIFO, not a regular file"),
        (".claude/projects/locked".to_owned(), "permission"),
    ];
    let assert_named = |reply: &Value| {
        let warnings: Vec<&str> = reply["warnings"].as_array().unwrap().iter().map(text_of).collect();
        for (path, cause) in &expected {
            let of = |warning: &&str| warning.contains(&format!("/{path}: ")) && warning.contains(cause);
            assert_eq!(warnings.iter().filter(|warning| of(warning)).count(), 1, "{path}: {warnings:?}");
        }
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        assert_eq!(reply["trajectories"].as_array().unwrap().len(), 1);
    };
    let reply = until("all of the store was looked at", || {
        let reply = home.ok(&["trajectories", "--json"]).json();
        (reply["warnings"].as_array().unwrap().len() >= expected.len()).then_some(reply)
    });
    assert_named(&reply);
    let log = home.daemon_log();
    for (path, _) in &expected {
        let named = log.lines().filter(|line| line.contains("WARN") && line.contains(path.as_str())).count();
        assert_eq!(named, 1, "{path}: {log}");
    }
    assert!(home.ok(&["trajectories"]).out.contains("warning: "));
    home.stop_daemon();
    fs::set_permissions(home.path(".claude/projects/locked"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Bad input: a corrupt registry, and a database of an unknown schema.
#[test]
fn a_corrupt_registry_and_an_unknown_schema_are_named() {
    let mut home = home();
    home.write(".local/share/crush/projects.json", "{\"projects\": [");
    home.configure(&format!(
        "{}{}",
        crush(&home, "job", "\"run\"", ""),
        crush(&home, "other", "\"run\", \"-D\", \"new\"", "").replace("~/work", "~/elsewhere")
    ));
    fs::create_dir_all(home.path("elsewhere/new")).unwrap();
    let made = Command::new("python3")
        .args(["-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"])
        .arg(home.path("elsewhere/new/crush.db"))
        .arg(
            "CREATE TABLE sessions (key TEXT, title TEXT, message_count INT, prompt_tokens INT, cost REAL, \
              updated_at INT, created_at INT, id TEXT, thread TEXT); CREATE TABLE pieces (id TEXT);",
        )
        .status()
        .unwrap();
    assert!(made.success());
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    home.harnessd(&["start", "other", "--wait"]);
    home.ended_run("other");
    let one = listed(&home, "job", 1).remove(0);
    assert!(text_of(&one["native_id"]).starts_with("own-"), "{one}");
    let reply = until("the databases were looked at", || {
        let reply = home.ok(&["trajectories", "--json"]).json();
        (reply["warnings"].as_array().unwrap().len() >= 2).then_some(reply)
    });
    let warnings = reply["warnings"].to_string();
    for named in ["elsewhere/new/crush.db", "projects.json"] {
        assert!(warnings.contains(named), "{warnings}");
    }
}
