//! What is read and written, on a directory that stands for the kernel's. Real groups are tried by
//! `tests/end_to_end/contained.rs`.

use std::collections::HashSet;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::place::{Place, find_in};
use super::{Containment, Limits};
use crate::base::{RunId, RunIds, Wall};

const UNIFIED: &[u8] = b"25 30 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const HYBRID: &[u8] = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
    32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
    41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 master:2 - cgroup2 cgroup2 rw\n";

fn found(cgroup: &str, mounts: &[u8], marked: &str) -> Result<Place, String> {
    find_in(cgroup.as_bytes(), mounts, |directory| directory == marked).map_err(|cause| cause.to_string())
}

fn place(root: &str, path: &str) -> Place {
    Place { root: root.into(), path: path.into() }
}

/// LIF-5: the group that was handed over is found, on a unified system and beside groups of version 1,
/// and again by a process that has already moved out of its way.
#[test]
fn a_marked_group_is_found() {
    let unit = "/system.slice/harnessd.service";
    let at = "/sys/fs/cgroup/system.slice/harnessd.service";
    let text = format!("0::{unit}\n");
    assert_eq!(found(&text, UNIFIED, at), Ok(place(at, unit)));
    assert_eq!(found(&format!("0::{unit}/supervisor\n"), UNIFIED, at), Ok(place(at, unit)));
    let at = "/sys/fs/cgroup/unified/system.slice/harnessd.service";
    assert_eq!(found(&format!("9:name=systemd:/x\n{text}"), HYBRID, at), Ok(place(at, unit)));
    assert_eq!(found("0::/\n", UNIFIED, "/sys/fs/cgroup"), Ok(place("/sys/fs/cgroup", "/")));
}

/// A mount may show a part of the hierarchy only, under any name.
#[test]
fn a_mount_that_shows_a_part_is_understood() {
    let part = b"5 1 0:2 /box /my\\040groups rw - cgroup2 none rw\n";
    assert_eq!(found("0::/box/a\n", part, "/my groups/a"), Ok(place("/my groups/a", "/box/a")));
    let outside = "its control group `/else` is not in the part that is mounted here".to_owned();
    assert_eq!(found("0::/else\n", part, "/my groups"), Err(outside));
}

/// LIF-5: a group that nobody handed over is left alone, whoever may write to it.
#[test]
fn a_group_without_a_mark_is_not_taken() {
    let refused = |path: &str| {
        Err(format!(
            "its control group `{path}` was not delegated to it (`Delegate=yes` in a systemd unit does that)"
        ))
    };
    assert_eq!(found("0::/a/b\n", UNIFIED, "/sys/fs/cgroup/a"), refused("/a/b"));
    assert_eq!(found("0::/a/supervisor\n", UNIFIED, "/sys/fs/cgroup"), refused("/a/supervisor"));
    let absent = Err("no control groups of version 2 are mounted here".to_owned());
    assert_eq!(found("3:cpu:/a\n", UNIFIED, "/sys/fs/cgroup"), absent);
    assert_eq!(found("0::/a\n", b"32 31 0:29 / /c rw - cgroup cgroup rw,cpu\n", "/c/a"), absent);
}

/// A directory that looks like a delegated group with these controllers.
fn fake(directory: &tempfile::TempDir, controllers: &str) -> (Containment, Utf8PathBuf) {
    let root = Utf8Path::from_path(directory.path()).unwrap().to_owned();
    fs::write(root.join("cgroup.controllers"), controllers).unwrap();
    fs::write(root.join("cgroup.subtree_control"), "").unwrap();
    (Containment::at(root.clone(), "/unit".into()), root)
}

/// The files that the kernel would put into the group of a run.
fn furnish(root: &Utf8Path, run: RunId, files: &[&str]) -> Utf8PathBuf {
    let group = root.join(format!("run-{run}"));
    fs::create_dir(&group).unwrap();
    files.iter().for_each(|file| fs::write(group.join(file), "").unwrap());
    group
}

fn run() -> RunId {
    RunIds::new(7).next(Wall(1))
}

/// `memory_max`, `cpu_weight`: what is written, and where.
#[test]
fn limits_are_written_before_the_group_can_be_entered() {
    let directory = tempfile::tempdir().unwrap();
    let (containment, root) = fake(&directory, "cpuset cpu io memory pids\n");
    let group = furnish(&root, run(), &["cgroup.procs", "memory.max", "memory.oom.group", "cpu.weight"]);
    let limits = Limits { memory_max: Some(512 << 20), cpu_weight: Some(25) };
    assert!(containment.prepare(run(), limits).unwrap().required);
    let read = |file: &str| fs::read_to_string(group.join(file)).unwrap();
    assert_eq!(read("memory.max"), "536870912");
    assert_eq!(read("memory.oom.group"), "1");
    assert_eq!(read("cpu.weight"), "25");
    assert_eq!(read("cgroup.procs"), "", "the child enters by itself");
    // The kernel's file would hold both: each write adds one.
    assert_eq!(fs::read_to_string(root.join("cgroup.subtree_control")).unwrap(), "+cpuory");
}

/// A run that asks for nothing needs no controller, and starts without its group if it must.
#[test]
fn without_limits_no_controller_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let (containment, root) = fake(&directory, "cpu memory\n");
    let group = furnish(&root, run(), &["cgroup.procs"]);
    assert!(!containment.prepare(run(), Limits::default()).unwrap().required);
    assert_eq!(fs::read_to_string(root.join("cgroup.subtree_control")).unwrap(), "");
    assert_eq!(fs::read_dir(group).unwrap().count(), 1);
}

/// A limit whose controller is kept back is refused, and leaves no group behind.
#[test]
fn a_limit_that_cannot_be_put_in_force_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (containment, root) = fake(&directory, "memory\n");
    let refused = |limits| containment.prepare(run(), limits).unwrap_err().to_string();
    assert_eq!(
        refused(Limits { memory_max: None, cpu_weight: Some(1) }),
        "`cpu_weight` needs the control group controller `cpu`, which was not delegated to the daemon"
    );
    // It is there, and the file that it would bring is not.
    let limits = Limits { memory_max: Some(1), cpu_weight: None };
    assert_eq!(refused(limits), "`memory_max` cannot be enforced: no such file or directory");
    assert_eq!(refused(Limits::default()), "control group: no such file or directory");
    assert!(!root.join(format!("run-{}", run())).exists());
}

/// LIF-5: a kill is one word to the kernel, and a group counts as alive until it says that it is not.
#[test]
fn a_group_is_killed_and_asked_whether_it_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let (containment, root) = fake(&directory, "");
    assert!(!containment.is_populated(run()).unwrap());
    containment.kill(run()).unwrap();
    assert_eq!(containment.members(run()), [0; 0]);
    let group = furnish(&root, run(), &["cgroup.kill", "cgroup.events", "cgroup.procs", "memory.events"]);
    assert!(containment.is_populated(run()).is_err(), "it does not tell");
    fs::write(group.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
    assert!(containment.is_populated(run()).unwrap());
    fs::write(group.join("cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
    assert!(!containment.is_populated(run()).unwrap());
    containment.kill(run()).unwrap();
    assert_eq!(fs::read_to_string(group.join("cgroup.kill")).unwrap(), "1");
    fs::write(group.join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
    assert_eq!(containment.memory_kills(run()), 2);
    fs::create_dir(group.join("own")).unwrap();
    fs::write(group.join("cgroup.procs"), "0\n41\n").unwrap();
    fs::write(group.join("own/cgroup.procs"), "42\n").unwrap();
    assert_eq!(containment.members(run()), [41, 42]);
}

/// LIF-9: of the groups that are found at the start only those of lost runs are killed.
#[test]
fn a_sweep_kills_lost_runs_only() {
    let directory = tempfile::tempdir().unwrap();
    let (containment, root) = fake(&directory, "");
    let mut ids = RunIds::new(9);
    let [lost, foreign, empty] = [0; 3].map(|_| ids.next(Wall(2)));
    let files = ["cgroup.kill", "cgroup.events"];
    let [dying, living] = [lost, foreign].map(|run| furnish(&root, run, &files));
    furnish(&root, empty, &[]);
    fs::create_dir(root.join("run-of-somebody-else")).unwrap();
    // What is not a run's group of this daemon is not so much as looked at.
    fs::write(living.join("cgroup.events"), "populated 1\n").unwrap();
    fs::write(dying.join("cgroup.events"), "populated 0\n").unwrap();
    assert_eq!(containment.sweep(&HashSet::from([lost])), 0);
    let group = |run: RunId| root.join(format!("run-{run}"));
    assert_eq!(fs::read_to_string(living.join("cgroup.kill")).unwrap(), "");
    assert!(group(foreign).exists() && !group(empty).exists());
    assert!(root.join("run-of-somebody-else").exists());
    fs::write(dying.join("cgroup.events"), "unreadable\n").unwrap();
    assert_eq!(containment.sweep(&HashSet::from([lost])), 1);
    assert_eq!(fs::read_to_string(dying.join("cgroup.kill")).unwrap(), "1");
}

/// LIF-5: a process is of the run whose group it is in, or in one below that.
#[test]
fn a_process_is_of_the_run_whose_group_it_is_in() {
    let containment = Containment::at("/nowhere".into(), "/unit".into());
    let of = |path: &str| containment.run_in(format!("1:cpu:/unit/run-x\n0::{path}\n").as_bytes());
    assert_eq!(of(&format!("/unit/run-{}", run())), Some(run()));
    assert_eq!(of(&format!("/unit/run-{}/podman/a", run())), Some(run()));
    for other in [format!("/unit2/run-{}", run()), format!("/x/run-{}", run()), "/unit".to_owned()] {
        assert_eq!(of(&other), None, "{other}");
    }
    assert_eq!(of("/unit/supervisor"), None);
}
