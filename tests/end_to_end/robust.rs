//! What goes wrong around a running daemon, and what must not follow from it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Home, alive, kill, mark, path_with, skill, stand_in_dir, until};

/// LIF-1, RUN-4: whoever takes over a harness whose runner was killed first ends what that one left and
/// closes its run: never two live processes of one harness.
#[test]
fn what_a_killed_runner_left_is_ended_before_the_next_start() {
    let mark = mark("left");
    let mut home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sleep\"\nargs = [\"609\"]\nenv = {{ {mark} = \"1\" }}\n"
    ));
    let first = |home: &Home| {
        let mut once = home.command(&["once", "a"]).spawn().unwrap();
        let pid = until("it runs", || home.processes_with(&mark).first().copied());
        kill(i32::try_from(once.id()).unwrap(), nix::libc::SIGKILL);
        once.wait().unwrap();
        assert!(alive(pid), "it outlives its runner");
        pid
    };
    let orphan = first(&home);
    let mut second = home.command(&["once", "a"]).spawn().unwrap();
    until("only the second one runs", || {
        (!alive(orphan) && home.processes_with(&mark).len() == 1).then_some(())
    });
    assert_eq!(home.runs("a")[1]["outcome"], "lost");
    kill(i32::try_from(second.id()).unwrap(), nix::libc::SIGTERM);
    second.wait().unwrap();
    // The same with a daemon that was there all the time.
    home.start_daemon();
    let orphan = first(&home);
    home.ok(&["start", "a"]);
    until("only the daemon's runs", || {
        (!alive(orphan) && home.processes_with(&mark).len() == 1).then_some(())
    });
    until("the lost run is closed", || {
        (home.runs("a").iter().filter(|run| run["outcome"] == "lost").count() == 2).then_some(())
    });
    home.ok(&["stop", "a", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// LIF-9, CTL-2: a store that another process holds neither stops the loop nor loses a record.
#[test]
fn a_locked_store_stops_nothing_and_loses_nothing() {
    let mut home = Home::new("[harness.a]\noneshot = true\ncmd = \"true\"\n");
    home.start_daemon();
    let other = rusqlite::Connection::open(home.path(".local/state/harnessd/state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.ok(&["start", "a", "--wait"]);
    let status = home.ok(&["status", "--json"]).json();
    assert!(status["trouble"][0].as_str().unwrap().contains("database is locked"), "{status}");
    home.signal_daemon(nix::libc::SIGTERM);
    until("it is at its last tries", || home.daemon_log().contains("stopping").then_some(()));
    other.execute_batch("COMMIT").unwrap();
    drop(other);
    assert!(home.wait_daemon().success(), "{}", home.daemon_log());
    assert_eq!(home.runs("a")[0]["outcome"], "ok");
}

/// LIF-9, RUN-4: The same to the end: what cannot be stored is said, record by record, and the exit status tells.
#[test]
fn records_that_are_lost_for_good_are_said() {
    let home = Home::new(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nworkdir = \"~\"\n\
         args = [\"-c\", \"touch began; until [ -e go ]; do sleep 0.02; done\"]\n",
    );
    let mut once = home.command(&["once", "a"]);
    let once = once.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let recorded = || home.runs("a").first().is_some_and(|run| run.get("pid").is_some());
    until("it runs", || (home.path("began").exists() && recorded()).then_some(()));
    let other = rusqlite::Connection::open(home.path(".local/state/harnessd/state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.write("go", "");
    let said = once.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(1), "{error}");
    assert!(error.contains("records of runs are lost: ") && error.contains("database is locked"), "{error}");
}

/// A mistake in the file moves neither the state directory nor the socket: clients find their daemon.
#[test]
fn a_broken_file_does_not_move_the_state_directory() {
    let good =
        "[daemon]\nstate_dir = \"~/st\"\n[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";
    let mut home = Home::new(good);
    home.start_daemon();
    home.wait_state("a", "running");
    for broken in ["[harness.b]\ncmd = 1\n", "[harness.b\ncmd = \"x\"\n"] {
        home.configure(&format!("{good}{broken}"));
        let status = home.ok(&["status", "--json"]).json();
        assert_eq!(status["pid"], home.daemon_pid());
        assert_eq!(home.runs("a").len(), 1);
        let second = home.harnessd(&["run"]);
        assert!(second.err.contains(&format!("is locked by process {}", home.daemon_pid())), "{second:?}");
    }
    home.configure(&good.replace("~/st", "~/elsewhere"));
    let told = home.harnessd(&["--state-dir", &home.text("st"), "reload"]);
    assert_eq!(told.code, 0, "{told:?}");
    let status = home.ok(&["--state-dir", &home.text("st"), "status", "--json"]).json();
    let trouble = status["trouble"].to_string();
    assert!(trouble.contains("`[daemon] state_dir` has changed: restart the daemon to apply it"), "{status}");
}

/// CFG-6: a bad `HARNESSD_*` value is an error, not another setting.
#[test]
fn a_bad_variable_refuses_the_daemon() {
    let mut home = Home::new("");
    home.set("HARNESSD_MAX_ATTEMPTS", "abc");
    let said = home.harnessd(&["run"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.starts_with("error: ")
            && said.err.contains("HARNESSD_MAX_ATTEMPTS")
            && said.err.contains("abc"),
        "{said:?}"
    );
}

/// LIF-2, LIF-3: what was started and stopped by hand is known although the file was broken at boot.
#[test]
fn a_rejected_file_at_boot_forgets_no_intent() {
    let good = "[harness.man]\ncmd = \"sleep\"\nargs = [\"600\"]\n\
        [harness.us]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\nrestart = \"unless-stopped\"\n";
    let mut home = Home::new(good);
    home.start_daemon();
    home.ok(&["start", "man", "--wait"]);
    home.ok(&["stop", "us", "--wait"]);
    home.stop_daemon();
    home.configure(&format!("{good}broken\n"));
    home.start_daemon();
    assert!(home.ok(&["status"]).out.contains("REJECTED: nothing of it is in force"));
    home.configure(good);
    until("the mended file is in force", || home.harnessd(&["list"]).out.contains("man").then_some(()));
    home.wait_state("man", "running");
    assert_eq!(home.harness("us")["state"], "stopped");
    assert_eq!(home.harness("us")["last_run"]["outcome"], "stopped");
}

/// CTL-4: a client that never reads costs a bounded time and memory, and its place is free again.
#[test]
fn a_client_that_never_reads_is_gone_soon() {
    let mut home =
        Home::new("[daemon]\nmax_attempts = 0\n[harness.busy]\ncmd = \"true\"\nrestart_delay = \"0s\"\n");
    home.start_daemon();
    let mut silent = UnixStream::connect(home.path(".local/state/harnessd/harnessd.sock")).unwrap();
    silent.write_all(b"{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"t\"}\n{\"id\":2,\"op\":\"subscribe\"}\n").unwrap();
    home.ok(&["start", "busy"]);
    until("the daemon has given up", || {
        home.daemon_log().contains("a client that does not read is dropped").then_some(())
    });
    home.ok(&["stop", "busy", "--wait"]);
    let fds = || fs::read_dir(format!("/proc/{}/fd", home.daemon_pid())).unwrap().count();
    let with = fds();
    until("its descriptors are closed", || (fds() < with).then_some(()));
    // What it had sent by then is not kept either: the stream is closed.
    silent.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    assert!(silent.write_all(&vec![b'x'; 8 << 20]).is_err());
}

/// RUN-4, RUN-3: A reader of `once` that stalls delays neither its timeout nor a signal.
#[test]
fn a_stalled_reader_of_once_delays_nothing() {
    let mark = mark("stall");
    let home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done\"]\nenv = {{ {mark} = \"1\" }}\ntimeout = \"1s\"\nlog_max_bytes = \"1 MiB\"\n"
    ));
    let mut once = home.command(&["once", "a"]).stdout(Stdio::piped()).spawn().unwrap();
    until("its run has ended", || {
        home.runs("a").first().filter(|run| run["outcome"] == "timeout").map(|_| ())
    });
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    let mut out = Vec::new();
    once.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    assert_eq!(once.wait().unwrap().code(), Some(1));
    assert!(out.starts_with(b"yyyy"));
}

/// LIF-7: an agent that is started from inside another one does not inherit its session, by `once` either.
#[test]
fn once_scrubs_an_outer_agents_variables() {
    let mut home = Home::new(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo ${CLAUDECODE:-unset}\"]\n",
    );
    home.set("CLAUDECODE", "1");
    assert_eq!(home.ok(&["once", "a"]).out, "unset\n");
}

/// CFG-6: the adapter's override variable of the daemon's environment names its program.
#[test]
fn an_override_variable_names_the_program() {
    let mut home = Home::new("[harness.a]\nagent = \"claude-code\"\nprompt = \"x\"\n");
    let result = "{\"type\":\"result\",\"subtype\":\"success\"}";
    home.write("other-claude", &format!("#!/bin/sh\necho the other one; echo '{result}'\n"));
    fs::set_permissions(home.path("other-claude"), fs::Permissions::from_mode(0o755)).unwrap();
    home.set("PATH", &path_with(&stand_in_dir()));
    home.set("HARNESSD_COMMAND_CLAUDE_CODE", &home.text("other-claude"));
    assert_eq!(home.ok(&["once", "a"]).out, "the other one\n");
}

/// SKL-2, SKL-14, ADP-3: where an agent looks follows from the variables that its own harness sets.
#[test]
fn a_harness_moves_its_agents_directories() {
    let mut home = Home::new(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nworkdir = \"~/app\"\nenv = { CLAUDE_CONFIG_DIR = \"CC\" }\n",
    );
    let config = home.read(".config/harnessd/harness.toml").replace("CC", &home.text("cc"));
    home.configure(&config);
    fs::create_dir(home.path("app")).unwrap();
    home.set("PATH", &path_with(&stand_in_dir()));
    skill(&home, "cc/skills", "own", "cc");
    skill(&home, ".claude/skills", "foreign", "home");
    let view = home.ok(&["skills", "a", "--json"]).json();
    assert_eq!(view["roots"][0]["path"], home.text("cc/skills"));
    // The home's own directory is seen too, as that of a parent of the workdir.
    let native = view["native"].as_array().unwrap();
    assert!(native.iter().any(|copy| copy["source"] == home.text("cc/skills/own")), "{view}");
    assert!(native.iter().all(|copy| copy["visible"] == false), "{view}");
    assert!(home.ok(&["once", "a"]).out.contains("skill plugin \"own\" visible \"from cc\""));
}

/// CTL-6: inside a project a bare name is the project's, whatever else is named so; a project that cannot
/// be read refuses instead of guessing.
#[test]
fn a_bare_name_inside_a_project_is_the_projects() {
    let mut home = Home::new("[harness.web]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n");
    home.start_daemon();
    home.wait_state("web", "running");
    fs::create_dir(home.path("proj")).unwrap();
    let inside = |args: &[&str]| {
        let output = home.command(args).current_dir(home.path("proj")).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    home.write("proj/harness.toml", "[harness.other]\ncmd = \"true\"\n");
    assert_eq!(
        inside(&["stop", "web"]),
        (
            1,
            format!(
                "error: no harness is named `proj/web`: the project is not up\n  help: `harnessd up` registers {}; \
                 `--global` takes `web` as a global harness\n",
                home.text("proj/harness.toml")
            )
        )
    );
    home.write("proj/harness.toml", "[harness.other\n");
    let (code, error) = inside(&["stop", "web"]);
    assert!(
        code == 1 && error.starts_with("error: the project that `web` belongs to cannot be told: "),
        "{error}"
    );
    assert_eq!(home.harness("web")["state"], "running");
    assert_eq!(inside(&["--global", "stop", "web", "--wait"]).0, 0);
    assert_eq!(home.harness("web")["state"], "stopped");
}

/// RUN-2: a follower of a run that is pruned meanwhile goes on to the next one.
#[test]
fn a_follower_outlives_a_pruned_run() {
    let mut home =
        Home::new("[harness.a]\noneshot = true\ncmd = \"echo\"\nargs = [\"line\"]\nkeep_runs = 1\n");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let out = fs::File::create(home.path("followed")).unwrap();
    let mut follower = home.command(&["logs", "a", "-f"]).stdout(out).spawn().unwrap();
    until("it follows", || (home.read("followed") == "line\n").then_some(()));
    kill(i32::try_from(follower.id()).unwrap(), nix::libc::SIGSTOP);
    for _ in 0..3 {
        home.ok(&["start", "a", "--wait"]);
    }
    kill(i32::try_from(follower.id()).unwrap(), nix::libc::SIGCONT);
    until("it has gone on", || (home.read("followed").lines().count() >= 2).then_some(()));
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// CTL-7: every failure has a line that says how to mend it.
#[test]
fn failures_come_with_help() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    home.write("file", "");
    let long = "x".repeat(120);
    let cases: [&[&str]; 6] = [
        &["list"],
        &["runs", "b"],
        &["show", "abcdef"],
        &["runs", "--since", "yesterday-ish"],
        &["--state-dir", "file/below", "run"],
        &["--socket", &long, "run"],
    ];
    for args in cases {
        let said = home.harnessd(args);
        assert!(said.code != 0 && said.err.contains("\n  help: "), "{args:?}: {said:?}");
        let json = home.harnessd(&[args, &["--json"]].concat());
        let error: Value = serde_json::from_str(&json.err).unwrap();
        assert!(error["error"]["help"].is_string(), "{args:?}: {json:?}");
    }
}

/// CFG-10: a file that can be watched no more ends nothing; the daemon says so and goes on.
#[test]
fn a_watch_that_fails_ends_nothing() {
    let mut home = Home::new("");
    let text = "[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";
    home.write("dot/harness.toml", text);
    fs::remove_file(home.path(".config/harnessd/harness.toml")).unwrap();
    std::os::unix::fs::symlink(home.path("dot/harness.toml"), home.path(".config/harnessd/harness.toml"))
        .unwrap();
    home.for_an_ordinary_user();
    home.start_daemon();
    home.wait_state("a", "running");
    fs::set_permissions(home.path("dot"), fs::Permissions::from_mode(0o300)).unwrap();
    let mut file = fs::File::options().append(true).open(home.path("dot/harness.toml")).unwrap();
    file.write_all(b"# changed\n").unwrap();
    drop(file);
    until("it is said", || {
        home.daemon_log().contains("changed files are not noticed any more").then_some(())
    });
    assert_eq!(home.harness("a")["state"], "running");
    home.ok(&["reload"]);
    fs::set_permissions(home.path("dot"), fs::Permissions::from_mode(0o700)).unwrap();
    home.stop_daemon();
}

/// LIF-5: while no descriptor is left to look for leftovers, no run is said to be over.
#[test]
fn without_descriptors_no_run_is_closed_early() {
    let mark = mark("fds");
    let mut home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"setsid sleep 611 & until [ -e go ]; do sleep 0.02; done\"]\nworkdir = \"~\"\nenv = {{ {mark} = \"1\" }}\nstop_timeout = \"200ms\"\n"
    ));
    home.start_daemon();
    home.ok(&["start", "a"]);
    until("both run", || (home.processes_with(&mark).len() >= 2).then_some(()));
    let limit = |files: &str| {
        let status = std::process::Command::new("prlimit")
            .args(["--pid", &home.daemon_pid().to_string(), &format!("--nofile={files}:")])
            .status();
        assert!(status.unwrap().success());
    };
    limit("5");
    home.write("go", "");
    until("the trouble is said", || {
        home.daemon_log().contains("nothing is closed until they can").then_some(())
    });
    assert!(home.runs("a")[0].get("outcome").is_none(), "the run is not over");
    assert_eq!(home.processes_with(&mark).len(), 1, "its grandchild is alive");
    limit("256");
    assert_eq!(home.ended_run("a")["outcome"], "ok");
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// RUN-1, RUN-4: a foreground run beside a firing daemon turns no record of the daemon's into a lost run.
#[test]
fn a_foreground_run_closes_nobody_elses_slot() {
    let mut home = Home::new(
        "[harness.a]\noneshot = true\ncmd = \"true\"\nschedule = \"* * * * * *\"\nkeep_runs = 100000\n",
    );
    home.start_daemon();
    let slots = || home.runs("a").iter().filter(|run| run["trigger"] == "schedule").count();
    until("some slots have passed", || {
        let start = || home.command(&["once", "a"]).stderr(Stdio::null()).spawn().unwrap();
        let mut burst = [start(), start(), start(), start()];
        for once in &mut burst {
            once.wait().unwrap();
        }
        (slots() >= 4).then_some(())
    });
    let runs = home.runs("a");
    assert!(runs.iter().all(|run| run["outcome"] != "lost"), "{runs:?}");
}
