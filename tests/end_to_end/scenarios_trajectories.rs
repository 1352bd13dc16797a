//! The scenarios of the source specification's sections *Trajectory Discovery*, *Run Correlation* and *Harvest
//! Opt-In* that a daemon and files are needed for, with stand-ins for Claude Code and Crush. Those that are pure
//! rules stand beside the rules.

mod agents;
mod bad_input;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use self::agents::{claude, crush, home};
use crate::support::{Home, until};

const HARVEST: &str = "harvest = true";

/// The trajectories that are listed, once what runs have written is read: harness, title or id by its
/// beginning, and how it is known.
fn listed(home: &Home, name: &str, count: usize) -> Vec<Value> {
    until("the trajectories are listed", || {
        let listed = home.ok(&["trajectories", name, "--json"]).json();
        let found = listed["trajectories"].as_array().unwrap().clone();
        (found.len() == count).then_some(found)
    })
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until a run has used so much.
fn calls_of(home: &Home, run: &Value, calls: u64) -> Value {
    until("the run's transcript is read", || {
        let shown = home.ok(&["show", text_of(&run["id"]), "--json"]).json();
        (shown["usage"]["calls"] == calls).then_some(shown)
    })
}

fn code(said: &crate::support::Said) -> String {
    let told: Value = serde_json::from_str(&said.err).unwrap();
    text_of(&told["error"]["code"]).to_owned()
}

/// Every file below a directory: how it is and what is in it.
fn snapshot(home: &Home, roots: &[&str]) -> BTreeMap<String, (u64, i64, i64, u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut pending: Vec<_> = roots.iter().map(|root| home.path(root)).collect();
    while let Some(path) = pending.pop() {
        let facts = fs::symlink_metadata(&path).unwrap();
        let contents = if facts.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let name = path.to_str().unwrap().to_owned();
        found.insert(name, (facts.ino(), facts.mtime(), facts.mtime_nsec(), facts.mode(), contents));
        if facts.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

/// Scenario: Native transcript is located.
#[test]
fn native_transcript_is_located() {
    let mut home = home();
    home.configure(&claude(&home, "job", "call", HARVEST));
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let one = listed(&home, "job", 1).remove(0);
    assert_eq!((&one["source"], &one["agent"]), (&json!("native"), &json!("claude-code")));
    let told = home.ok(&["trajectory", text_of(&one["id"]), "--json"]).json();
    let said: Vec<_> =
        told["events"].as_array().unwrap().iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(said, ["do it", "secret-1"]);
}

/// Scenario: Fallback to scrollback. `generic` has no transcript, whatever its program leaves in a store.
#[test]
fn fallback_to_scrollback() {
    let mut home = home();
    let program = home.text("bin/claude");
    home.configure(&format!(
        "[harness.job]\nagent = \"generic\"\ncmd = \"{program}\"\nworkdir = \"~/work\"\noneshot = true\n\
         harvest = true\nenv = {{ STEPS = \"call say\" }}\n"
    ));
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let one = listed(&home, "job", 1).remove(0);
    assert_eq!((&one["source"], &one["id"]), (&json!("scrollback"), &home.runs("job")[0]["id"]));
    let told = home.ok(&["trajectory", text_of(&one["id"]), "--json"]).json();
    let kinds: Vec<_> = told["events"].as_array().unwrap().iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["output"]);
    assert!(text_of(&told["events"][0]["text"]).contains("\"subtype\": \"init\""), "{told}");
}

/// Scenario: Trajectories are never mutated: neither files, nor a database that its agent has open (TRJ-1).
#[test]
fn trajectories_are_never_mutated() {
    let mut home = home();
    let held = crush(&home, "held", "\"run\"", "env = { UNTIL = \"end\" }");
    let closed = crush(&home, "closed", "\"run\"", "").replace("~/work", "~/elsewhere");
    fs::create_dir(home.path("elsewhere")).unwrap();
    home.configure(&format!("{}{held}{closed}", claude(&home, "job", "call sub note", HARVEST)));
    home.start_daemon();
    for name in ["job", "closed"] {
        home.ok(&["start", name, "--wait"]);
    }
    home.ok(&["start", "held"]);
    listed(&home, "job", 2);
    let mut ids: Vec<Value> = listed(&home, "held", 1);
    ids.extend(listed(&home, "job", 2));
    ids.extend(listed(&home, "closed", 1));
    let roots = [".claude", "work", "elsewhere"];
    let before = snapshot(&home, &roots);
    let names: Vec<&str> = before.keys().filter_map(|path| path.rsplit('/').next()).collect();
    assert!(names.contains(&"crush.db-wal"), "the agent has its database open: {names:?}");
    let operations = |home: &Home| {
        for one in &ids {
            for format in ["text", "json", "jsonl", "otlp"] {
                home.ok(&["trajectory", text_of(&one["id"]), "--format", format]);
            }
        }
        for args in [&["trajectories"][..], &["usage"], &["usage", "--by", "run"], &["runs"]] {
            home.ok(args);
        }
    };
    operations(&home);
    assert_eq!(snapshot(&home, &roots), before);
    home.ok(&["reload"]);
    operations(&home);
    assert_eq!(snapshot(&home, &roots), before);
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    // The agent of the killed daemon is gone too, and its database as it left it.
    home.write("end", "");
    until("the agent is gone", || home.processes_with(&home.text("")).is_empty().then_some(()));
    let before = snapshot(&home, &roots);
    operations(&home);
    home.start_daemon();
    operations(&home);
    assert_eq!(snapshot(&home, &roots), before);
}

/// Scenario: Overlapping runs in a shared workdir exclude the session. COR-5: each reports it, naming both.
#[test]
fn overlapping_runs_in_a_shared_workdir_exclude_the_session() {
    let mut home = home();
    let one = claude(&home, "one", "until=begin own call until=end", HARVEST);
    let other = claude(&home, "other", "until=end", HARVEST);
    home.configure(&format!("{one}{other}"));
    home.start_daemon();
    home.ok(&["start", "one", "other"]);
    home.wait_state("other", "running");
    home.write("begin", "");
    for name in ["one", "other"] {
        let excluded = until("the session is excluded", || {
            let listed = home.ok(&["trajectories", name, "--json"]).json();
            assert_eq!(listed["trajectories"], json!([]));
            listed["excluded"].as_array().unwrap().first().cloned()
        });
        assert_eq!(excluded["claimants"], json!(["one", "other"]));
        assert!(excluded["started_at"].is_string(), "{excluded}");
        let refused = home.harnessd(&["trajectory", text_of(&excluded["native_id"]), "--json"]);
        assert_eq!(code(&refused), "unknown_session");
    }
    home.write("end", "");
    home.ended_run("one");
    home.ended_run("other");
    assert_eq!(home.ok(&["usage", "--json"]).json()["rows"], json!([]), "it is counted for nobody");
}

/// Scenario: Named stores separate harnesses that share a workdir, though they run at the same time.
#[test]
fn named_stores_separate_harnesses() {
    let mut home = home();
    let harness = |name: &str| {
        let env = format!("env = {{ UNTIL = \"end\", TITLE = \"{name}\" }}");
        crush(&home, name, &format!("\"run\", \"--data-dir\", \"stores/{name}\""), &env)
    };
    home.configure(&format!("{}{}", harness("one"), harness("other")));
    home.start_daemon();
    home.ok(&["start", "one", "other"]);
    for name in ["one", "other"] {
        let found = listed(&home, name, 1).remove(0);
        assert!(text_of(&found["native_id"]).starts_with(name), "{found}");
        assert_eq!(found["evidence"], "inferred");
    }
    home.write("end", "");
    let all = home.ok(&["trajectories", "--json"]).json();
    assert_eq!(all["excluded"], json!([]));
    home.ended_run("one");
    home.ended_run("other");
}

/// Scenario: A relocated registry is followed, and the default one is not read; without the variable it is the
/// other way round.
#[test]
fn a_relocated_registry_is_followed() {
    for (file, found) in [("env_file = \"~/crush.env\"\n", "own-"), ("", "decoy-")] {
        let mut home = home();
        let work = home.path("work").canonicalize().unwrap();
        let registry = |store: &str| {
            json!({"projects": [{"path": work.to_str().unwrap(), "data_dir": home.text(store)}]}).to_string()
        };
        home.write("global/projects.json", &registry("relocated"));
        home.write(".local/share/crush/projects.json", &registry("usual"));
        home.write("crush.env", &format!("CRUSH_GLOBAL_DATA={}\n", home.text("global")));
        let (store, decoy) = (home.text("relocated"), home.text("usual"));
        let env = format!("{file}env = {{ STORE = \"{store}\", DECOY = \"{decoy}\" }}");
        home.configure(&crush(&home, "job", "\"run\"", &env));
        home.start_daemon();
        home.ok(&["start", "job", "--wait"]);
        let one = listed(&home, "job", 1).remove(0);
        assert!(text_of(&one["native_id"]).starts_with(found), "{one}");
    }
}

/// Scenario: Post-mortem after a daemon restart.
#[test]
fn post_mortem_after_a_daemon_restart() {
    let mut home = home();
    home.configure(&claude(&home, "job", "own call", HARVEST));
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let before = listed(&home, "job", 1);
    assert_eq!(before[0]["evidence"], "inferred");
    home.stop_daemon();
    home.start_daemon();
    assert_eq!(listed(&home, "job", 1), before);
    home.stop_daemon();
    assert_eq!(listed(&home, "job", 1), before, "without a daemon, too");
}

/// Scenario: A run the daemon died with does not stay open, and the reply says so.
#[test]
fn a_run_the_daemon_died_with_does_not_stay_open() {
    let mut home = home();
    home.configure(&claude(&home, "job", "own call until=end", HARVEST));
    home.start_daemon();
    home.ok(&["start", "job"]);
    let first = listed(&home, "job", 1).remove(0);
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    home.start_daemon();
    let status = home.ok(&["status", "--json"]).json();
    let started: DateTime<Utc> = text_of(&status["started_at"]).parse().unwrap();
    // Somebody works there by hand, more than the slack after the daemon's start.
    home.write("end", "");
    let later = (started + TimeDelta::milliseconds(2_500)).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let mut by_hand = Command::new(home.path("bin/claude"));
    by_hand.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home.path(""));
    by_hand.env("STEPS", format!("own at={later} call")).current_dir(home.path("work"));
    assert!(by_hand.status().unwrap().success());
    until("it is more than the slack before the next run", || {
        (Utc::now() > started + TimeDelta::milliseconds(5_000)).then_some(())
    });
    home.ok(&["start", "job", "--wait"]);
    let all = listed(&home, "job", 2);
    assert_eq!(all[1], {
        let mut ended = first.clone();
        ended["ended_at"] = all[1]["ended_at"].clone();
        ended
    });
    assert_ne!(all[0]["run"], first["run"]);
    let reply = home.ok(&["trajectories", "--run", text_of(&first["run"]), "--json"]).json();
    let warnings = reply["warnings"].as_array().unwrap();
    let said = format!("run {}: its end is not recorded", text_of(&first["run"]));
    assert!(warnings.iter().any(|warning| text_of(warning).starts_with(&said)), "{reply}");
    assert_eq!(home.ok(&["usage", "--json"]).json()["total"]["calls"], 2, "the one by hand is nobody's");
}

/// Scenario: Opt-out is the default.
#[test]
fn opt_out_is_the_default() {
    let mut home = home();
    home.configure(&claude(&home, "job", "call", ""));
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    calls_of(&home, &home.runs("job")[0], 1);
    let listed = home.ok(&["trajectories", "--json"]).json();
    assert_eq!((&listed["trajectories"], &listed["excluded"]), (&json!([]), &json!([])));
    let project = fs::read_dir(home.path(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(project).unwrap().next().unwrap().unwrap().path();
    let native = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let refused = home.harnessd(&["trajectory", &native, "--json"]);
    assert_eq!((code(&refused).as_str(), refused.code, refused.out.as_str()), ("not_harvested", 1, ""));
    let run = home.runs("job")[0]["id"].as_str().unwrap().to_owned();
    for args in [
        &["trajectories"][..],
        &["usage"],
        &["show", &run],
        &["runs"],
        &["describe", "job"],
        &["list"],
        &["status"],
    ] {
        for json in [&[][..], &["--json"]] {
            let said = home.harnessd(&[args, json].concat());
            assert_eq!(said.code, 0, "{said:?}");
            assert!(!said.out.contains(&native) && !said.out.contains("secret-1"), "{args:?}: {said:?}");
        }
    }
    assert!(!home.daemon_log().contains(&native));
}

/// Scenario: Opt-in exposes the trajectory: by a reload, while the harness runs on.
#[test]
fn opt_in_exposes_the_trajectory() {
    let mut home = home();
    home.configure(&claude(&home, "job", "call until=end", ""));
    home.start_daemon();
    home.ok(&["start", "job"]);
    home.wait_state("job", "running");
    let pid = home.pid("job");
    calls_of(&home, &home.runs("job")[0], 1);
    home.configure(&claude(&home, "job", "call until=end", HARVEST));
    home.ok(&["reload"]);
    let found = home.ok(&["trajectories", "--json"]).json()["trajectories"].as_array().unwrap().clone();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(home.pid("job"), pid);
    assert!(home.ok(&["trajectory", text_of(&found[0]["id"])]).out.contains("secret-1"));
    home.write("end", "");
    home.ended_run("job");
}

/// COR-8: an id in the run's machine-readable output is evidence, though another harness was there as well.
#[test]
fn a_session_is_known_by_the_output_that_names_it() {
    let mut home = home();
    let one = claude(&home, "one", "own say call until=end", HARVEST);
    let other = claude(&home, "other", "own call until=end", HARVEST);
    home.configure(&format!("{one}{other}"));
    home.start_daemon();
    home.ok(&["start", "one", "other"]);
    let found = listed(&home, "one", 1).remove(0);
    assert_eq!(found["evidence"], "exact: output");
    let reply = until("the other session is excluded", || {
        let reply = home.ok(&["trajectories", "other", "--json"]).json();
        (reply["excluded"] != json!([])).then_some(reply)
    });
    assert_eq!(reply["trajectories"], json!([]), "{reply}");
    home.write("end", "");
    home.ended_run("one");
    home.ended_run("other");
}

/// A sub-agent's session is listed with its parent, belongs to the parent's run, and is counted there.
#[test]
fn the_session_of_a_sub_agent_belongs_to_its_parents_run() {
    let mut home = home();
    home.configure(&claude(&home, "job", "call sub call", HARVEST));
    home.start_daemon();
    home.ok(&["start", "job", "--wait"]);
    let run = home.runs("job")[0].clone();
    let shown = calls_of(&home, &run, 3);
    assert_eq!((&shown["usage"]["input"], &shown["usage"]["output"]), (&json!(300), &json!(30)));
    let found = listed(&home, "job", 2);
    let child = found.iter().find(|one| one.get("parent").is_some()).unwrap();
    let parent = found.iter().find(|one| one.get("parent").is_none()).unwrap();
    assert_eq!((&child["parent"]["id"], &child["parent"]["kinship"]), (&parent["id"], &json!("sub-agent")));
    assert_eq!((&child["run"], &child["evidence"]), (&run["id"], &json!("exact: launch-id")));
    assert!(home.ok(&["trajectories"]).out.contains("claude-code (sub-agent)"));
    let told = home.ok(&["trajectory", text_of(&child["id"]), "--json"]).json();
    assert_eq!(told["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "usage").count(), 1);
}

/// TRJ-8: what is begun by `/clear` is a session of the same run, since the agent's index of processes says so.
#[test]
fn the_session_after_a_reset_belongs_to_the_same_run() {
    let mut home = home();
    // A second harness is there and the agent makes its ids up, so that nothing but the index can tell: who lists
    // the first session knows which process was at it.
    let other = claude(&home, "other", "until=end", HARVEST);
    home.configure(&format!(
        "{}{other}",
        claude(&home, "job", "own note call until=cleared clear note call until=end", HARVEST)
    ));
    home.start_daemon();
    home.ok(&["start", "job", "other"]);
    let first = listed(&home, "job", 1).remove(0);
    assert_eq!(first["evidence"], "exact: pid");
    home.write("cleared", "");
    let both = listed(&home, "job", 2);
    let next = both.iter().find(|one| one["id"] != first["id"]).unwrap();
    assert_eq!((&next["run"], &next["evidence"]), (&first["run"], &json!("exact: pid")));
    assert_eq!(next["parent"]["id"], first["id"], "{next}");
    assert_eq!(next["parent"]["kinship"], "reset");
    home.write("end", "");
    home.ended_run("job");
    home.ended_run("other");
    calls_of(&home, &home.runs("job")[0], 2);
}
