//! What a start would do, told before it does it; and skills, projected and checked by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Home, path_with, skill, stand_in_dir};

fn home(config: &str) -> Home {
    let mut home = Home::new(config);
    home.set("PATH", &path_with(&stand_in_dir()));
    home
}

/// Every path below a directory with what a file holds.
fn snapshot(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), None));
            found.extend(snapshot(&path));
        } else {
            found.push((path.clone(), fs::read(&path).ok()));
        }
    }
    found.sort();
    found
}

/// The lines of a log that begin with a word, without it.
fn lines<'a>(log: &'a str, word: &str) -> Vec<&'a str> {
    log.lines().filter_map(|line| line.strip_prefix(word)).collect()
}

/// The variables that a process has got; the shell that tells them adds its own directory.
fn names(log: &str) -> Vec<&str> {
    lines(log, "name ").into_iter().filter(|name| *name != "PWD").collect()
}

const REVIEW: &str = "[harness.review]\nagent = \"claude-code\"\nskill_paths = [\"~/team\"]\nworkdir = \"~/app\"\n\
                      prompt = \"stand-in:argv stand-in:names stand-in:cwd\"\nenv = { TOKEN = \"sk-very-secret\" }\n";

/// RUN-6: what a plan says is what the start then does; the plan itself does nothing, and shows neither the
/// prompt nor a secret nor an id.
#[test]
fn a_start_does_what_its_plan_says() {
    let mut home = home(REVIEW);
    skill(&home, "team", "alpha", "team");
    skill(&home, "app/.agents/skills", "alpha", "project");
    skill(&home, "team", "beta", "team");
    home.start_daemon();
    let before = (snapshot(&home.path("app")), snapshot(&home.path(".local/state/harnessd/skills")));
    let said = home.ok(&["plan", "review", "--json"]);
    let plan = said.json();
    assert_eq!(before, (snapshot(&home.path("app")), snapshot(&home.path(".local/state/harnessd/skills"))));
    assert!(!said.out.contains("stand-in:") && !said.out.contains("sk-very-secret"), "{}", said.out);
    assert_eq!((&plan["made_by"], &plan["firings"]), (&json!("daemon"), &json!([])));
    assert_eq!(plan["skills"]["write"], json!(["alpha", "beta"]));
    let shadowed = json!([{"name": "alpha", "source": home.text("app/.agents/skills/alpha"),
        "copies": [{"source": home.text("team/alpha"), "rank": "global"}]}]);
    assert_eq!(plan["skills"]["shadowed"], shadowed);

    home.ok(&["start", "review", "--wait"]);
    let run = home.ended_run("review");
    assert_eq!((&run["command"], &run["workdir"]), (&plan["command"], &plan["workdir"]));
    let log = plan["log"].as_str().unwrap().replace("<run>", run["id"].as_str().unwrap());
    assert_eq!(run["log"], log.as_str());
    let projected: Vec<&Value> =
        run["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
    assert_eq!(json!(projected), plan["skills"]["write"]);
    for document in plan["documents"].as_array().unwrap() {
        assert!(Path::new(document.as_str().unwrap()).is_file(), "{document}");
    }
    // The same by what the process saw.
    let log = home.log("review");
    assert_eq!(json!(names(&log)), plan["env"], "{log}");
    assert_eq!(lines(&log, "cwd "), [format!("\"{}\"", home.text("app"))]);
    let argv = lines(&log, "argv ");
    let words: Vec<String> =
        argv[1..].iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    let planned = plan["command"].as_array().unwrap();
    assert_eq!(words.len(), planned.len() - 1, "{log}");
    for (word, planned) in words.iter().zip(&planned[1..]) {
        let word: Value = serde_json::from_str(word).unwrap();
        match planned.as_str().unwrap() {
            "<prompt>" => assert_eq!(word, "stand-in:argv stand-in:names stand-in:cwd"),
            "<session>" => assert_eq!(word.as_str().unwrap().len(), 36),
            text => assert_eq!(word, text),
        }
    }

    let again = home.ok(&["plan", "review", "--json"]).json();
    assert_eq!(again["skills"]["keep"], json!(["alpha", "beta"]));
    assert_eq!(again["skills"]["write"], json!([]));
    assert_eq!(again["command"], plan["command"]);
}

/// RUN-6: without a daemon it is the caller's environment that counts, as for `once`, and it is said so.
#[test]
fn without_a_daemon_a_plan_is_that_of_once() {
    let mut home = home(REVIEW);
    home.set("ONLY_HERE", "1");
    fs::create_dir(home.path("app")).unwrap();
    let plan = home.ok(&["plan", "review", "--json"]).json();
    assert_eq!(plan["made_by"], "caller");
    assert!(!home.path(".local/state/harnessd").exists(), "nothing is made");
    home.ok(&["once", "review"]);
    let run = home.ended_run("review");
    assert_eq!(run["command"], plan["command"]);
    let log = home.log("review");
    assert_eq!(json!(names(&log)), plan["env"]);
    assert!(names(&log).contains(&"ONLY_HERE"));
    let shown = home.ok(&["plan", "review"]).out;
    assert!(
        shown.starts_with("review (claude-code), planned in this environment: no daemon runs it\n"),
        "{shown}"
    );
}

/// RUN-6: a start that would fail is told in the words of its failure, with status 1, the next firings all
/// the same; an unknown name is an error.
#[test]
fn a_start_that_would_fail_is_foretold() {
    let mut home = home(
        "[harness.late]\nagent = \"claude-code\"\nprompt_file = \"~/prompt.md\"\nschedule = \"0 3 * * *\"\n\
         timezone = \"Europe/Berlin\"\n",
    );
    home.write("prompt.md", "stand-in:say=hi\n");
    home.start_daemon();
    let unknown = home.harnessd(&["plan", "lat"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (1, "error: no harness is named `lat`\n  help: did you mean `late`?\n")
    );
    fs::remove_file(home.path("prompt.md")).unwrap();
    let said = home.harnessd(&["plan", "late", "--json"]);
    let plan: Value = serde_json::from_str(&said.out).unwrap();
    let started = home.harnessd(&["start", "late", "--wait"]);
    assert_eq!((said.code, started.code), (1, 1));
    let message = plan["failure"]["message"].as_str().unwrap();
    assert_eq!(message, format!("prompt file `{}`: the file does not exist", home.text("prompt.md")));
    assert_eq!(plan["failure"]["code"], "prompt_unreadable");
    assert!(started.err.contains(message), "{}", started.err);
    assert_eq!(plan["firings"].as_array().unwrap().len(), 5);
    let shown = home.harnessd(&["plan", "late"]);
    assert!(shown.out.contains(&format!("  its start would fail: {message}\nnext firings:\n")), "{shown:?}");
}

/// RUN-6, SCH-6: the next five firings in the zone of the schedule and in UTC, with the delay of `jitter`;
/// the daemon takes the first of them when `list` says, and without one they are the same.
#[test]
fn the_next_firings_are_those_of_the_schedule() {
    let config = "[harness.sweep]\nagent = \"claude-code\"\nprompt = \"x\"\nschedule = \"0 3 * * *\"\n\
                  timezone = \"America/New_York\"\n\
                  [harness.delayed]\nagent = \"claude-code\"\nprompt = \"x\"\nschedule = \"0 4 * * *\"\njitter = \"1h\"\n";
    let mut home = home(config);
    let alone = home.ok(&["plan", "sweep", "--json"]).json()["firings"].clone();
    let next = home.ok(&["schedule", "next", "sweep", "--json"]).json()["firings"].clone();
    let local: Vec<Value> = alone.as_array().unwrap().iter().map(|firing| firing["local"].clone()).collect();
    assert_eq!(Value::from(local), next);
    home.start_daemon();
    let plans = home.ok(&["plan", "--json"]).json()["plans"].clone();
    let of =
        |name: &str| plans.as_array().unwrap().iter().find(|plan| plan["harness"] == name).unwrap().clone();
    assert_eq!((&of("sweep")["firings"], &of("sweep")["made_by"]), (&alone, &json!("daemon")));
    assert_eq!(home.harness("sweep")["next_firing"], alone[0]["utc"]);
    let delayed = of("delayed")["firings"].clone();
    assert_eq!(home.harness("delayed")["next_firing"], delayed[0]["delayed_until"]);
    let stamps = |key: &str| {
        delayed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one[key].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (at, due) in stamps("utc").iter().zip(stamps("delayed_until")) {
        assert!(*at < due && due[..13] == at[..13], "{at} {due}");
    }
}

/// SKL-13: `skills sync` projects now, `--dry-run` says the same and does nothing; with and without a daemon.
#[test]
fn skills_are_projected_by_hand() {
    let mut home = home(
        "[harness.a]\nagent = \"codex\"\nworkdir = \"~/app\"\nskill_paths = [\"~/team\"]\n[harness.plain]\ncmd = \"true\"\n\
         [harness.sync]\ncmd = \"true\"\n",
    );
    skill(&home, "team", "ours", "team");
    skill(&home, "team", "taken", "team");
    skill(&home, "app/.codex/skills", "taken", "user");
    let before = snapshot(&home.path(""));
    let dry = home.ok(&["skills", "sync", "a", "--dry-run", "--json"]).json();
    assert_eq!(snapshot(&home.path("")), before);
    assert_eq!(
        dry["skills"],
        json!({"target": home.text("app/.codex/skills"), "private": false, "write": ["ours"], "keep": [],
            "remove": [], "occupied": ["taken"], "left_out": [], "shadowed": []})
    );
    assert_eq!((&dry["harness"], &dry["dry_run"]), (&json!("a"), &json!(true)));
    let warning = dry["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("skill `taken`: its name is taken in "), "{warning}");
    let done = home.ok(&["skills", "sync", "a", "--json"]).json();
    assert_eq!((&done["skills"], &done["dry_run"]), (&dry["skills"], &json!(false)));
    assert!(home.read("app/.codex/skills/ours/SKILL.md").contains("from team"));
    assert!(home.read("app/.codex/skills/taken/SKILL.md").contains("from user"));

    home.start_daemon();
    skill(&home, "team", "ours", "team, improved");
    fs::remove_dir_all(home.path("team/taken")).unwrap();
    let shown = home.ok(&["skills", "sync", "a"]).out;
    let target = home.text("app/.codex/skills");
    assert_eq!(shown, format!("a (codex)\n  skills go to {target} (shared)\n    written: ours\n"));
    assert!(home.read("app/.codex/skills/ours/SKILL.md").contains("improved"));
    assert_eq!(
        home.ok(&["skills", "sync", "plain"]).out,
        "plain (generic)\n  skills: this agent takes none\n"
    );
    // A harness of that name is asked for so.
    assert_eq!(home.ok(&["skills", "--", "sync"]).out, "sync (generic)\nskills: this agent takes none\n");
    assert_eq!(home.harnessd(&["skills", "sync", "b"]).code, 1);
    fs::remove_dir_all(home.path("app")).unwrap();
    let gone = home.harnessd(&["skills", "sync", "a"]);
    assert_eq!(
        (gone.code, gone.err),
        (
            1,
            format!(
                "error: workdir `{}` does not exist\n\
             \x20 help: `harnessd plan` shows what a start executes, `harnessd doctor` whether it is there\n",
                home.text("app")
            )
        )
    );
    fs::create_dir(home.path("app")).unwrap();
    home.ok(&["skills", "sync", "a"]);
    let view = home.ok(&["skills", "a", "--json"]).json();
    assert_eq!(view["skills"][0]["state"], "projected");
}

/// SKL-13, SKL-11: a target that cannot be written is told by the dry run and the plan as by the start.
#[test]
fn a_target_that_cannot_be_written_is_foretold() {
    let mut home = home(
        "[harness.a]\nagent = \"codex\"\nprompt = \"x\"\nworkdir = \"~/app\"\nskill_paths = [\"~/team\"]\n",
    );
    skill(&home, "team", "ours", "team");
    fs::create_dir_all(home.path("bin")).unwrap();
    symlink(stand_in_dir().join("claude"), home.path("bin/codex")).unwrap();
    home.set("PATH", &path_with(&home.path("bin")));
    home.write("app/.codex", "a file\n");
    let message =
        format!("adapter codex: project skills: write {}: not a directory", home.text("app/.codex/skills"));
    for command in [&["skills", "sync", "a", "--dry-run"][..], &["skills", "sync", "a"]] {
        let said = home.harnessd(command);
        assert_eq!(
            (said.code, said.err),
            (
                1,
                format!(
                    "error: {message}\n\
             \x20 help: make it writable for the user that harnessd runs as, and end who holds its lock\n"
                )
            ),
            "{command:?}"
        );
    }
    home.start_daemon();
    let plan: Value = serde_json::from_str(&home.harnessd(&["plan", "a", "--json"]).out).unwrap();
    assert_eq!(plan["failure"], json!({"code": "target_not_writable", "message": message}));
    assert_eq!(home.harnessd(&["start", "a", "--wait"]).code, 1);
    assert_eq!(home.ended_run("a")["cause"], message);
}

/// SKL-13: skills are checked without configuration and daemon: 0 where nothing is wrong, 1 with findings,
/// 2 where something cannot be read.
#[test]
fn skills_are_checked_by_the_public_rules() {
    let home = home("not even = TOML =");
    skill(&home, "team", "alpha", "team");
    home.write("team/notes/README.md", "no skill\n");
    home.write("bad/beta/SKILL.md", "---\nname: Beta\ndescription: x\nmodel: y\n---\n");
    home.write("bad/gamma/skill.md", "---\nname: gamma\ndescription: x\n---\n");
    for path in ["team", "team/alpha", "team/alpha/SKILL.md", "team/alpha/"] {
        assert_eq!(home.ok(&["skills", "check", path]).out, "1 skill, 0 errors, 0 warnings\n", "{path}");
    }
    let mut inside = home.command(&["skills", "check", "."]);
    assert!(inside.current_dir(home.path("team/alpha")).status().unwrap().success());
    let said = home.harnessd(&["skills", "check", "team", "bad", "--json"]);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let findings: Vec<(String, String, u64)> = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap().to_owned();
            (text("file"), text("code"), one["line"].as_u64().unwrap())
        })
        .collect();
    let finding = |file: &str, code: &str, line| (file.to_owned(), format!("harnessd::skill::{code}"), line);
    assert_eq!(
        findings,
        [
            finding("bad/beta/SKILL.md", "name", 2),
            finding("bad/beta/SKILL.md", "name_mismatch", 2),
            finding("bad/beta/SKILL.md", "unknown_key", 4),
            finding("bad/gamma/skill.md", "no_skill", 1),
        ]
    );
    assert_eq!((said.code, said.err.as_str()), (1, ""));
    assert_eq!(home.harnessd(&["skills", "check", "team/notes"]).code, 1);
    assert_eq!(home.harnessd(&["skills", "check", "nowhere"]).code, 2);
    let usage = home.harnessd(&["skills", "check"]);
    assert_eq!(usage.code, 2, "{usage:?}");
}
