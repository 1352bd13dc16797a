//! What is kept of a run, and how it is found again (RUN-1, RUN-2).

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, path_with, skill, stand_in_dir, until};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn is_hash(value: &Value) -> bool {
    text(value).len() == 64 && text(value).bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// RUN-1: `show --json` has every field of a run: here one of an agent, by its schedule, with a skill.
#[test]
fn every_field_of_a_run_is_shown() {
    let mut home = Home::new(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"the instruction\"\nschedule = \"@every 1s\"\nworkdir = \"~/app\"\n\
         skill_paths = [\"~/team\"]\nenv = { STAND_IN = \"process exit=3\" }\n",
    );
    home.set("PATH", &path_with(&stand_in_dir()));
    fs::create_dir(home.path("app")).unwrap();
    skill(&home, "team", "one", "team");
    home.start_daemon();
    let id = until("a scheduled run has failed", || {
        let found = home
            .runs("a")
            .into_iter()
            .find(|run| run["outcome"] == "failed" && run.get("agent_version").is_some())?;
        Some(text(&found["id"]).to_owned())
    });
    let run = home.ok(&["show", &id, "--json"]).json();
    let state = home.text(".local/state/harnessd");
    let target = format!("{state}/skills/a");
    let settings = json!({"permissions": {"additionalDirectories": [target]}}).to_string();
    let whole = json!({
        "id": id, "harness": "a", "trigger": "schedule", "attempt": 1,
        "planned_at": run["planned_at"], "started_at": run["started_at"], "ended_at": run["ended_at"],
        "outcome": "failed", "cause": "exit status 3", "exit_code": 3, "pid": run["pid"],
        "process_start": run["process_start"],
        "adapter": "claude-code", "agent_version": "0.0.0 (stand-in)",
        "command": [
            "claude", "-p", "--session-id", "<session>", "--output-format", "stream-json", "--verbose",
            "--plugin-dir", target, "--settings", settings, "--", "<prompt>",
        ],
        "workdir": home.text("app"), "definition_hash": run["definition_hash"],
        "log": format!("{state}/logs/a/{id}.log"), "report": "claude-code",
        "skills": [{"name": "one", "source": home.text("team/one"), "hash": run["skills"][0]["hash"]}],
    });
    assert_eq!(run, whole);
    // What differs from run to run is checked by what it means.
    let times = [&run["planned_at"], &run["started_at"], &run["ended_at"]].map(text);
    assert!(times.is_sorted() && times.iter().all(|time| time.ends_with('Z')), "{times:?}");
    assert!(is_hash(&run["definition_hash"]) && is_hash(&run["skills"][0]["hash"]), "{run}");
    assert!(run["process_start"].as_u64().unwrap() > 0, "{run}");
    let log = fs::read_to_string(text(&run["log"])).unwrap();
    assert!(log.contains(&format!("process {0} {0} {0}", run["pid"])), "{log}");
    // People are shown the same.
    let shown = home.ok(&["show", &id]).out;
    for words in ["exit status 3", "schedule", "claude-code", "<prompt>", &home.text("team/one"), &id] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

/// RUN-0, RUN-1, SCH-11: people are shown what an agent states of its end, what was missed, and the receipts.
#[test]
fn people_are_shown_the_whole_record() {
    let home = Home::new("[harness.a]\noneshot = true\ncmd = \"true\"\n");
    home.ok(&["once", "a"]);
    let raw = rusqlite::Connection::open(home.path(".local/state/harnessd/state.db")).unwrap();
    let at = "1796040000000000";
    let values = [
        (
            "1",
            "outcome, cause, started_at, ended_at, limit_until, lingered, agent_version, git_before, git_after, report, \
               dropped_bytes",
            format!(
                "'rate-limited', 'usage limit', {at}, {at}, {at} + 3600000000, 1, '2.1 (Agent)', 'c0ffee', \
               'facade', 'claude-code', 17"
            ),
        ),
        (
            "2",
            "outcome, cause, planned_at, missed_first, missed_last, missed_count",
            format!("'missed', 'the daemon was down', {at}, {at} - 720000000, {at}, 12"),
        ),
        ("3", "planned_at", at.to_owned()),
    ];
    for (n, columns, values) in values {
        raw.execute_batch(&format!(
            "INSERT INTO runs (id, harness, trigger, attempt, adapter, command, definition_hash, {columns})
             VALUES ('0192a000-0000-7000-8000-00000000000{n}', 'a', 'schedule', 1, 'claude-code', '[]', '0', {values})"
        ))
        .unwrap();
    }
    let lines = |args: &[&str]| -> Vec<String> {
        let said = home.command(args).env("TZ", "UTC").output().unwrap();
        String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    let limited = lines(&["show", "00000001"]);
    for line in [
        "outcome:     rate-limited",
        "cause:       usage limit",
        "limit until: 2026-11-30 13:00:00",
        "lingered:    it was ended after it had stated its result",
        "version:     2.1 (Agent)",
        "git:         c0ffee → facade",
        "report:      claude-code",
        "dropped:     17 bytes of output are not in its log",
    ] {
        assert!(limited.iter().any(|one| one == line), "{line}: {limited:#?}");
    }
    let missed = lines(&["show", "00000002"]);
    let line = "missed:      12 slots from 2026-11-30 11:48:00 to 2026-11-30 12:00:00";
    assert!(missed.iter().any(|one| one == line), "{missed:#?}");
    let table = lines(&["runs", "a"]).join("\n");
    let cause = "missed        -       -     12 slots from 2026-11-30 11:48:00 to 2026-11-30 12:00:00: the daemon was down";
    assert!(table.contains(cause) && table.contains("queued"), "{table}");
    let failed = home.ok(&["runs", "--failed", "--json"]).json();
    assert_eq!(failed["runs"].as_array().unwrap().len(), 2, "{failed}");
}

/// RUN-1: a retry is a run of its own, with its attempt and its trigger; a signal is named.
#[test]
fn a_retry_says_which_attempt_it_is() {
    let mut home = Home::new(
        "[daemon]\nmax_attempts = 2\n[harness.b]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"kill -9 $$\"]\n\
         restart = \"on-failure\"\nrestart_delay = \"0s\"\n",
    );
    home.start_daemon();
    home.ok(&["start", "b"]);
    home.wait_state("b", "failed");
    let runs = home.runs("b");
    let words: Vec<Value> = runs
        .iter()
        .map(|run| json!([run["trigger"], run["attempt"], run["signal"], run.get("exit_code")]))
        .collect();
    assert_eq!(words, [json!(["restart", 2, "SIGKILL", null]), json!(["manual", 1, "SIGKILL", null])]);
    assert!(runs[0]["id"].as_str() > runs[1]["id"].as_str(), "ids sort by time");
}

/// RUN-1: the hash of its definition tells runs of one definition from those of another; another spelling
/// of it is no other definition.
#[test]
fn the_hash_of_a_definition_follows_the_definition() {
    let config = "[harness.a]\noneshot = true\ncmd = \"true\"\n";
    let home = Home::new(config);
    for more in ["", "# the same\nenabled = false\n", "args = [\"x\"]\n"] {
        home.configure(&format!("{config}{more}"));
        home.ok(&["once", "a"]);
    }
    let hashes: Vec<Value> = home.runs("a").iter().map(|run| run["definition_hash"].clone()).collect();
    assert!(hashes[1] == hashes[2] && hashes[0] != hashes[1], "{hashes:?}");
}

/// RUN-2: `runs` by harness, by number, by `--failed` and by `--since`, newest first; `logs --since` prints
/// whole logs of the same runs.
#[test]
fn runs_and_logs_are_found_by_failure_and_time() {
    let home = Home::new(
        "[harness.bad]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n\
         [harness.good]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo $HARNESSD_RUN_ID\"]\n",
    );
    for (name, code) in [("good", 0), ("bad", 3), ("good", 0)] {
        assert_eq!(home.harnessd(&["once", name]).code, code);
    }
    let found = |args: &[&str]| -> Vec<String> {
        let runs = home.ok(&[&["runs", "--json"], args].concat()).json();
        runs["runs"].as_array().unwrap().iter().map(|run| text(&run["id"]).to_owned()).collect()
    };
    let all = found(&[]);
    let [last, bad, first] = &all[..] else { panic!("{all:?}") };
    assert!(last > bad && bad > first, "newest first");
    assert_eq!(found(&["good"]), [last.clone(), first.clone()]);
    assert_eq!(found(&["-n", "1"]), std::slice::from_ref(last));
    assert_eq!(found(&["--failed"]), std::slice::from_ref(bad));
    let since = home.ok(&["show", bad, "--json"]).json()["started_at"].as_str().unwrap().to_owned();
    assert_eq!(found(&["--since", &since]), [last.clone(), bad.clone()]);
    assert_eq!(found(&["--since", &since, "--failed"]), std::slice::from_ref(bad));
    assert_eq!(found(&["--since", "1h"]), all);
    assert_eq!(home.ok(&["runs", "--since", "2100-01-01T00:00:00Z"]).out, "no runs\n");
    assert_eq!(home.ok(&["logs", "good", "--since", &since]).out, format!("{last}\n"));
    assert_eq!(home.ok(&["logs", "good", "--since", "1h"]).out, format!("{first}\n{last}\n"));
    assert_eq!(home.ok(&["logs", first]).out, format!("{first}\n"));
}

/// CTL-5: `list` shows what comes next: a firing takes the place of a retry that would come after it.
#[test]
fn a_firing_before_a_retry_is_what_comes_next() {
    let mut home = Home::new(
        "[daemon]\nbackoff_max = \"48h\"\n[harness.job]\ncmd = \"false\"\noneshot = true\nrestart = \"on-failure\"\n\
         restart_delay = \"48h\"\nschedule = \"@every 20h\"\n",
    );
    home.set("TZ", "UTC");
    home.start_daemon();
    assert_eq!(home.harnessd(&["start", "job", "--wait"]).code, 1);
    let job = home.harness("job");
    let (firing, retry) = (job["next_firing"].as_str().unwrap(), job["waiting"]["until"].as_str().unwrap());
    assert!(firing < retry, "{job}");
    let shown = firing[..19].replace('T', " ");
    let list = home.ok(&["list"]).out;
    assert!(list.contains(&shown), "{shown}: {list}");
}
