//! A state store that is damaged, goes away or has no room, and what stays behind when the daemon is killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use nix::libc::SIGKILL;
use serde_json::Value;

use crate::support::{Home, alive, mark, sleeper, until};

const STATE: &str = ".local/state/harnessd";

fn trouble(home: &Home) -> Vec<String> {
    let status = home.ok(&["status", "--json"]).json();
    status["trouble"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// The files of the state directory whose names hold `part`.
fn files(home: &Home, part: &str) -> Vec<String> {
    let entries = fs::read_dir(home.path(STATE)).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.into_string().ok()).filter(|name| name.contains(part)).collect()
}

/// A daemon that was killed while a resident harness ran.
fn killed(config: &str) -> Home {
    let mut home = Home::new(config);
    home.start_daemon();
    home.wait_state("a", "running");
    home.signal_daemon(SIGKILL);
    home.wait_daemon();
    home
}

/// Trap 25, CTL-13: a state store that is no database is moved aside; the daemon runs, says so in its log and
/// its status, and ends what the earlier one left although nothing records it any more. Readers and `once`
/// move nothing and say what will be done.
#[test]
fn trap_25_a_damaged_store_is_moved_aside_and_said() {
    let mark = mark("damaged");
    let mut home = killed(&format!(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"613\"]\nenabled = true\nenv = {{ {mark} = \"1\" }}\n\
         [harness.b]\noneshot = true\ncmd = \"true\"\n"
    ));
    let [left] = home.processes_with(&mark)[..] else { panic!("it outlives its daemon") };
    let noise = "this was a database once ".repeat(400);
    home.write(format!("{STATE}/state.db"), &noise);
    for args in [["runs", "a"], ["show", "0192a000"], ["logs", "a"], ["once", "b"]] {
        let said = home.harnessd(&args);
        let expected = format!(
            "error: state store `{}`: not a database\n  help: the next `harnessd run` moves it aside, keeps what can \
             still be read of it, and makes a new one\n",
            home.text(format!("{STATE}/state.db"))
        );
        assert_eq!((said.code, said.err), (1, expected), "{args:?}");
    }
    home.start_daemon();
    home.wait_state("a", "running");
    assert!(!alive(left) && home.processes_with(&mark).len() == 1, "one live process per harness");
    let aside = files(&home, ".corrupt-");
    let aside = aside.iter().find(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).unwrap();
    assert_eq!(home.read(format!("{STATE}/{aside}")), noise);
    let said = format!(
        "the state store was damaged (not a database): it lies at `{}`, a new one was made, and 0 runs, 0 intents and \
         the last slots of 0 schedules could be read",
        home.text(format!("{STATE}/{aside}"))
    );
    assert_eq!(trouble(&home), std::slice::from_ref(&said));
    assert!(home.ok(&["status"]).out.contains(&said) && home.daemon_log().contains(&said));
    home.ok(&["once", "b"]);
    assert_eq!(home.runs("b")[0]["outcome"], "ok");
    home.stop_daemon();
    home.start_daemon();
    assert_eq!(trouble(&home), [""; 0], "it is said while that daemon runs");
}

/// LIF-9, SCH-11: of a damaged store what can be read is kept: an open run is closed, a stopped harness stays
/// stopped, and no claimed slot comes again.
#[test]
fn what_a_damaged_store_still_tells_counts() {
    let mut home = killed(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"614\"]\nenabled = true\n\
         [harness.us]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\nrestart = \"unless-stopped\"\n",
    );
    home.start_daemon();
    home.ok(&["stop", "us", "--wait"]);
    home.signal_daemon(SIGKILL);
    home.wait_daemon();
    let path = home.path(format!("{STATE}/state.db"));
    let raw = rusqlite::Connection::open(&path).unwrap();
    let ask = "SELECT rootpage FROM sqlite_schema WHERE name = 'runs_open'";
    let root: u64 = raw.query_row(ask, [], |row| row.get(0)).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(raw);
    let file = fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 4096], (root - 1) * 4096).unwrap();
    home.start_daemon();
    assert!(trouble(&home)[0].contains("1 intents"), "{:?}", trouble(&home));
    assert_eq!(home.harness("us")["state"], "stopped");
    let outcomes: Vec<Value> =
        home.runs("a").iter().map(|run| run.get("outcome").cloned().unwrap_or_default()).collect();
    assert_eq!(outcomes, [Value::Null, "lost".into(), "lost".into()]);
}

/// LIF-9: a store that is removed under a running daemon is noticed at the next record; what the daemon
/// knows is in the new one, and the run that goes on is closed in it as if nothing had been.
#[test]
fn a_store_that_is_removed_is_made_again() {
    let mut home = Home::new(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"615\"]\n\
         [harness.b]\noneshot = true\ncmd = \"true\"\n[harness.t]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 1d\"\n",
    );
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    home.ok(&["start", "b", "--wait"]);
    let running = home.runs("a")[0].clone();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(home.path(STATE).join(file)).unwrap();
    }
    home.ok(&["start", "b", "--wait"]);
    let said = format!(
        "state store `{}`: it was removed or replaced while it was open: the one that is there now holds what was still known",
        home.text(format!("{STATE}/state.db"))
    );
    assert_eq!(trouble(&home), [said]);
    assert_eq!(home.runs("a"), std::slice::from_ref(&running));
    assert_eq!(home.runs("b").len(), 2, "the last run that had ended, and the one that noticed it");
    home.ok(&["stop", "a", "--wait"]);
    assert_eq!(
        (&home.runs("a")[0]["id"], &home.runs("a")[0]["outcome"]),
        (&running["id"], &"stopped".into())
    );
    let raw = rusqlite::Connection::open(home.path(format!("{STATE}/state.db"))).unwrap();
    let count = |table: &str| -> i64 {
        raw.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("intents"), count("firings")), (1, 1), "its intent and the phase of its interval");
}

/// LIF-9, RUN-4: a foreground run whose store goes away puts its record into the one that is there then.
#[test]
fn a_foreground_run_survives_its_store() {
    let home = Home::new(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"until [ -e go ]; do sleep 0.02; done\"]\nworkdir = \"~\"\n",
    );
    let mut once = home.command(&["once", "a"]).spawn().unwrap();
    let id = until("it runs", || {
        home.runs("a").first().filter(|run| run.get("pid").is_some()).map(|run| run["id"].clone())
    });
    for file in files(&home, "state.db") {
        fs::remove_file(home.path(STATE).join(file)).unwrap();
    }
    home.write("go", "");
    assert!(once.wait().unwrap().success());
    assert_eq!((&home.runs("a")[0]["id"], &home.runs("a")[0]["outcome"]), (&id, &"ok".into()));
    assert_eq!(files(&home, "corrupt"), [""; 0]);
}

/// LIF-9: a store that is gone at the start is said, where logs tell that there was one.
#[test]
fn a_store_that_is_gone_at_the_start_is_said() {
    let mark = mark("gone");
    let mut home = killed(&format!(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"616\"]\nenabled = true\nenv = {{ {mark} = \"1\" }}\n"
    ));
    for file in files(&home, "state.db") {
        fs::remove_file(home.path(STATE).join(file)).unwrap();
    }
    let logs = fs::read_dir(home.path(format!("{STATE}/logs/a"))).unwrap().count();
    home.start_daemon();
    home.wait_state("a", "running");
    assert_eq!(home.processes_with(&mark).len(), 1, "one live process per harness");
    let said = trouble(&home);
    assert!(said[0].starts_with("there are logs of earlier runs and no state store: "), "{said:?}");
    let now = fs::read_dir(home.path(format!("{STATE}/logs/a"))).unwrap().count();
    assert_eq!(now, logs + 1, "no log of a run that the store never knew is removed");
    let mut fresh = Home::new("");
    fresh.start_daemon();
    assert_eq!(trouble(&fresh), [""; 0], "a first start says nothing");
}

/// LIF-9: after the daemon was killed everything of its run is ended before the next start: a grandchild with
/// a session of its own, and one without any environment in the run's session; a stranger is not touched.
#[test]
fn everything_of_a_lost_run_is_ended() {
    let mark = mark("lost");
    let mut home = killed(&format!(
        "[harness.a]\ncmd = \"sh\"\nargs = [\"-c\", \"setsid sleep 617.1 & env -i sleep 617.2 & exec sleep 617.3\"]\n\
         enabled = true\nrestart = \"no\"\nenv = {{ {mark} = \"1\" }}\n"
    ));
    let pids: Vec<i32> =
        ["617.1", "617.2", "617.3"].iter().map(|length| until("all three run", || sleeper(length))).collect();
    let mut stranger = Command::new("sleep").arg("617.4").spawn().unwrap();
    home.configure("[harness.other]\ncmd = \"true\"\n");
    let id = home.runs("a")[0]["id"].clone();
    assert!(home.runs("a")[0]["process_start"].as_u64().unwrap() > 0);
    home.start_daemon();
    assert!(pids.iter().all(|pid| !alive(*pid)), "{pids:?}");
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let run = &home.runs("a")[0];
    assert_eq!(
        (&run["id"], &run["outcome"], &run["cause"]),
        (&id, &"lost".into(), &"the daemon went away while it ran".into())
    );
}

/// SCH-9, LIF-9: a run that waited for its turn when the daemon died is closed as `lost`, and says that it
/// was never started.
#[test]
fn a_queued_run_of_a_dead_daemon_is_closed() {
    let mut home = Home::new("[harness.a]\noneshot = true\ncmd = \"true\"\n");
    home.ok(&["once", "a"]);
    let raw = rusqlite::Connection::open(home.path(format!("{STATE}/state.db"))).unwrap();
    raw.execute_batch(
        "INSERT INTO runs (id, harness, trigger, attempt, planned_at, adapter, command, definition_hash)
         VALUES ('0192a000-0000-7000-8000-000000000001', 'a', 'schedule', 1, 5, 'generic', '[]', '0')",
    )
    .unwrap();
    drop(raw);
    home.ok(&["once", "a"]);
    let queued = |home: &Home| home.ok(&["show", "0192a000", "--json"]).json();
    assert_eq!(queued(&home).get("outcome"), None, "`once` knows nothing of the daemon's queue");
    home.start_daemon();
    let run = queued(&home);
    assert_eq!(
        (&run["outcome"], &run["cause"], run.get("started_at")),
        (&"lost".into(), &"the daemon went away before it was started".into(), None)
    );
}

/// RUN-3: a start bounds what is there: runs beyond a `keep_runs` that was lowered, and logs whose runs are
/// recorded no more. Foreign files, and the logs of runs that this store never knew, stay.
#[test]
fn a_start_tidies_up() {
    let config = "[harness.a]\noneshot = true\ncmd = \"echo\"\nargs = [\"x\"]\n";
    let mut home = Home::new(config);
    for _ in 0..4 {
        home.ok(&["once", "a"]);
    }
    let ids: Vec<String> = home.runs("a").iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    let raw = rusqlite::Connection::open(home.path(format!("{STATE}/state.db"))).unwrap();
    raw.execute("DELETE FROM runs WHERE id = ?1", [&ids[1]]).unwrap();
    drop(raw);
    let logs = format!("{STATE}/logs/a");
    let foreign = [
        "notes.txt".to_owned(),
        format!("{}.log.gz", ids[1]),
        "0192a000-0000-7000-8000-000000000001.log".into(),
    ];
    for file in &foreign {
        home.write(format!("{logs}/{file}"), "mine");
    }
    home.configure(&format!("{config}keep_runs = 2\n"));
    home.start_daemon();
    let there = || -> BTreeSet<String> {
        let entries = fs::read_dir(home.path(&logs)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let kept = [format!("{}.log", ids[0]), format!("{}.log", ids[2])];
    let expected: BTreeSet<String> = foreign.into_iter().chain(kept).collect();
    until("the logs are tidied", || (there() == expected).then_some(()));
    assert_eq!(home.runs("a").len(), 2);
}

/// RUN-3: the run of a harness that a reload removed is bounded by what the harness said last.
#[test]
fn the_last_run_of_a_removed_harness_is_bounded_too() {
    let mut home = Home::new("[harness.a]\ncmd = \"sleep\"\nargs = [\"618\"]\nkeep_runs = 2\n");
    home.start_daemon();
    for _ in 0..3 {
        home.ok(&["start", "a", "--wait"]);
        home.ok(&["restart", "a", "--wait"]);
        home.ok(&["stop", "a", "--wait"]);
    }
    home.ok(&["start", "a", "--wait"]);
    home.configure("");
    home.ok(&["reload"]);
    until("its last run has ended", || {
        let runs = home.ok(&["runs", "--json"]).json();
        let runs = runs["runs"].as_array().unwrap().clone();
        (runs.len() == 2 && runs.iter().all(|run| run["outcome"] == "stopped")).then_some(())
    });
}

/// A file system of its own, gone with the test.
struct Mount(PathBuf);

impl Mount {
    /// None: this user may not mount one.
    fn new(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mount = Self(at);
        mount.mounted("size=2m,mode=0700").then_some(mount)
    }

    fn mounted(&self, options: &str) -> bool {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "none"]).arg(&self.0);
        command.output().is_ok_and(|done| done.status.success())
    }

    fn remount(&self, options: &str) {
        assert!(self.mounted(&format!("remount,{options}")), "{options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// "A store on a read-only or full file system": a full one stops no daemon that starts, and what could not be
/// written is there when the fault ends; `bad_input` has the daemon that runs. A daemon that could write nothing
/// at all is refused, and readers read. On a mount of its own; where this user may not make one,
/// `store::tests::opening` shows the same with other means.
#[test]
fn a_full_disk_stops_no_start_and_a_read_only_one_no_reader() {
    let mut home = Home::new(
        "[harness.a]\noneshot = true\ncmd = \"true\"\n[harness.long]\noneshot = true\ncmd = \"sleep\"\nargs = [\"619\"]\n",
    );
    let state = home.path("small");
    let Some(mount) = Mount::new(state.clone()) else {
        eprintln!("not checked on a real file system: this user may not mount one");
        return;
    };
    home.set("HARNESSD_STATE_DIR", state.to_str().unwrap());
    home.start_daemon();
    home.ok(&["start", "long"]);
    home.wait_state("long", "running");
    let recovers = |home: &Home| until("it recovers", || trouble(home).is_empty().then_some(()));

    home.signal_daemon(SIGKILL);
    home.wait_daemon();
    let ballast = state.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write(&[0; 4096]).is_ok() || file.write(&[0]).is_ok() {}
    drop(file);
    home.start_daemon();
    // What is in the log's file already has room; what has none waits.
    fs::remove_file(ballast).unwrap();
    recovers(&home);
    assert_eq!(home.runs("long")[0]["outcome"], "lost");

    home.stop_daemon();
    mount.remount("ro");
    let said = home.harnessd(&["run"]);
    assert!(said.code == 1 && said.err.contains("read-only file system"), "{said:?}");
    assert_eq!(home.runs("long").len(), 1, "it can be read");
}
