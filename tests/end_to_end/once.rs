//! RUN-4: one run in the foreground.

use crate::support::{Home, mark, until};

/// RUN-4: It needs no daemon, shows the output, records the run, and exits by the outcome.
#[test]
fn once_runs_records_and_exits_by_the_outcome() {
    let home = Home::new(
        "[harness.good]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo out; echo err >&2\"]\n\
         [harness.bad]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"exit 42\"]\nrestart = \"on-failure\"\n\
         [harness.dead]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"kill -9 $$\"]\n\
         [harness.gone]\noneshot = true\ncmd = \"nowhere-to-be-found\"\n",
    );
    let good = home.ok(&["once", "good"]);
    assert_eq!((good.out.as_str(), good.err.as_str()), ("out\nerr\n", ""));
    let run = &home.runs("good")[0];
    assert_eq!((&run["outcome"], &run["trigger"]), (&"ok".into(), &"once".into()));
    assert_eq!(home.log("good"), "out\nerr\n");
    let bad = home.harnessd(&["once", "bad"]);
    assert_eq!(
        (bad.code, bad.err.as_str()),
        (
            42,
            "error: the run of harness `bad` ended `failed`: exit status 42\n\
             \x20 help: `harnessd logs` with its name shows what it wrote\n"
        )
    );
    assert_eq!(home.runs("bad").len(), 1, "once is once, whatever the policy");
    assert_eq!(home.harnessd(&["once", "dead"]).code, 1);
    assert_eq!(home.runs("dead")[0]["cause"], "killed by SIGKILL");
    let gone = home.harnessd(&["once", "gone"]);
    assert_eq!(gone.code, 1);
    assert!(
        gone.err.contains("`nowhere-to-be-found` is not in PATH (/usr/local/bin:/usr/bin:/bin)"),
        "{gone:?}"
    );
    assert_eq!(home.runs("gone")[0]["outcome"], "spawn-failed");
}

/// RUN-4: The daemon and `once` exclude one another, by a lock that both take for the harness.
#[test]
fn once_and_the_daemon_never_run_one_harness_twice() {
    let mark = mark("once");
    let mut home = Home::new(&format!(
        "[harness.job]\noneshot = true\ncmd = \"sleep\"\nargs = [\"608\"]\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    home.ok(&["start", "job"]);
    home.wait_state("job", "running");
    let refused = home.harnessd(&["once", "job"]);
    assert_eq!(refused.code, 1);
    let pid = home.daemon_pid();
    assert_eq!(
        refused.err,
        format!(
            "error: harness `job` runs already, under process {pid}\n\
             \x20 help: wait for its end, or end it: `harnessd stop` ends what the daemon runs\n"
        )
    );
    home.ok(&["stop", "job", "--wait"]);
    let mut once = home.command(&["once", "job"]).spawn().unwrap();
    until("it runs in the foreground", || (home.processes_with(&mark).len() == 1).then_some(()));
    let refused = home.harnessd(&["start", "job", "--wait"]);
    assert_eq!(
        refused.err,
        format!(
            "error: harness `job` could not be started: it runs already, under process {}\n\
             \x20 help: wait for its end, or end it: `harnessd stop` ends what the daemon runs\n",
            once.id()
        )
    );
    assert_eq!(home.harness("job")["state"], "stopped", "that is no failure");
    let row = &home.runs("job")[0];
    assert_eq!((&row["trigger"], &row["outcome"]), (&"manual".into(), &"skipped".into()));
    // Ctrl-C ends the run with its tree.
    crate::support::kill(i32::try_from(once.id()).unwrap(), nix::libc::SIGINT);
    assert_eq!(once.wait().unwrap().code(), Some(1));
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    let rows = home.runs("job");
    let mut rows: Vec<_> =
        rows.iter().map(|run| (run["trigger"].as_str().unwrap(), run["outcome"].as_str().unwrap())).collect();
    rows.sort_unstable();
    assert_eq!(rows, [("manual", "skipped"), ("manual", "stopped"), ("once", "stopped")]);
}

/// RUN-4: What the daemon wants to run meanwhile waits or is skipped; neither is a failure.
#[test]
fn the_daemon_gives_way_to_once() {
    let mark = mark("way");
    let config = |more: &str| {
        format!("[harness.job]\ncmd = \"sleep\"\nargs = [\"609\"]\nenv = {{ {mark} = \"1\" }}\n{more}\n")
    };
    for (more, state) in [
        ("enabled = true\nrestart_delay = \"100ms\"", "backoff"),
        ("oneshot = true\nschedule = \"@every 1s\"", "stopped"),
    ] {
        let mut home = Home::new(&config(more));
        let mut once = home.command(&["once", "job"]).spawn().unwrap();
        until("it runs in the foreground", || (home.processes_with(&mark).len() == 1).then_some(()));
        home.start_daemon();
        let skipped = until("the daemon has met it", || {
            home.runs("job").into_iter().find(|run| run["outcome"] == "skipped")
        });
        assert_eq!(skipped["cause"], format!("it runs already, under process {}", once.id()));
        home.wait_state("job", state);
        crate::support::kill(i32::try_from(once.id()).unwrap(), nix::libc::SIGINT);
        once.wait().unwrap();
        home.wait_state("job", "running");
        home.stop_daemon();
        assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    }
}

/// CTL-6, CFG-3, RUN-4: Inside a project a bare name is the project's harness, and it runs in the project's root.
#[test]
fn once_runs_a_projects_harness() {
    let home = Home::new("");
    home.write("src/My App/harness.toml", "[harness.where]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"pwd; echo $HARNESSD_HARNESS $HARNESSD_PROJECT\"]\n");
    std::fs::create_dir_all(home.path("src/My App/deep/er")).unwrap();
    let output =
        home.command(&["once", "where"]).current_dir(home.path("src/My App/deep/er")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let root = std::fs::canonicalize(home.path("src/My App")).unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{}\nmy-app/where my-app\n", root.display())
    );
    assert!(
        home.path(".local/state/harnessd/logs/my-app@where").is_dir(),
        "`/` is written `@` in file names"
    );
}

/// A terminal that closes ends a foreground run, unless it was started under `nohup`.
#[test]
fn nohup_keeps_a_foreground_run() {
    let mark = mark("nohup");
    let home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"until [ -e go ]; do sleep 0.05; done\"]\nworkdir = \"~\"\nenv = {{ {mark} = \"1\" }}\n"
    ));
    let hang_up = |mut command: std::process::Command| {
        let once = command.spawn().unwrap();
        until("it runs", || (!home.processes_with(&mark).is_empty()).then_some(()));
        crate::support::kill(i32::try_from(once.id()).unwrap(), nix::libc::SIGHUP);
        once
    };
    assert_eq!(hang_up(home.command(&["once", "a"])).wait().unwrap().code(), Some(1));
    assert_eq!(home.runs("a")[0]["outcome"], "stopped");
    let program = env!("CARGO_BIN_EXE_harnessd");
    let clean = home.command(&[]);
    let command = {
        let mut nohup = std::process::Command::new("nohup");
        nohup
            .args([program, "once", "a"])
            .env_clear()
            .envs(clean.get_envs().filter_map(|(name, value)| Some((name, value?))));
        nohup.current_dir(home.path("")).stdin(std::process::Stdio::null());
        nohup
    };
    let mut once = hang_up(command);
    home.write("go", "");
    assert!(once.wait().unwrap().success());
    assert_eq!(home.runs("a")[0]["outcome"], "ok");
}

/// RUN-4, LIF-9: what cannot be recorded is not run; the error says why, and how to mend it.
#[test]
fn once_runs_nothing_that_it_cannot_record() {
    let home = Home::new(
        "[harness.job]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"echo ran >> traces\"]\nworkdir = \"~\"\n",
    );
    home.ok(&["once", "job"]);
    let store = home.path(".local/state/harnessd/state.db");
    let root: usize = rusqlite::Connection::open(&store)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'runs'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(&store).unwrap();
    // The schema stays: the store can be opened.
    bytes[(root - 1) * 4096..root * 4096].fill(0xa5);
    std::fs::write(&store, bytes).unwrap();
    let refused = home.harnessd(&["once", "job"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(std::fs::read_to_string(home.path("traces")).unwrap(), "ran\n");
    let store = store.display();
    let lines: Vec<_> = refused.err.lines().filter(|line| !line.contains(" ERROR ")).collect();
    assert_eq!(
        lines,
        [
            format!(
                "error: harness `job` could not be started: its start cannot be recorded: state store `{store}`: the \
                 database is damaged: database disk image is malformed"
            ),
            "  help: make room on the disk, or end what holds the store; a damaged one is moved aside by the next \
             `harnessd run`"
                .to_owned()
        ]
    );
}
