//! RUN-5: a command hears of ended runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Home, sleeper, until};

/// A home in which runs of `a` are told to `notify` (a TOML list); `a` itself runs `script`.
fn told(notify: &str, script: &str) -> Home {
    Home::new(&format!(
        "[notify]\ncommand = {notify}\non = [\"ok\", \"failed\"]\ntimeout = \"20s\"\n\
         [harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", '{script}']\nenv = {{ SECRET = \"x\" }}\n"
    ))
}

/// RUN-5: it gets what `show --json` shows, in the daemon's environment and the home directory.
#[test]
fn a_notice_gets_the_run_as_json() {
    let command = "[\"sh\", \"-c\", 'cat > told.new; pwd > where; env > env; mv told.new told']";
    let mut home = told(command, "exit 3");
    home.set("NOTIFY_SOCKET", "");
    home.set("HARNESSD_STATE_DIR", &home.text("state"));
    home.start_daemon();
    home.harnessd(&["start", "a", "--wait"]);
    until("it is told", || home.path("told").exists().then_some(()));
    let run = home.ended_run("a");
    let id = run["id"].as_str().unwrap();
    let told: Value = serde_json::from_str(&home.read("told")).unwrap();
    assert_eq!(told, home.ok(&["show", id, "--json"]).json());
    assert_eq!(told["outcome"], "failed");
    assert_eq!(
        home.read("where").trim(),
        home.path("").canonicalize().unwrap().to_str().unwrap().trim_end_matches('/')
    );
    let env = home.read("env");
    let names: Vec<&str> =
        env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"HOME") && names.contains(&"PATH"), "{env}");
    let private: Vec<&&str> =
        names.iter().filter(|name| name.starts_with("HARNESSD_") || **name == "NOTIFY_SOCKET").collect();
    assert_eq!(private, [&"HARNESSD_ERRAND"]);
    assert!(!names.contains(&"SECRET"), "that is the agent's alone");
    home.stop_daemon();
    // A foreground run tells too, and is over when it has told.
    fs::remove_file(home.path("told")).unwrap();
    assert_eq!(home.harnessd(&["once", "a"]).code, 3);
    assert!(home.path("told").exists());
}

/// RUN-5: an outcome that nobody asked to hear of is not told.
#[test]
fn only_chosen_outcomes_are_told() {
    let home = told("[\"touch\", \"told\"]", "kill -9 $$");
    home.configure(
        &home.read(".config/harnessd/harness.toml").replace("\"ok\", \"failed\"", "\"ok\", \"timeout\""),
    );
    assert_eq!(home.harnessd(&["once", "a"]).code, 1);
    assert!(!home.path("told").exists());
}

/// RUN-5: one that fails, cannot be started or hangs is said in the daemon's log, once, and changes nothing
/// else.
#[test]
fn a_notice_that_fails_is_said_and_not_tried_again() {
    let cases = [
        (
            "[\"sh\", \"-c\", 'echo begun; echo went wrong >&2; echo; exit 7']",
            "cause=\"exit status 7\" said=\"went wrong\"",
        ),
        ("[\"sh\", \"-c\", 'kill -9 $$']", "cause=\"killed by SIGKILL\""),
        (
            "[\"sh\", \"-c\", 'echo waits; trap \"\" TERM; sleep 6201']",
            "cause=\"stopped after 500ms\" said=\"waits\"",
        ),
    ];
    for (command, expected) in cases {
        let mut home = told(command, "echo >> ran");
        home.configure(&home.read(".config/harnessd/harness.toml").replace("20s", "500ms"));
        home.start_daemon();
        home.ok(&["start", "a", "--wait"]);
        until("it is said", || home.daemon_log().contains(expected).then_some(()));
        assert_eq!(home.daemon_log().matches("the notice of its end has failed").count(), 1);
        assert_eq!((home.runs("a").len(), home.read("ran").as_str()), (1, "\n"));
        home.stop_daemon();
        assert_eq!(sleeper("6201"), None);
    }
}

/// RUN-5: a program that is gone by then.
#[test]
fn a_notice_whose_program_is_gone_is_said() {
    let mut home = told("[\"~/tell\"]", "rm -f tell");
    home.write("tell", "#!/bin/sh\n");
    fs::set_permissions(home.path("tell"), fs::Permissions::from_mode(0o755)).unwrap();
    let once = home.harnessd(&["once", "a"]);
    assert_eq!(once.code, 0, "{once:?}");
    let missing = format!("`{}` does not exist", home.text("tell"));
    assert_eq!(once.out, format!("[harnessd: the notice of its end cannot be given: {missing}]\n"));
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    until("it is said", || {
        let log = home.daemon_log();
        (log.contains("the notice of its end cannot be given") && log.contains(&missing)).then_some(())
    });
}

/// RUN-5: what a notice leaves behind ends with it, also in a session of its own.
#[test]
fn what_a_notice_leaves_behind_is_ended() {
    let home = told("[\"sh\", \"-c\", 'setsid sleep 6202 & exit 0']", "true");
    home.ok(&["once", "a"]);
    assert_eq!(sleeper("6202"), None);
}

/// RUN-5: a hundred runs that end at once are all told, a few at a time, while the daemon goes on answering;
/// none of the notices is taken for a run, and nothing is left of any.
#[test]
fn many_runs_that_end_at_once_are_all_told() {
    const RUNS: usize = 100;
    let mut config = "[notify]\ncommand = [\"sh\", \"-c\", 'cat >> told']\non = [\"failed\"]\n".to_owned();
    for at in 0..RUNS {
        config += &format!(
            "[harness.h{at}]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"exit {}\"]\n",
            at % 7 + 1
        );
    }
    let mut home = Home::new(&config);
    home.start_daemon();
    let names: Vec<String> = (0..RUNS).map(|at| format!("h{at}")).collect();
    home.ok(&[&["start"], &*names.iter().map(String::as_str).collect::<Vec<_>>()].concat());
    let told = until("all are told", || {
        let told = home.read("told");
        (told.lines().count() == RUNS).then_some(told)
    });
    for line in told.lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        let at: usize = run["harness"].as_str().unwrap()[1..].parse().unwrap();
        assert_eq!(run["exit_code"], at % 7 + 1, "no run has got the exit of another or of a notice");
    }
    let all = home.ok(&["runs", "--json", "-n", "1000"]).json();
    assert_eq!(all["runs"].as_array().unwrap().len(), RUNS);
    let daemon = home.daemon_pid();
    until("nothing is left of them", || children_of(daemon).is_empty().then_some(()));
    home.stop_daemon();
}

/// RUN-5: the notices of the last runs get a short time when the daemon ends; one that hangs is killed.
#[test]
fn the_daemon_does_not_wait_for_a_notice_that_hangs() {
    let mut home = told("[\"sh\", \"-c\", 'touch begun; exec sleep 6203']", "true");
    home.configure(&home.read(".config/harnessd/harness.toml").replace("20s", "1h"));
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    until("it is told", || sleeper("6203"));
    // The second signal gives up even that time.
    home.signal_daemon(nix::libc::SIGTERM);
    home.stop_daemon();
    assert_eq!(sleeper("6203"), None);
    let log = home.daemon_log();
    assert!(log.contains("killed, since harnessd ends"), "{log}");
}

/// LIF-9: what a killed daemon leaves of its notices is ended by the next one, before anything is started.
#[test]
fn notices_of_a_killed_daemon_are_ended_by_the_next() {
    let mut home = told("[\"sh\", \"-c\", 'setsid sleep 6204 & exec sleep 6205']", "true");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    until("it is told", || sleeper("6204").and(sleeper("6205")));
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    assert!(sleeper("6204").and(sleeper("6205")).is_some(), "they outlive their daemon");
    home.start_daemon();
    assert_eq!((sleeper("6204"), sleeper("6205")), (None, None));
}

/// LIF-9: what a killed `once` leaves of its notices is ended by whoever uses the state directory next; those
/// of one that lives are left alone.
#[test]
fn notices_of_a_killed_once_are_ended_by_the_next() {
    let mut home = told("[\"sh\", \"-c\", 'setsid sleep 6206 & exec sleep 6207']", "true");
    let mut once = home.command(&["once", "a"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("it is told", || sleeper("6206").and(sleeper("6207")));
    home.start_daemon();
    assert!(sleeper("6206").and(sleeper("6207")).is_some(), "they are the other's, who lives");
    home.stop_daemon();
    once.kill().unwrap();
    once.wait().unwrap();
    assert!(sleeper("6206").and(sleeper("6207")).is_some(), "they outlive their owner");
    home.start_daemon();
    assert_eq!((sleeper("6206"), sleeper("6207")), (None, None));
}

/// The children of a process, zombies among them.
fn children_of(pid: i32) -> String {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.unwrap_or_default().trim().to_owned()
}
