//! Policies as the whole program applies them.

use crate::support::{Home, until};

/// LIF-3: `no` retries nothing, `on-failure` retries a failure and not an `ok`.
#[test]
fn restart_policies_are_kept() {
    let mut home = Home::new(
        "[defaults]\nrestart_delay = \"10ms\"\n\
         [harness.never]\noneshot = true\ncmd = \"false\"\n\
         [harness.retried]\noneshot = true\nrestart = \"on-failure\"\ncmd = \"sh\"\n\
         args = [\"-c\", \"n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; test $n -ge 2\"]\n",
    );
    home.start_daemon();
    assert_eq!(home.harnessd(&["start", "never", "--wait"]).code, 1);
    assert_eq!(home.runs("never").len(), 1);
    home.ok(&["start", "retried"]);
    until("the third try is ok", || {
        (home.runs("retried").len() == 3 && home.ended_run("retried")["outcome"] == "ok").then_some(())
    });
    let attempts: Vec<_> = home.runs("retried").iter().map(|run| run["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [3, 2, 1]);
    assert_eq!(home.harness("retried")["state"], "stopped");
}

/// LIF-4: a crash loop shows as `degraded`, and after `max_attempts` failures the harness is `failed`
/// until somebody starts it.
#[test]
fn a_crash_loop_is_given_up() {
    let mut home = Home::new(
        "[daemon]\nmax_attempts = 7\nbackoff_max = \"20ms\"\n\
         [harness.broken]\ncmd = \"sh\"\nargs = [\"-c\", \"exit 7\"]\nenabled = true\nrestart_delay = \"1ms\"\n",
    );
    home.start_daemon();
    home.wait_state("broken", "failed");
    assert_eq!(home.runs("broken").len(), 7);
    let status = home.ok(&["status", "--json"]).json();
    let reason = status["attention"][0]["reason"].as_str().unwrap().to_owned();
    assert_eq!(status["attention"][0]["harness"], "broken");
    assert!(reason.contains("exit status 7"), "{reason}");
    home.ok(&["start", "broken"]);
    until("it is given up again", || (home.runs("broken").len() == 14).then_some(()));
}

/// SCH-8: `timeout` ends a run with everything it started.
#[test]
fn a_run_is_ended_at_its_timeout() {
    let mut home = Home::new(
        "[harness.slow]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo begun; sleep 600\"]\ntimeout = \"300ms\"\n",
    );
    home.start_daemon();
    let said = home.harnessd(&["start", "slow", "--wait"]);
    assert_eq!(
        (said.code, said.err.as_str()),
        (
            1,
            "error: the run of harness `slow` ended `timeout`: ran longer than its `timeout` of 300ms\n\
             \x20 help: `harnessd logs` with its name shows what it wrote\n"
        )
    );
    let run = &home.runs("slow")[0];
    assert_eq!((&run["outcome"], &run["signal"]), (&"timeout".into(), &"SIGTERM".into()));
    assert_eq!(home.log("slow"), "begun\n");
}

/// RUN-3: `keep_runs` is enforced, logs included.
#[test]
fn old_runs_and_their_logs_are_pruned() {
    let mut home =
        Home::new("[harness.short]\noneshot = true\ncmd = \"echo\"\nargs = [\"x\"]\nkeep_runs = 3\n");
    home.start_daemon();
    for _ in 0..6 {
        home.ok(&["start", "short", "--wait"]);
    }
    assert_eq!(home.runs("short").len(), 3);
    let logs = std::fs::read_dir(home.path(".local/state/harnessd/logs/short")).unwrap();
    assert_eq!(logs.count(), 3);
}
