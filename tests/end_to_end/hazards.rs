//! More bugs of other supervisors and schedulers; `docs/traps.md` lists them all.

use std::fs;
use std::path::Path;

use crate::support::{Home, alive, mark, until};

fn outcomes(home: &Home, name: &str) -> Vec<String> {
    home.runs(name).iter().filter_map(|run| Some(run["outcome"].as_str()?.to_owned())).collect()
}

/// Trap 10, RUN-3: a log that cannot be written holds up nobody who writes: the output is read and dropped.
#[test]
fn trap_10_a_log_that_cannot_be_written_holds_up_no_writer() {
    let mut home = Home::new(
        "[harness.loud]\noneshot = true\ncmd = \"sh\"\nworkdir = \"~\"\n\
         args = [\"-c\", \"head -c 5000000 /dev/zero; echo whole > written\"]\n\
         [harness.other]\noneshot = true\ncmd = \"echo\"\nargs = [\"heard\"]\n",
    );
    // Where the directory of its logs should be lies a file.
    home.write(".local/state/harnessd/logs/loud", "");
    home.start_daemon();
    home.ok(&["start", "loud", "--wait"]);
    assert_eq!((home.read("written").as_str(), outcomes(&home, "loud")), ("whole\n", vec!["ok".to_owned()]));
    let said = "bytes of output were not written to the log";
    until("what was dropped is counted", || {
        home.daemon_log()
            .lines()
            .find(|line| line.contains(said) && line.ends_with("dropped=5000000"))
            .map(|_| ())
    });
    home.ok(&["start", "other", "--wait"]);
    assert_eq!(home.log("other"), "heard\n");
}

/// Trap 12, LIF-4: a daemon that may open few descriptors starts as many harnesses as it can and puts the
/// others off, whatever `max_attempts` says, and answers; when there are descriptors again they come up.
#[test]
fn trap_12_few_descriptors_are_no_final_failure() {
    let mark = mark("trap12");
    let daemon = "[daemon]\nwatch = false\nmax_attempts = 2\ncrash_loop_exits = 2\n";
    let mut config = format!("{daemon}[defaults]\nrestart_delay = \"50ms\"\n");
    for number in 0..120 {
        config += &format!(
            "[harness.h{number}]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\nenv = {{ {mark} = \"1\" }}\n"
        );
    }
    let mut home = Home::new(daemon);
    home.start_daemon();
    let limit = |files: &str| {
        let status = std::process::Command::new("prlimit")
            .args(["--pid", &home.daemon_pid().to_string(), &format!("--nofile={files}:")])
            .status();
        assert!(status.unwrap().success());
    };
    limit("80");
    home.configure(&config);
    home.ok(&["reload"]);
    let count = |state: &str| {
        let list = home.ok(&["list", "--json"]).json();
        list["harnesses"].as_array().unwrap().iter().filter(|one| one["state"] == state).count()
    };
    until("one has been put off four times", || {
        let runs = home.ok(&["runs", "--json", "-n", "10000"]).json();
        let mut refused = std::collections::BTreeMap::<String, usize>::new();
        for run in runs["runs"].as_array().unwrap().iter().filter(|run| run["outcome"] == "spawn-failed") {
            assert!(run["cause"].as_str().unwrap().ends_with("too many open files"), "{run}");
            *refused.entry(run["harness"].to_string()).or_default() += 1;
        }
        refused.values().any(|times| *times >= 4).then_some(())
    });
    assert!(count("running") >= 10, "{} run", count("running"));
    assert_eq!((count("failed"), count("degraded")), (0, 0));
    limit("400");
    until("all run", || (count("running") == 120).then_some(()));
    home.ok(&["stop", "--all", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// Complaints 1 and 2, SCH-8: a run that waits for somebody who is not there is a run that failed at its
/// `timeout`, and the next slot is run.
#[test]
fn a_run_that_hangs_frees_the_slots_after_it() {
    let mark = mark("hangs");
    let mut home = Home::new(&format!(
        "[harness.asks]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo 'Allow? [y/N]'; sleep 612\"]\n\
         schedule = \"* * * * * *\"\ntimeout = \"300ms\"\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    until("several slots have been run", || {
        (outcomes(&home, "asks").iter().filter(|outcome| *outcome == "timeout").count() >= 3).then_some(())
    });
    home.stop_daemon();
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// Complaint 3, LIF-7: whoever reads its standard input finds the end of it at once.
#[test]
fn a_program_that_reads_its_input_is_not_kept_waiting() {
    let mut home = Home::new("[harness.reads]\noneshot = true\ncmd = \"cat\"\n");
    home.start_daemon();
    home.ok(&["start", "reads", "--wait"]);
    assert_eq!((outcomes(&home, "reads"), home.log("reads")), (vec!["ok".to_owned()], String::new()));
}

/// Complaint 9, RUN-1: a schedule that starts nothing does not look as if it did.
#[test]
fn a_scheduled_start_that_fails_is_seen() {
    let mut home =
        Home::new("[harness.gone]\noneshot = true\ncmd = \"no-such-program\"\nschedule = \"* * * * * *\"\n");
    home.start_daemon();
    let run = home.ended_run("gone");
    assert_eq!((&run["outcome"], run.get("pid")), (&"spawn-failed".into(), None));
    assert!(run["cause"].as_str().unwrap().contains("no-such-program"), "{run}");
    let status = home.ok(&["status", "--json"]).json();
    assert_eq!(status["attention"][0]["harness"], "gone", "{status}");
}

/// Complaint 14, SCH-10: while one job takes long, another one runs every second.
#[test]
fn a_long_job_holds_up_no_short_one() {
    let mut home = Home::new(
        "[defaults]\noneshot = true\nschedule = \"* * * * * *\"\n\
         [harness.long]\ncmd = \"sleep\"\nargs = [\"613\"]\nstop_timeout = \"100ms\"\n[harness.short]\ncmd = \"true\"\n",
    );
    home.start_daemon();
    until("the short one has run four times", || {
        (outcomes(&home, "short").iter().filter(|outcome| *outcome == "ok").count() >= 4).then_some(())
    });
    let slots: Vec<_> = home.runs("short").iter().map(|run| run["planned_at"].clone()).collect();
    let mut distinct = slots.clone();
    distinct.dedup();
    assert_eq!(slots, distinct, "no slot twice");
    assert_eq!(home.harness("long")["state"], "running");
}

/// Complaint 18, LIF-6: a run that is ended at its `timeout` is over though a grandchild that ignores the
/// signal holds its output open.
#[test]
fn a_timeout_ends_who_holds_the_output_too() {
    let mark = mark("holds");
    let mut home = Home::new(&format!(
        "[harness.holds]\noneshot = true\ncmd = \"sh\"\n\
         args = [\"-c\", \"setsid sh -c 'trap : TERM; echo held; while :; do sleep 0.1; done' & wait\"]\n\
         timeout = \"500ms\"\nstop_timeout = \"200ms\"\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    assert_eq!(home.harnessd(&["start", "holds", "--wait"]).code, 1);
    assert_eq!(outcomes(&home, "holds"), ["timeout"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// Complaint 22, LIF-9: of a resident that a killed daemon left behind the next one ends the old process
/// before it starts a new one: it never has two.
#[test]
fn a_resident_of_a_killed_daemon_is_replaced_not_doubled() {
    let mark = mark("replaced");
    let mut home = Home::new(&format!(
        "[harness.web]\ncmd = \"sleep\"\nargs = [\"614\"]\nenabled = true\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    home.wait_state("web", "running");
    let old = home.pid("web");
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    assert!(alive(old));
    home.start_daemon();
    home.wait_state("web", "running");
    assert!(!alive(old));
    assert_eq!(home.processes_with(&mark), [home.pid("web")]);
    let runs = home.runs("web");
    assert_eq!((runs.len(), &runs[1]["outcome"]), (2, &"lost".into()));
}

/// Trap 25, RUN-4: what a killed daemon leaves beside its store keeps no daemon from starting.
#[test]
fn trap_25_torn_files_beside_the_store_do_not_matter() {
    let mut home = Home::new("[harness.a]\noneshot = true\ncmd = \"true\"\n");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    let state = home.path(".local/state/harnessd");
    let log = fs::read(state.join("state.db-wal")).unwrap();
    assert!(!log.is_empty(), "there is something to cut");
    let kept = fs::read(state.join("state.db")).unwrap();
    for part in 0..4 {
        fs::write(state.join("state.db"), &kept).unwrap();
        // The last transactions of a log that was cut are gone; what is whole before them counts.
        fs::write(state.join("state.db-wal"), &log[..log.len() * part / 4]).unwrap();
        let _shared_index = fs::remove_file(state.join("state.db-shm"));
        fs::write(state.join("state.db-shm"), &b"torn"[..part]).unwrap();
        fs::write(state.join("lock"), "").unwrap();
        home.start_daemon();
        home.ok(&["start", "a", "--wait"]);
        assert!(Path::new(&state).join("harnessd.sock").exists());
        home.stop_daemon();
    }
}
