//! RUN-7: a command that tells whether a run did what it should.

use crate::support::{Home, alive, mark, sleeper, until};

/// A one-shot `a` that runs `script` in `~/w` and is checked by `check`, a TOML list.
fn checked(script: &str, check: &str, more: &str) -> Home {
    let home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", '{script}']\nworkdir = \"~/w\"\n\
         check = {check}\nenv = {{ WORD = \"said\" }}\n{more}\n"
    ));
    home.write("w/present", "");
    home
}

/// RUN-7: it runs after an agent that ended `ok`, in its directory and environment, as a part of its run.
#[test]
fn a_check_runs_as_a_part_of_its_run() {
    let script = "echo works $HARNESSD_RUN_ID; printf unfinished; touch made";
    let check = "[\"sh\", \"-c\", 'test -f made && echo checks $HARNESSD_RUN_ID $HARNESSD_HARNESS $WORD; ps -o sid= $$ >&2']";
    let mut home = checked(script, check, "");
    let log = |home: &Home| {
        let run = home.ended_run("a");
        assert_eq!((&run["outcome"], run.get("cause"), &run["exit_code"]), (&"ok".into(), None, &0.into()));
        let id = run["id"].as_str().unwrap();
        let command =
            "sh -c test -f made && echo checks $HARNESSD_RUN_ID $HARNESSD_HARNESS $WORD; ps -o sid= $$ >&2";
        let log = home.log("a");
        let expected = format!("works {id}\nunfinished\n[harnessd: check: {command}]\nchecks {id} a said\n");
        let session = log.strip_prefix(&expected).unwrap_or_else(|| panic!("{log}"));
        assert_ne!(session.trim(), run["pid"].to_string(), "it is a process of its own");
        log
    };
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    log(&home);
    home.stop_daemon();
    // In the foreground it is shown too.
    let once = home.ok(&["once", "a"]);
    assert_eq!(
        once.out.replace("unfinished\n", "unfinished"),
        log(&home).replace("unfinished\n", "unfinished")
    );
}

/// RUN-7: one that fails, is killed or cannot be started makes the run `check-failed`.
#[test]
fn a_check_that_fails_fails_its_run() {
    let cases = [
        ("[\"sh\", \"-c\", 'exit 3']", "its `check` ended with exit status 3"),
        ("[\"sh\", \"-c\", 'kill -9 $$']", "its `check` was killed by SIGKILL"),
        ("[\"test\", \"-f\", \"absent\"]", "its `check` ended with exit status 1"),
    ];
    for (check, cause) in cases {
        let home = checked("echo done", check, "");
        assert_eq!(home.harnessd(&["once", "a"]).code, 1);
        let run = &home.runs("a")[0];
        assert_eq!((run["outcome"].as_str(), run["cause"].as_str()), (Some("check-failed"), Some(cause)));
        assert_eq!(run["exit_code"], 0, "the agent's own");
    }
    // A check that was there when the files were read, and is not any more.
    let mut home = checked("rm bin/test-it; echo done", "[\"bin/test-it\"]", "");
    home.write("w/bin/test-it", "#!/bin/sh\nexit 0\n");
    home.ok(&["validate"]);
    std::fs::set_permissions(home.path("w/bin/test-it"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    home.start_daemon();
    let said = home.harnessd(&["start", "a", "--wait"]);
    assert_eq!(said.code, 1);
    let missing = format!("`{}` does not exist", home.text("w/bin/test-it"));
    let run = home.ended_run("a");
    let cause = format!("its `check` could not be started: {missing}");
    assert_eq!((run["outcome"].as_str(), run["cause"].as_str()), (Some("check-failed"), Some(&*cause)));
    assert_eq!(
        home.log("a"),
        format!("done\n[harnessd: check: bin/test-it]\n[harnessd: check: {missing}]\n")
    );
    // The lock of its harness is free again.
    assert_eq!(home.harnessd(&["once", "a"]).code, 1);
    assert_eq!(home.runs("a").len(), 2);
}

/// RUN-7: an agent that did not end `ok` is not checked.
#[test]
fn a_failed_run_is_not_checked() {
    let home = checked("exit 4", "[\"touch\", \"checked\"]", "");
    assert_eq!(home.harnessd(&["once", "a"]).code, 4);
    assert_eq!(home.runs("a")[0]["outcome"], "failed");
    assert!(!home.path("w/checked").exists());
}

/// RUN-7, LIF-5: a check has its own time, and what it leaves behind ends with the run, in whatever session.
#[test]
fn a_slow_check_is_stopped_with_everything_it_started() {
    let mark = mark("slow_check");
    let check = "[\"sh\", \"-c\", 'setsid sleep 6101 & sleep 6102']";
    let more = format!("check_timeout = \"300ms\"\nstop_timeout = \"2s\"\n[harness.a.env]\n{mark} = \"1\"\n");
    let home = Home::new(&format!("[harness.a]\noneshot = true\ncmd = \"true\"\ncheck = {check}\n{more}"));
    assert_eq!(home.harnessd(&["once", "a"]).code, 1);
    let run = &home.runs("a")[0];
    let cause = "its `check` took longer than 300ms";
    assert_eq!((run["outcome"].as_str(), run["cause"].as_str()), (Some("check-failed"), Some(cause)));
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// LIF-6: a check that ends and leaves a process in a session of its own: that one is ended before the run.
#[test]
fn what_a_check_leaves_behind_is_ended() {
    let home = checked("true", "[\"sh\", \"-c\", 'setsid sleep 6103 & exit 0']", "");
    home.ok(&["once", "a"]);
    assert_eq!(sleeper("6103"), None);
}

/// RUN-7, LIF-5: a stop during the check ends it and the run; the harness is locked until then.
#[test]
fn a_stop_during_the_check_stops_it() {
    let mut home = checked("true", "[\"sleep\", \"6104\"]", "");
    home.start_daemon();
    home.ok(&["start", "a"]);
    let pid = until("the check runs", || sleeper("6104"));
    let refused = home.harnessd(&["once", "a"]);
    assert!(refused.err.contains("runs already"), "{refused:?}");
    home.ok(&["stop", "a", "--wait"]);
    assert!(!alive(pid));
    let run = home.ended_run("a");
    assert_eq!((run["outcome"].as_str(), run["cause"].as_str()), (Some("stopped"), Some("asked to stop")));
    // The daemon's own end does the same.
    home.ok(&["start", "a"]);
    until("the check runs", || sleeper("6104"));
    home.stop_daemon();
    assert_eq!(sleeper("6104"), None);
}

/// RUN-7, CTL-11: a run is checked as it was started with, whichever program goes on with it, and its check
/// goes on with the next one.
#[test]
fn a_check_crosses_a_re_execution() {
    let waits = |file: &str| format!("while [ ! -e {file} ]; do sleep 0.05; done");
    let check = format!("[\"sh\", \"-c\", 'echo checks $WORD; touch checking; {}; exit 3']", waits("end"));
    let mut home = checked(&waits("go"), &check, "");
    home.start_daemon();
    home.ok(&["start", "a"]);
    // The next run is to be checked otherwise, and to do something else.
    let text = home.read(".config/harnessd/harness.toml");
    home.configure(
        &text.replace("echo checks", "echo differs").replace("sleep 0.05; done'", "sleep 0.06; done'"),
    );
    home.ok(&["reexec"]);
    home.write("w/go", "");
    until("it is checked", || home.path("w/checking").exists().then_some(()));
    home.ok(&["reexec"]);
    home.write("w/end", "");
    let run = home.ended_run("a");
    assert_eq!(
        (&run["outcome"], &run["cause"]),
        (&"check-failed".into(), &"its `check` ended with exit status 3".into())
    );
    assert!(home.log("a").ends_with("]\nchecks said\n"), "{}", home.log("a"));
}
