//! What comes between: programs that cannot take over, deaths, signals (CTL-11).

use std::fmt::Write as _;
use std::fs;

use nix::libc::{SIGHUP, SIGKILL, SIGTERM, SIGUSR2};
use serde_json::Value;

use super::{SLEEPER, daemon, of_version, reexec, zombies_of};
use crate::support::{Home, alive, kill, replace, until};

/// A refused re-execution: the message, which `status` and the daemon's log tell too. The client is not the
/// copy that may be broken.
#[track_caller]
fn refused(home: &Home) -> String {
    home.with_the_built_program(|home| {
        let said = home.harnessd(&["reexec", "--json"]);
        assert_eq!(said.code, 1, "{said:?}");
        let error: Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!(error["error"]["code"], "not_reexecuted", "{said:?}");
        let message = error["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(home.ok(&["status", "--json"]).json()["trouble"], serde_json::json!([message]));
        until("it is logged", || home.daemon_log().contains(&message).then_some(()));
        message
    })
}

/// How often the daemon has been taken over.
fn takeovers(home: &Home) -> usize {
    home.daemon_log().matches("taken over").count()
}

/// CTL-11: a child that dies while the program is being exchanged is reaped and recorded by the successor.
#[test]
fn a_death_in_between_is_recorded() {
    let mut config = String::new();
    for number in 0..8 {
        writeln!(config, "[harness.mortal{number}]\ncmd = \"sleep\"\nargs = [\"600\"]\nrestart = \"no\"")
            .unwrap();
    }
    let (mut home, _) = daemon(&config);
    home.ok(&["start", "--all", "--wait"]);
    for number in 0..8 {
        let pid = home.pid(&format!("mortal{number}"));
        let before = takeovers(&home);
        home.signal_daemon(SIGUSR2);
        // At once, or when `execve` is just about to be called.
        until("the hand-over is on its way", || {
            (number % 2 == 0 || home.daemon_log().matches("handing over").count() > before).then_some(())
        });
        kill(pid, SIGKILL);
        let run = home.ended_run(&format!("mortal{number}"));
        assert_eq!((&run["outcome"], &run["cause"]), (&"failed".into(), &"killed by SIGKILL".into()));
        until("it is taken over", || (takeovers(&home) > before).then_some(()));
    }
    assert_eq!(zombies_of(home.daemon_pid()), Vec::<String>::new());
    home.stop_daemon();
}

/// CTL-11: of signals in a storm none is lost: USR2 twice and HUP, or TERM right after.
#[test]
fn a_storm_of_signals_is_weathered() {
    for order in [&[SIGUSR2, SIGUSR2, SIGHUP][..], &[SIGUSR2, SIGTERM], &[SIGUSR2, SIGHUP, SIGUSR2, SIGTERM]]
    {
        let (mut home, _) = daemon(SLEEPER);
        home.ok(&["start", "sleeper", "--wait"]);
        let pid = home.pid("sleeper");
        for signal in order {
            home.signal_daemon(*signal);
        }
        if order.last() == Some(&SIGTERM) {
            assert!(home.wait_daemon().success(), "{}", home.daemon_log());
            assert!(!alive(pid));
            assert_eq!(home.runs("sleeper")[0]["cause"], "the daemon was shut down");
            continue;
        }
        until("it is taken over", || (takeovers(&home) > 0).then_some(()));
        until("it is reloaded", || home.daemon_log().contains("configuration in force").then_some(()));
        assert_eq!(home.pid("sleeper"), pid);
        home.stop_daemon();
    }
}

/// CTL-11: TERM in the middle of the exchange is the successor's to obey, and HUP too.
#[test]
fn a_signal_in_the_middle_is_obeyed() {
    let (mut home, _) = daemon(SLEEPER);
    home.ok(&["start", "sleeper", "--wait"]);
    let pid = home.pid("sleeper");
    for signal in [SIGHUP, SIGTERM] {
        let before = home.daemon_log().matches("handing over").count();
        home.signal_daemon(SIGUSR2);
        until("the hand-over is on its way", || {
            (home.daemon_log().matches("handing over").count() > before).then_some(())
        });
        home.signal_daemon(signal);
        if signal == SIGHUP {
            until("it is reloaded", || home.daemon_log().contains("configuration in force").then_some(()));
        }
    }
    assert!(home.wait_daemon().success(), "{}", home.daemon_log());
    assert!(!alive(pid));
    assert_eq!(home.runs("sleeper")[0]["outcome"], "stopped");
}

/// CTL-11: a program that cannot take over is not executed; the old one goes on and says why.
#[test]
fn a_broken_program_is_refused() {
    let (mut home, program) = daemon(SLEEPER);
    home.ok(&["start", "sleeper", "--wait"]);
    let before = home.harness("sleeper");
    let named = program.display();
    let says = |why: &str| format!("the program `{named}` does not take over: {why}");
    let script = |text: &str| format!("#!/bin/sh\n{text}\n").into_bytes();
    replace(&program, &script("exit 1"), 0o755);
    assert_eq!(refused(&home), says("exit status 1"));
    replace(&program, &script("echo some library is missing >&2; exit 127"), 0o755);
    assert_eq!(refused(&home), says("exit status 127: some library is missing"));
    replace(&program, &script("exit 0"), 0o755);
    assert_eq!(refused(&home), says("it does not say that it can take over"));
    replace(&program, &script("kill -SEGV $$"), 0o755);
    assert_eq!(refused(&home), says("killed by SIGSEGV"));
    replace(&program, &script("exit 0"), 0o644);
    assert_eq!(refused(&home), says(&format!("`{named}` is not executable")));
    replace(&program, &of_version("0.2.0"), 0o755);
    let minor = "version 0.1.0 cannot be replaced by version 0.2.0 without a restart";
    assert_eq!(refused(&home), says(&format!("exit status 1: {minor}")));
    fs::remove_file(&program).unwrap();
    assert_eq!(refused(&home), says(&format!("`{named}` does not exist")));
    home.with_the_built_program(|home| assert_eq!(home.harness("sleeper"), before));
    assert_eq!(takeovers(&home), 0);
    // It is mended: then it works, and nothing is the matter any more.
    replace(&program, &of_version("0.1.0"), 0o755);
    reexec(&home);
    assert_eq!(home.ok(&["status", "--json"]).json()["trouble"], serde_json::json!([]));
    assert_eq!(home.harness("sleeper"), before);
    home.stop_daemon();
}

/// CTL-11: a program that hangs is given up after a while.
#[test]
fn a_hanging_program_is_refused() {
    let (mut home, program) = daemon(SLEEPER);
    home.ok(&["start", "sleeper", "--wait"]);
    let pid = home.pid("sleeper");
    replace(&program, b"#!/bin/sh\nsleep 600\n", 0o755);
    let message = refused(&home);
    assert!(message.ends_with("does not take over: stopped after 10s"), "{message}");
    home.with_the_built_program(|home| assert_eq!(home.pid("sleeper"), pid));
    home.stop_daemon();
}

/// CTL-11: an `execve` that fails after a good trial costs nothing: store, signals and children are there.
#[test]
fn a_failed_execution_costs_nothing() {
    let (mut home, program) = daemon(
        "[harness.sleeper]\ncmd = \"sleep\"\nargs = [\"600\"]\n[harness.job]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"ls /proc/self/fd\"]\n",
    );
    home.ok(&["start", "sleeper", "--wait"]);
    home.ok(&["start", "job", "--wait"]);
    let (pid, inherited) = (home.pid("sleeper"), home.log("job"));
    let script = format!("#!/bin/sh\n{} \"$@\" && chmod a-x \"$0\"\n", env!("CARGO_BIN_EXE_harnessd"));
    replace(&program, script.as_bytes(), 0o755);
    let message = refused(&home);
    assert!(message.ends_with("does not take over: permission denied"), "{message}");
    home.with_the_built_program(|home| {
        home.ok(&["start", "job", "--wait"]);
        assert_eq!(home.log("job"), inherited);
        assert_eq!(home.pid("sleeper"), pid);
        kill(pid, SIGKILL);
        assert_eq!(home.ended_run("sleeper")["cause"], "killed by SIGKILL");
    });
    home.stop_daemon();
}

/// CTL-11: with a broken configuration the old daemon goes on with its last good one.
#[test]
fn a_broken_configuration_is_refused() {
    let (mut home, program) = daemon(&format!("[daemon]\nwatch = false\n{SLEEPER}"));
    home.ok(&["start", "sleeper", "--wait"]);
    let pid = home.pid("sleeper");
    home.configure("[harness.sleeper]\ncmd = 7\n");
    let why = "exit status 1: the configuration has 1 errors: `harnessd validate` shows them";
    assert_eq!(refused(&home), format!("the program `{}` does not take over: {why}", program.display()));
    assert_eq!(home.pid("sleeper"), pid);
    home.stop_daemon();
}

/// CTL-11, CFG-10: a file that is spoilt between the trial and the hand-over ends nothing: what the predecessor had
/// in force of it goes on, also over further reloads, until it is mended.
#[test]
fn what_is_spoilt_during_a_hand_over_goes_on() {
    let global = format!("[daemon]\nwatch = false\nprojects = [\"~/app\"]\n{SLEEPER}");
    let project = "[harness.web]\ncmd = \"sleep\"\nargs = [\"600\"]\n";
    for spoilt in ["app/harness.toml", ".config/harnessd/harness.toml"] {
        let mut home = Home::new(&global);
        home.write("app/harness.toml", project);
        let program = home.use_a_copy();
        home.start_daemon();
        home.ok(&["start", "sleeper", "app/web", "--wait"]);
        let pids = |home: &Home| ["sleeper", "app/web"].map(|name| home.pid(name));
        let before = pids(&home);
        // It spoils the file when the trial has gone well.
        let built = env!("CARGO_BIN_EXE_harnessd");
        let path = home.text(spoilt);
        let script = format!(
            "#!/bin/sh\ncase $1 in probe-handover) exec {built} \"$@\";; esac\necho '[harness.web' > '{path}'\nexec {built} \"$@\"\n"
        );
        replace(&program, script.as_bytes(), 0o755);
        home.with_the_built_program(|home| {
            home.ok(&["reexec"]);
            assert_eq!(pids(home), before, "{spoilt}");
            let refused = home.harnessd(&["reload"]);
            assert_eq!(refused.code, 1, "{refused:?}");
            assert_eq!(pids(home), before, "{spoilt}");
            home.write(spoilt, if spoilt.starts_with("app") { project } else { &global });
            home.ok(&["reload"]);
            assert_eq!(pids(home), before, "{spoilt}");
            home.ok(&["restart", "app/web", "sleeper", "--wait"]);
        });
        home.stop_daemon();
    }
}
