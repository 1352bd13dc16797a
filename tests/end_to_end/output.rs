//! RUN-3: logs hold what was printed, byte for byte.

use std::process::Stdio;

use crate::support::{Home, until};

/// Trap 24: numbered lines at full speed, a byte that is no UTF-8, no final newline: all bytes once.
#[test]
fn trap_24_every_byte_is_captured_once() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; printf '\\377end'";
    let mut home = Home::new(&format!(
        "[harness.loud]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"{}\"]\n",
        script.replace('\\', "\\\\")
    ));
    home.start_daemon();
    home.ok(&["start", "loud", "--wait"]);
    let mut expected: Vec<u8> = (0..20000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    expected.extend(b"\xffend");
    let log = home.command(&["logs", "loud", "--all"]).output().unwrap().stdout;
    assert!(log == expected, "{} bytes instead of {}", log.len(), expected.len());
    let last = home.command(&["logs", "loud", "-n", "2"]).output().unwrap().stdout;
    assert_eq!(last, b"19999\n\xffend");
}

/// RUN-3: a log stays inside `log_max_bytes`; what is kept is the newest, in one piece.
#[test]
fn a_log_stays_inside_its_bound() {
    let mut home = Home::new(
        "[harness.loud]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"i=0; while [ $i -lt 30000 ]; do echo line $i; i=$((i+1)); done\"]\nlog_max_bytes = \"64 KiB\"\n",
    );
    home.start_daemon();
    home.ok(&["start", "loud", "--wait"]);
    let log = home.log("loud");
    assert!(log.len() <= 64 << 10 && log.len() > 16 << 10, "{}", log.len());
    let numbers: Vec<u32> =
        log.lines().skip(1).map(|line| line.trim_start_matches("line ").parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    assert_eq!(numbers.last(), Some(&29999));
}

/// RUN-2: `--follow` prints what is added and ends with the run; of a harness it goes on into the next run.
#[test]
fn logs_are_followed() {
    let mut home = Home::new(
        "[harness.talk]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo first; while [ ! -e go ]; do sleep 0.02; done; echo last\"]\nworkdir = \"~\"\n",
    );
    home.start_daemon();
    home.ok(&["start", "talk"]);
    let id = until("the run is recorded", || home.runs("talk").first().cloned())["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let of_run = home.command(&["logs", &id, "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let out = std::fs::File::create(home.path("followed")).unwrap();
    let mut of_harness = home.command(&["logs", "talk", "-f"]).stdout(out).spawn().unwrap();
    until("the first line is followed", || home.read("followed").contains("first").then_some(()));
    home.write("go", "");
    let output = of_run.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "first\nlast\n");
    home.ok(&["start", "talk", "--wait"]);
    until("the next run is followed", || {
        (home.read("followed") == "first\nlast\nfirst\nlast\n").then_some(())
    });
    of_harness.kill().unwrap();
    of_harness.wait().unwrap();
}

/// Traps 10 and 11, RUN-3: a log that cannot be written stops nothing; what is lost is counted and said.
#[test]
fn a_full_disk_stops_no_harness_and_is_said() {
    let mut home = Home::new(
        "[harness.full]\ncmd = \"sh\"\nargs = [\"-c\", \"while :; do echo lost; sleep 0.05; done\"]\n\
         [harness.fine]\noneshot = true\ncmd = \"echo\"\nargs = [\"fine\"]\n",
    );
    home.start_daemon();
    // Every log of this harness leads to a device that is always full.
    std::fs::create_dir_all(home.path(".local/state/harnessd/logs")).unwrap();
    std::fs::create_dir(home.path("full")).unwrap();
    std::os::unix::fs::symlink(home.path("full"), home.path(".local/state/harnessd/logs/full")).unwrap();
    std::fs::remove_dir(home.path("full")).unwrap();
    home.ok(&["start", "full", "--wait"]);
    let status = until("the loss is said", || {
        let status = home.ok(&["status", "--json"]).json();
        (!status["attention"].as_array().unwrap().is_empty()).then_some(status)
    });
    let reason = status["attention"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("bytes of output were not written to its log"), "{status}");
    assert_eq!(home.harness("full")["state"], "running");
    home.ok(&["start", "fine", "--wait"]);
    assert_eq!(home.log("fine"), "fine\n");
}

/// RUN-2: a run that printed nothing since it could not start is told of; it is not "no run".
#[test]
fn logs_of_a_harness_that_never_started_say_why() {
    let home = Home::new(
        "[harness.gone]\noneshot = true\ncmd = \"/nowhere/at-all\"\n\
         [harness.idle]\noneshot = true\ncmd = \"true\"\n",
    );
    assert_eq!(home.harnessd(&["once", "gone"]).code, 1);
    let said = home.harnessd(&["logs", "gone"]);
    let expected = "error: no run of harness `gone` has a log; its newest is `spawn-failed`: `/nowhere/at-all` does \
                    not exist\n  help: see `harnessd runs`\n";
    assert_eq!((said.code, said.err.as_str()), (1, expected));
    // A harness that is declared and has runs is proposed once.
    let said = home.harnessd(&["logs", "gome"]);
    let expected = "error: no harness is named `gome`\n  help: did you mean `gone`?\n";
    assert_eq!((said.code, said.err.as_str()), (1, expected));
    let said = home.harnessd(&["logs", "idle"]);
    let expected =
        "error: harness `idle` has no run yet\n  help: `harnessd start` it, or `--follow` to wait\n";
    assert_eq!((said.code, said.err.as_str()), (1, expected));
}
