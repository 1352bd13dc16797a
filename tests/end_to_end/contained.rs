//! Runs in control groups of their own, where the machine lets a test delegate one (LIF-5).
//!
//! That takes root and a mounted hierarchy of version 2; elsewhere these tests say so and return. What
//! is written to which file is pinned everywhere by `host::cgroup::tests`.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{Home, alive, sleeper, until};

/// A control group of the test's own, removed at the end.
struct Group(PathBuf);

impl Group {
    /// Made beside the test itself; none where that is not possible.
    fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let made = Self::place().and_then(|beside| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = beside.join(format!("harnessd-test-{}-{number}", std::process::id()));
            fs::create_dir(&path).ok().map(|()| Self(path))
        });
        if made.is_none() {
            eprintln!("not checked: this user may not make control groups of version 2 here");
        }
        made
    }

    fn place() -> Option<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let mount = line.split(' ').nth(4)?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        Some(Path::new(mount).join(own.trim_start_matches('/')))
    }

    /// As systemd does for `Delegate=yes`; false where the file system takes no such mark.
    fn mark(&self) -> bool {
        let path = CString::new(self.0.to_str().unwrap()).unwrap();
        // SAFETY: two terminated texts and one byte of a third, all of which outlive the call.
        let set = unsafe {
            nix::libc::setxattr(path.as_ptr(), c"trusted.delegate".as_ptr(), c"1".as_ptr().cast(), 1, 0)
        };
        let marked = set == 0;
        if !marked {
            eprintln!("not checked: a control group cannot be marked as delegated here");
        }
        marked
    }

    fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().filter_map(Result::ok);
        let paths = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("run-")).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _killed = fs::write(self.0.join("cgroup.kill"), "1");
        let gone = || {
            let below = fs::read_dir(&self.0).into_iter().flatten().filter_map(Result::ok);
            below.filter(|entry| entry.path().is_dir()).for_each(|entry| drop(fs::remove_dir(entry.path())));
            fs::remove_dir(&self.0).is_ok()
        };
        for _ in 0..1000 {
            if gone() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// A shell line that leaves an orphan without environment, session, group and parent of its run.
fn shedding(length: &str) -> String {
    format!("env -i setsid sh -c 'setsid sleep {length} &' & exec sleep 3600")
}

/// LIF-5: an orphan that shed every other mark is known by its control group: it ends with its own run
/// and with no other.
#[test]
fn an_orphan_that_shed_every_mark_ends_with_its_run() {
    let Some(group) = Group::new() else { return };
    if !group.mark() {
        return;
    }
    let mut home = Home::new(&format!(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"3601\"]\n[harness.b]\ncmd = \"sh\"\nargs = [\"-c\", \"{}\"]\n",
        shedding("3611.25"),
    ));
    home.in_group(&group.0);
    home.start_daemon();
    assert!(home.daemon_log().contains("each run gets a control group of its own"), "{}", home.daemon_log());
    home.ok(&["start", "a", "b"]);
    let orphan = until("the orphan sleeps", || sleeper("3611.25"));
    let groups = || fs::read_to_string(format!("/proc/{orphan}/cgroup")).unwrap();
    assert!(
        groups().contains(&format!("/run-{}", home.runs("b")[0]["id"].as_str().unwrap())),
        "{}",
        groups()
    );
    assert_eq!(group.runs().len(), 2);
    let other = home.pid("a");
    home.ok(&["stop", "b", "--wait"]);
    assert!(!alive(orphan), "nothing of a run that is over is alive");
    assert!(alive(other));
    assert_eq!(group.runs().len(), 1, "its group has gone with it");
    home.stop_daemon();
    assert!(group.runs().is_empty(), "{:?}", group.runs());
}

/// LIF-5, CTL-11: a successor, which begins in the group below the delegated one, goes on with the runs' groups
/// and makes new ones.
#[test]
fn a_successor_keeps_the_groups() {
    let Some(group) = Group::new() else { return };
    if !group.mark() {
        return;
    }
    let mut home = Home::new(&format!(
        "[harness.a]\ncmd = \"sleep\"\nargs = [\"3602\"]\n[harness.b]\ncmd = \"sh\"\nworkdir = \"~\"\n\
         args = [\"-c\", \"while [ ! -e go ]; do sleep 0.05; done; {}\"]\n",
        shedding("3614.25"),
    ));
    home.in_group(&group.0);
    home.start_daemon();
    home.ok(&["start", "b"]);
    home.ok(&["reexec"]);
    home.write("go", "");
    let orphan = until("the orphan sleeps", || sleeper("3614.25"));
    home.ok(&["start", "a", "--wait"]);
    assert_eq!(group.runs().len(), 2, "{:?}", group.runs());
    home.ok(&["stop", "b", "--wait"]);
    assert!(!alive(orphan), "nothing of a run that is over is alive");
    assert_eq!(group.runs().len(), 1, "its group has gone with it");
    home.stop_daemon();
    assert!(group.runs().is_empty(), "{:?}", group.runs());
}

/// LIF-5: without the mark nothing is made and nobody is moved, though root may write everywhere.
#[test]
fn a_group_that_was_not_delegated_is_left_alone() {
    let Some(group) = Group::new() else { return };
    let mut home = Home::new("[harness.a]\ncmd = \"sleep\"\nargs = [\"3602\"]\n");
    home.in_group(&group.0);
    home.start_daemon();
    home.ok(&["start", "a"]);
    assert!(home.daemon_log().contains("was not delegated to it"), "{}", home.daemon_log());
    let directories = fs::read_dir(&group.0).unwrap().filter(|one| one.as_ref().unwrap().path().is_dir());
    assert_eq!(directories.count(), 0);
    home.ok(&["stop", "a", "--wait"]);
}

/// LIF-9: what a killed daemon left is found by its control group, though its environment names no run.
#[test]
fn what_a_killed_daemon_left_is_found_by_its_group() {
    let Some(group) = Group::new() else { return };
    if !group.mark() {
        return;
    }
    let mut home =
        Home::new(&format!("[harness.b]\ncmd = \"sh\"\nargs = [\"-c\", \"{}\"]\n", shedding("3612.25")));
    home.in_group(&group.0);
    home.start_daemon();
    home.ok(&["start", "b"]);
    let orphan = until("the orphan sleeps", || sleeper("3612.25"));
    let run = home.runs("b")[0]["id"].clone();
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    assert!(alive(orphan));
    home.start_daemon();
    until("the orphan is ended", || (!alive(orphan) || sleeper("3612.25") != Some(orphan)).then_some(()));
    let runs = home.runs("b");
    let lost = runs.iter().find(|one| one["id"] == run).unwrap();
    assert_eq!(lost["outcome"], "lost");
    home.stop_daemon();
    assert!(group.runs().is_empty(), "{:?}", group.runs());
}

/// `memory_max`, `cpu_weight`: a run that cannot be limited is not started, and its record says why.
#[test]
fn a_limit_that_cannot_be_enforced_fails_the_start() {
    let config = "[harness.a]\noneshot = true\nrestart = \"no\"\ncmd = \"true\"\nmemory_max = \"64M\"\ncpu_weight = 10\n";
    let Some(group) = Group::new() else { return };
    let cause = |home: &mut Home| {
        home.in_group(&group.0);
        home.start_daemon();
        let said = home.harnessd(&["start", "a", "--wait"]);
        assert_ne!(said.code, 0, "{said:?}");
        let run = home.ended_run("a");
        assert_eq!(run["outcome"], "spawn-failed");
        assert!(group.runs().is_empty());
        home.stop_daemon();
        run["cause"].as_str().unwrap().to_owned()
    };
    let name = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = name.lines().find_map(|line| line.strip_prefix("0::")).unwrap().trim_end_matches('/');
    let path = format!("{own}/{}", group.0.file_name().unwrap().to_str().unwrap());
    let undelegated = format!(
        "`memory_max` and `cpu_weight` cannot be enforced: its control group `{path}` was not delegated to it (`Delegate=yes` in a systemd unit does that)"
    );
    assert_eq!(cause(&mut Home::new(config)), undelegated);
    if !group.mark() {
        return;
    }
    if fs::read_to_string(group.0.join("cgroup.controllers")).unwrap().contains("memory") {
        return eprintln!("not checked: the controller `memory` is handed out here");
    }
    assert_eq!(
        cause(&mut Home::new(config)),
        "`memory_max` needs the control group controller `memory`, which was not delegated to the daemon"
    );
}
