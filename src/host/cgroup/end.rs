//! The end of a control group: who is in it, killing them, removing it.
//!
//! Invariant: whoever is killed here was in the group when the kernel was told to kill it, or could
//! not leave it any more.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use nix::libc::SIGKILL;

use super::group::write;
use crate::host::process::signal_pid;

/// How often processes are killed one by one where the kernel cannot kill or freeze a group.
const ROUNDS: usize = 16;

/// The processes in a group and below it.
pub(super) fn members(directory: &Utf8Path) -> Vec<i32> {
    let mut found = Vec::new();
    for group in with_those_below(directory) {
        let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        // 0 stands for a process that this pid namespace does not show.
        found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    }
    found
}

/// A group and all below it, those above first.
fn with_those_below(directory: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = vec![directory.to_owned()];
    let mut at = 0;
    while let Some(group) = found.get(at) {
        let entries = group.read_dir_utf8().into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<Utf8PathBuf> = below.map(|entry| entry.path().to_owned()).collect();
        found.extend(below);
        at += 1;
    }
    found
}

/// Whether a process is alive in a group or below it; no, if there is no such group.
pub(super) fn is_populated(directory: &Utf8Path) -> io::Result<bool> {
    match counter(&directory.join("cgroup.events"), "populated") {
        Ok(count) => Ok(count > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !directory.exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// One of the numbers of a file whose lines are a word and a number.
pub(super) fn counter(path: &Utf8Path, word: &str) -> io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let value = lines.find(|(name, _)| *name == word).and_then(|(_, value)| value.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("`{word}` is not told")))
}

/// Kills a group and everything below it.
pub(super) fn kill(directory: &Utf8Path) -> io::Result<()> {
    match write(&directory.join("cgroup.kill"), "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => one_by_one(directory),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The way of kernels before 5.14. A frozen process neither forks nor leaves nor reaps, so the pids
/// stay whose they are; a kernel that cannot freeze (before 5.2) is asked again until nobody is left.
fn one_by_one(directory: &Utf8Path) -> io::Result<()> {
    let frozen = write(&directory.join("cgroup.freeze"), "1").is_ok();
    let mut refused = None;
    for _ in 0..if frozen { 1 } else { ROUNDS } {
        let found = members(directory);
        if found.is_empty() {
            break;
        }
        let sent = found.into_iter().filter_map(|pid| signal_pid(pid, SIGKILL).err());
        refused = sent.collect::<Vec<_>>().pop();
    }
    if frozen {
        write(&directory.join("cgroup.freeze"), "0")?;
    }
    refused.map_or(Ok(()), Err)
}

/// Kills until nobody is left, for at most `patience`.
pub(super) fn kill_and_wait(directory: &Utf8Path, patience: Duration, look: Duration) {
    let start = Instant::now();
    // What cannot be killed now may be so later; what remains after all is told by the removal.
    while kill(directory).is_err() || is_populated(directory).unwrap_or(false) {
        if start.elapsed() >= patience {
            return;
        }
        thread::sleep(look);
    }
}

/// Removes a group and those below it, the lowest first.
pub(super) fn remove(directory: &Utf8Path) -> io::Result<()> {
    for group in with_those_below(directory).iter().rev() {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}
