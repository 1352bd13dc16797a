//! A daemon, or a part of it, that stands still for a while: nothing is held against a run that it could
//! not show meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::{SIGCONT, SIGSTOP};
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::support::{Home, path_with, replace, until};

/// What a run may be silent for, and how long the daemon stands still: longer.
const SILENCE: Duration = Duration::from_secs(4);
const STALL: Duration = Duration::from_secs(5);

/// A harness that talks all the time, until it finds `done`.
fn talker() -> Home {
    let silence = SILENCE.as_secs();
    Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nworkdir = \"~\"\n\
         args = [\"-c\", 'while [ ! -e done ]; do echo x; sleep 0.1; done']\n\
         first_output_timeout = \"{silence}s\"\nidle_timeout = \"{silence}s\"\n"
    ))
}

/// A program in the daemon's place that does `script` before it takes over, and then is the one that was built.
fn delay(program: &Path, script: &str) {
    let built = env!("CARGO_BIN_EXE_harnessd");
    let begins = format!("#!/bin/sh\nif [ -n \"$HARNESSD_HANDOVER\" ]; then {script}; fi\n");
    replace(program, format!("{begins}exec '{built}' \"$@\"\n").as_bytes(), 0o755);
}

/// RUN-0: what a run printed while the daemon stood still is read before it is asked whether the run was silent.
#[test]
fn a_daemon_that_stood_still_takes_no_run_for_silent() {
    let mut home = talker();
    home.start_daemon();
    home.ok(&["start", "a"]);
    until("it talks", || (!home.log("a").is_empty()).then_some(()));
    home.signal_daemon(SIGSTOP);
    let stopped = Instant::now();
    until("the daemon has stood still", || (stopped.elapsed() > STALL).then_some(()));
    home.signal_daemon(SIGCONT);
    home.ok(&["status"]);
    home.write("done", "");
    let run = home.ended_run("a");
    assert_eq!((&run["outcome"], run.get("cause")), (&"ok".into(), None), "{run}");
}

/// RUN-0, CTL-11: the same for what it printed while a successor was slow to begin.
#[test]
fn a_slow_successor_takes_no_run_for_silent() {
    let mut home = talker();
    let program = home.use_a_copy();
    home.start_daemon();
    home.ok(&["start", "a"]);
    until("it talks", || (!home.log("a").is_empty()).then_some(()));
    delay(&program, &format!("sleep {}", STALL.as_secs()));
    home.with_the_built_program(|home| {
        home.ok(&["reexec"]);
        home.write("done", "");
        let run = home.ended_run("a");
        assert_eq!((&run["outcome"], run.get("cause")), (&"ok".into(), None), "{run}");
    });
}

/// CTL-11: a successor that cannot write the store goes on with what runs; records wait until it can.
#[test]
fn a_successor_that_cannot_write_the_store_takes_over() {
    let mut home = Home::new("[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\n");
    home.write("empty", "");
    home.for_an_ordinary_user();
    let program = match nix::unistd::geteuid().is_root() {
        true => home.path("the-program"),
        false => home.use_a_copy(),
    };
    home.start_daemon();
    home.ok(&["start", "a"]);
    let pid = home.pid("a");
    let store = home.path(".local/state/harnessd/state.db");
    delay(&program, &format!("chmod 0400 '{}'", store.display()));
    let trouble = |home: &Home| home.ok(&["status", "--json"]).json()["trouble"].to_string();
    home.ok(&["reexec"]);
    assert!(trouble(&home).contains("records wait in memory"), "{}", trouble(&home));
    assert_eq!(home.pid("a"), pid);
    home.ok(&["stop", "a", "--wait"]);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    until("the records are written", || (trouble(&home) == "[]").then_some(()));
    assert_eq!(home.ended_run("a")["outcome"], "stopped");
}

/// RUN-0, CTL-11: a login that is made between two programs is noticed.
#[test]
fn a_login_during_a_re_execution_is_noticed() {
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report/claude-code");
    let mut home = Home::new("[harness.a]\nagent = \"claude-code\"\nprompt = \"go\"\n");
    home.write(
        "bin/claude",
        &format!("#!/bin/sh\ncat '{}'\nexit 1\n", answers.join("401-oauth.jsonl").display()),
    );
    fs::set_permissions(home.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = path_with(&home.path("bin"));
    home.set("PATH", &path);
    let program = home.use_a_copy();
    home.start_daemon();
    let waits = |home: &Home| home.harness("a")["waiting"]["reason"] == "login";
    assert_eq!(home.harnessd(&["start", "a", "--wait"]).code, 1);
    assert!(waits(&home));
    home.with_the_built_program(|home| {
        delay(&program, "true");
        home.ok(&["reexec"]);
        assert!(waits(home), "nothing has changed");
        delay(&program, "mkdir -p ~/.claude; echo good > ~/.claude/.credentials.json");
        home.ok(&["reexec"]);
        until("the login is noticed", || (!waits(home)).then_some(()));
    });
}

/// Lets the worker threads of a process stand still until this is dropped, as a file system that does not
/// answer does. None: processes may not be traced here.
struct Frozen(Vec<Pid>);

impl Frozen {
    fn workers_of(pid: i32) -> Option<Self> {
        let mut frozen = Self(Vec::new());
        for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(Result::unwrap) {
            if !fs::read_to_string(task.path().join("comm")).unwrap().starts_with("worker-") {
                continue;
            }
            let thread = Pid::from_raw(task.file_name().to_str().unwrap().parse().unwrap());
            match ptrace::seize(thread, ptrace::Options::empty()) {
                Err(Errno::EPERM | Errno::ENOSYS) => return None,
                seized => seized.unwrap(),
            }
            ptrace::interrupt(thread).unwrap();
            waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
            frozen.0.push(thread);
        }
        assert!(!frozen.0.is_empty(), "there are workers");
        Some(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for thread in &self.0 {
            let _gone = ptrace::detach(*thread, None);
        }
    }
}

/// RUN-1: the end of a run waits for the commit of its repository, but not for ever: a file system may hang.
#[test]
fn a_run_ends_though_its_repository_cannot_be_read() {
    let mut home = Home::new(
        "[daemon]\nwatch = false\n[harness.a]\noneshot = true\ncmd = \"sh\"\nworkdir = \"~/r\"\n\
         args = [\"-c\", 'while [ ! -e ../done ]; do sleep 0.1; done']\n",
    );
    let commit = "0123456789012345678901234567890123456789";
    for directory in ["objects", "refs/heads"] {
        fs::create_dir_all(home.path("r/.git").join(directory)).unwrap();
    }
    home.write("r/.git/HEAD", "ref: refs/heads/main\n");
    home.write("r/.git/refs/heads/main", &format!("{commit}\n"));
    home.start_daemon();
    home.ok(&["start", "a"]);
    let Some(frozen) = Frozen::workers_of(home.daemon_pid()) else {
        return eprintln!("not tried: processes may not be traced here");
    };
    home.write("done", "");
    let run = home.ended_run("a");
    assert_eq!(
        (&run["outcome"], &run["git_before"], run.get("git_after")),
        (&"ok".into(), &commit.into(), None)
    );
    assert!(home.daemon_log().contains("cannot be read in time"), "{}", home.daemon_log());
    // An answer that comes after all is too late for that run, and the next one has its own.
    drop(frozen);
    home.ok(&["start", "a", "--wait"]);
    let runs = home.runs("a");
    let after: Vec<_> = runs.iter().map(|run| run.get("git_after").and_then(|at| at.as_str())).collect();
    assert_eq!(after, [Some(commit), None]);
}
