//! Bugs of other supervisors (numbers as in the issue), each as a test against the real program.

use std::fs;

use crate::support::{Home, alive, kill, mark, sleeper, until};

fn resident(name: &str, script: &str, mark: &str) -> String {
    format!(
        "[harness.{name}]\ncmd = \"sh\"\nargs = [\"-c\", '''{script}''']\nenv = {{ {mark} = \"1\" }}\nenabled = true\n\
         restart_delay = \"10ms\"\nstop_timeout = \"300ms\"\n"
    )
}

/// Trap 1, LIF-5: the stop reaches more than the shell.
#[test]
fn trap_1_a_background_child_of_the_shell_is_stopped_too() {
    let mark = mark("trap1");
    let mut home = Home::new(&resident("shell", "sleep 601 & sleep 602 & echo up; wait", &mark));
    home.start_daemon();
    until("both children run", || (home.processes_with(&mark).len() == 3).then_some(()));
    home.ok(&["stop", "shell", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// Trap 2, LIF-5: the leader goes, a member of its group ignores TERM: not stopped before it is killed.
#[test]
fn trap_2_a_stop_is_over_only_when_the_group_is_empty() {
    let mark = mark("trap2");
    let script = "(trap '' TERM; echo deaf; while :; do sleep 1; done) & trap 'exit 0' TERM; wait";
    let mut home = Home::new(&resident("leader", script, &mark));
    home.start_daemon();
    until("the member ignores TERM", || home.log("leader").contains("deaf").then_some(()));
    home.ok(&["stop", "leader", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    assert_eq!(home.runs("leader")[0]["outcome"], "stopped");
}

/// Trap 3, LIF-6: an exit is seen at once though a grandchild holds the output open; the leftover is
/// ended and what it still prints is captured.
#[test]
fn trap_3_a_grandchild_that_holds_the_output_delays_nothing() {
    let mark = mark("trap3");
    let script = "setsid sh -c 'trap \"echo last words; exit\" TERM; echo holding; while :; do sleep 0.1; done' & \
                  while ! grep -q holding \"$HOLD\" 2>/dev/null; do sleep 0.02; done; exit 3";
    let mut home = Home::new("");
    // The script waits until the grandchild has its trap: it looks into its own log.
    home.configure(&format!(
        "[harness.parent]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", '''{}''']\nenv = {{ {mark} = \"1\" }}\nstop_timeout = \"10s\"\n",
        script.replace("\"$HOLD\"", &format!("{}/.local/state/harnessd/logs/parent/*.log", home.text("")))
    ));
    home.start_daemon();
    let said = home.harnessd(&["start", "parent", "--wait"]);
    assert_eq!(said.code, 1);
    assert_eq!(
        said.err,
        "error: the run of harness `parent` ended `failed`: exit status 3\n\
             \x20 help: `harnessd logs` with its name shows what it wrote\n"
    );
    let run = home.ended_run("parent");
    assert_eq!((&run["outcome"], &run["exit_code"]), (&"failed".into(), &3.into()));
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    // The shell may say of its own children that they were terminated.
    let log = home.log("parent");
    assert!(log.starts_with("holding\n") && log.ends_with("last words\n"), "{log}");
}

/// Trap 4, LIF-8: a thousand deaths at once are all seen, none is left a zombie.
#[test]
fn trap_4_a_thousand_deaths_at_once_are_all_seen() {
    let mark = mark("trap4");
    let mut config = String::from("[daemon]\nmax_attempts = 0\n[defaults]\nrestart_delay = \"0s\"\n");
    for number in 0..1000 {
        config += &format!(
            "[harness.h{number}]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\nenv = {{ {mark} = \"1\" }}\n"
        );
    }
    let mut home = Home::new(&config);
    home.start_daemon();
    let running = || {
        let list = home.ok(&["list", "--json"]).json();
        let list = list["harnesses"].as_array().unwrap().clone();
        let pids = list.iter().filter(|one| one["state"] == "running" || one["state"] == "degraded");
        pids.filter_map(|one| one["pid"].as_i64())
            .map(|pid| i32::try_from(pid).unwrap())
            .collect::<Vec<i32>>()
    };
    let first = until("all run", || Some(running()).filter(|pids| pids.len() == 1000));
    first.iter().for_each(|pid| kill(*pid, nix::libc::SIGKILL));
    let second = until("all run again", || {
        Some(running()).filter(|pids| pids.len() == 1000 && pids.iter().all(|pid| !first.contains(pid)))
    });
    assert!(
        first.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()),
        "zombies are left"
    );
    assert!(second.iter().all(|pid| alive(*pid)));
    home.ok(&["stop", "--all", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", home.daemon_pid())).unwrap();
    assert_eq!(children, "", "no zombie");
}

/// LIF-8: what is reparented to the daemon while its run goes on is reaped when it ends.
#[test]
fn an_adopted_process_that_ends_is_no_zombie() {
    let script = "for i in 1 2 3 4 5 6 7 8; do setsid -f sh -c \"while [ ! -e go ]; do sleep 0.02; done\"; done; exec sleep 610";
    let mut home = Home::new(&format!(
        "[harness.forks]\ncmd = \"sh\"\nworkdir = \"~\"\nargs = [\"-c\", '{script}']\nstop_timeout = \"300ms\"\n"
    ));
    home.start_daemon();
    home.ok(&["start", "forks", "--wait"]);
    let children = || {
        let text = fs::read_to_string(format!("/proc/{0}/task/{0}/children", home.daemon_pid())).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    until("the daemon has adopted all eight", || (children().len() == 9).then_some(()));
    home.write("go", "");
    // A zombie stays in the list until it is reaped.
    until("only the main process is left", || (children() == [home.pid("forks").to_string()]).then_some(()));
    assert_eq!(home.harness("forks")["state"], "running");
}

/// Trap 5, RUN-1: programs that end before their pid could be noted are all recorded.
#[test]
fn trap_5_exits_that_come_at_once_are_all_recorded() {
    let mut config = String::new();
    for number in 0..1000 {
        config += &format!("[harness.h{number}]\noneshot = true\ncmd = \"true\"\n");
    }
    let mut home = Home::new(&config);
    home.start_daemon();
    let names: Vec<String> = (0..1000).map(|number| format!("h{number}")).collect();
    let start: Vec<&str> = ["start", "--wait"].into_iter().chain(names.iter().map(String::as_str)).collect();
    home.ok(&start);
    let runs = home.ok(&["runs", "--json", "-n", "2000"]).json()["runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 1000);
    assert!(runs.iter().all(|run| run["outcome"] == "ok" && run["exit_code"] == 0), "{runs:?}");
}

/// Traps 7 and 8, LIF-7: no blocked mask, no ignored SIGPIPE reaches the child, though the daemon has both.
#[test]
fn trap_8_a_broken_pipe_ends_its_writer() {
    let mut home = Home::new(
        "[harness.pipe]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"yes | head -1; grep -E 'Sig(Blk|Ign)' /proc/self/status\"]\n",
    );
    home.start_daemon();
    home.ok(&["start", "pipe", "--wait"]);
    assert_eq!(home.log("pipe"), "y\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

/// Trap 9, LIF-7: a descriptor that the daemon was started with does not reach a child.
#[test]
fn trap_9_no_descriptor_is_inherited() {
    use std::os::fd::AsRawFd;
    let mut home =
        Home::new("[harness.fds]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"ls /proc/$$/fd\"]\n");
    let leak = fs::File::open("/").unwrap();
    // Clear close-on-exec: whatever starts the daemon may leak descriptors into it.
    nix::fcntl::fcntl(&leak, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    home.start_daemon();
    let daemons = fs::read_link(format!("/proc/{}/fd/{}", home.daemon_pid(), leak.as_raw_fd()));
    assert_eq!(daemons.unwrap(), std::path::Path::new("/"), "the daemon has it");
    home.ok(&["start", "fds", "--wait"]);
    assert_eq!(home.log("fds"), "0\n1\n2\n");
}

/// Trap 17 (agents), LIF-6: a grandchild with a session of its own does not outlive an `ok` run either.
#[test]
fn trap_17_what_a_run_forked_away_ends_with_it() {
    let mark = mark("trap17");
    let mut home = Home::new(&format!(
        "[harness.fork]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"setsid sh -c 'env -u HARNESSD_RUN_ID sleep 603' & setsid sleep 604 & echo done\"]\n\
         env = {{ {mark} = \"1\" }}\nstop_timeout = \"300ms\"\n"
    ));
    home.start_daemon();
    home.ok(&["start", "fork", "--wait"]);
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    assert_eq!(home.runs("fork")[0]["outcome"], "ok");
}

/// Trap 17, LIF-5: a process that has shed mark and session may be of any run that was there when it
/// started; another run's end does not end it while such a run is alive.
#[test]
fn trap_17_an_orphan_without_a_mark_survives_the_end_of_another_run() {
    let length = format!("7771.{}", std::process::id());
    let mut home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\n\
         args = [\"-c\", \"env -i PATH=$PATH setsid -f sleep {length}; sleep 607\"]\nstop_timeout = \"300ms\"\n\
         [harness.b]\noneshot = true\ncmd = \"sleep\"\nargs = [\"0.1\"]\n"
    ));
    home.start_daemon();
    home.ok(&["start", "a"]);
    let orphan = until("the daemon adopts the orphan", || {
        let orphan = sleeper(&length)?;
        let status = fs::read_to_string(format!("/proc/{orphan}/status")).ok()?;
        status.contains(&format!("PPid:\t{}\n", home.daemon_pid())).then_some(orphan)
    });
    home.ok(&["start", "b", "--wait"]);
    assert_eq!(home.runs("b")[0]["outcome"], "ok");
    assert_eq!(sleeper(&length), Some(orphan), "it is not a process of b");
    home.ok(&["stop", "a", "--wait"]);
    assert_eq!(sleeper(&length), None, "it does not outlive the only run that it can be of");
}

/// Trap 17, LIF-5: such a process is ended with its run though it was adopted while the run was alive.
#[test]
fn trap_17_an_orphan_without_a_mark_that_is_found_early_ends_with_its_run() {
    let length = format!("7772.{}", std::process::id());
    let mut home = Home::new(&format!(
        "[harness.early]\noneshot = true\ncmd = \"sh\"\nstop_timeout = \"300ms\"\n\
         args = [\"-c\", 'env -i PATH=$PATH setsid -f sleep {length}; (sh -c \"sleep 0.3 &\"); sleep 1; echo done']\n"
    ));
    home.start_daemon();
    home.ok(&["start", "early"]);
    until("the orphan runs", || sleeper(&length));
    let run = home.ended_run("early");
    assert_eq!((&run["outcome"], home.log("early").as_str()), (&"ok".into(), "done\n"));
    assert_eq!(sleeper(&length), None, "it does not outlive its run");
}

/// Trap 20, LIF-2: a run that the daemon died with is closed as `lost` at the next start, what was
/// alive of it is ended, and the harness is free again.
#[test]
fn trap_20_a_run_that_the_daemon_died_with_is_closed() {
    let mark = mark("trap20");
    let mut home = Home::new(&format!(
        "[harness.long]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"setsid sleep 605 & sleep 606\"]\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    home.ok(&["start", "long"]);
    until("its processes run", || (home.processes_with(&mark).len() == 3).then_some(()));
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    assert!(!home.processes_with(&mark).is_empty(), "they outlive a killed daemon");
    home.start_daemon();
    let runs = home.runs("long");
    assert_eq!(runs.len(), 1, "a one-shot is not run again");
    assert_eq!(runs[0]["outcome"], "lost");
    assert_eq!(runs[0]["cause"], "the daemon went away while it ran");
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    assert_eq!(home.harness("long")["state"], "stopped");
    assert_eq!(home.ok(&["start", "long"]).out, "long: starting\n");
}

/// Trap 21, CFG-10: changing one of a hundred touches no other; a comment touches none.
#[test]
fn trap_21_a_reload_touches_only_what_changed() {
    let config = |word: &str| {
        let mut text = String::new();
        for number in 0..100 {
            let arg = if number == 50 { word } else { "600" };
            text += &format!("[harness.h{number}]\ncmd = \"sleep\"\nargs = [\"{arg}\"]\nenabled = true\n");
        }
        text
    };
    let mut home = Home::new(&format!("[daemon]\nwatch = false\n{}", config("600")));
    home.start_daemon();
    let pids = || {
        let list = home.ok(&["list", "--json"]).json();
        let list = list["harnesses"].as_array().unwrap().clone();
        list.iter().map(|one| one["pid"].as_i64()).collect::<Vec<_>>()
    };
    let first = until("all run", || Some(pids()).filter(|pids| pids.iter().all(Option::is_some)));
    home.configure(&format!("# a comment\n[daemon]\nwatch = false\n{}", config("600")));
    home.ok(&["reload"]);
    assert_eq!(pids(), first);
    home.configure(&format!("[daemon]\nwatch = false\n{}", config("700")));
    home.ok(&["reload"]);
    assert_eq!(pids(), first, "a running process is never bounced");
    assert_eq!(home.harness("h50")["changed"], true);
    assert_eq!(home.harness("h51")["changed"], false);
    home.ok(&["restart", "h50", "--wait"]);
    assert_eq!(home.harness("h50")["changed"], false);
    let now = pids();
    assert_eq!(now.iter().zip(&first).filter(|(now, first)| now != first).count(), 1);
}

/// Trap 22, CTL-3: of twenty daemons that start at once one wins; the losers name it and leave its
/// socket alone.
#[test]
fn trap_22_of_twenty_daemons_one_wins() {
    let home = Home::new("");
    let mut started: Vec<_> = (0..20)
        .map(|_| home.command(&["run"]).stderr(std::process::Stdio::piped()).spawn().unwrap())
        .collect();
    let mut errors = Vec::new();
    until("nineteen give up", || {
        started.retain_mut(|one| {
            let ended = one.try_wait().unwrap();
            if let Some(status) = ended {
                use std::io::Read;
                let mut text = String::new();
                one.stderr.take().unwrap().read_to_string(&mut text).unwrap();
                errors.push((status.code(), text));
            }
            ended.is_none()
        });
        (started.len() == 1).then_some(())
    });
    let winner = started[0].id();
    until("the winner answers", || (home.harnessd(&["status"]).code == 0).then_some(()));
    for (code, error) in errors {
        assert_eq!(code, Some(1), "{error}");
        let state = home.text(".local/state/harnessd");
        let whole = format!(
            "error: state directory `{state}`: `{state}/lock` is locked by process {winner}\n  help: stop that daemon, or choose another directory with `--state-dir`\n"
        );
        assert_eq!(error, whole);
    }
    kill(i32::try_from(winner).unwrap(), nix::libc::SIGTERM);
    assert!(started[0].wait().unwrap().success());
}

/// Trap 23, CTL-3: a pid file that names a living process and a left-over socket keep nobody out.
#[test]
fn trap_23_stale_files_do_not_matter() {
    let mut home = Home::new("");
    home.start_daemon();
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    assert!(home.path(".local/state/harnessd/harnessd.sock").exists(), "the socket is left over");
    home.write(".local/state/harnessd/lock", "1\n");
    home.start_daemon();
    home.ok(&["status"]);
}

/// Trap 6, LIF-8: a pid that the daemon has reaped may be anybody's. In a namespace of pids of its own
/// the number of a dead main process is given to a stranger while the run's leftovers are still being
/// ended: the kill does not reach it. (`tests/host/tree.rs` pins the same without a namespace.)
#[test]
fn trap_6_a_stranger_with_a_recycled_pid_lives() {
    let home = Home::new(
        "[harness.h]\noneshot = true\ncmd = \"sh\"\n\
         args = [\"-c\", \"setsid sh -c 'trap \\\"\\\" TERM; touch deaf; while :; do sleep 0.1; done' & while [ ! -e deaf ]; do sleep 0.02; done\"]\n\
         workdir = \"~\"\nstop_timeout = \"2s\"\n",
    );
    home.write(
        "recycle",
        r#"set -eu
harnessd run 2> daemon.log & daemon=$!
until harnessd status > /dev/null 2>&1; do sleep 0.05; done
harnessd start h > /dev/null
until harnessd list | grep -q stopping; do sleep 0.02; done
main=$(harnessd runs h --json | tr -d ' ,' | sed -n 's/^"pid"://p')
while :; do
    echo $((main - 1)) > /proc/sys/kernel/ns_last_pid
    setsid sleep 1000 & stranger=$!
    [ $stranger = $main ] && break
    kill $stranger
done
harnessd list | grep -q stopping && echo recycled in time
until harnessd list | grep -q stopped; do sleep 0.05; done
kill -0 $main && echo the stranger lives
kill $main $daemon
wait $daemon
"#,
    );
    let mut command = std::process::Command::new("unshare");
    let root = nix::unistd::geteuid().is_root();
    command.args(if root {
        ["-pf", "--mount-proc"].as_slice()
    } else {
        ["-Urpf", "--mount-proc"].as_slice()
    });
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_harnessd")).parent().unwrap();
    command.args(["sh", "recycle"]).env_clear().env("HOME", home.path("")).current_dir(home.path(""));
    command.env("PATH", crate::support::path_with(programs));
    let output = command.output().unwrap();
    let refused = String::from_utf8_lossy(&output.stderr).contains("unshare failed");
    if refused && !root {
        // No namespace for this user on this machine; the host's own test has judged.
        return;
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "recycled in time\nthe stranger lives\n", "{output:?}\n{}", home.daemon_log());
}
