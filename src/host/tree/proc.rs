//! Reading `/proc`.
//!
//! Invariant: a process may vanish between any two reads; that is no error,
//! it is then left out.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use crate::base::RunId;

/// The parent of all kernel threads, where they are seen at all.
const KERNEL_THREADS: i32 = 2;
/// So often an environment must be empty before it counts as such.
const LOOKS: usize = 3;
/// How often and how long it is waited for an `exec` to be over. It may have to read its program from a
/// busy disk.
const EXEC_LOOKS: usize = 500;
const LOOK: Duration = Duration::from_millis(1);
/// `PF_KTHREAD` among the flags of a process.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The environment variable that marks every process of a run.
const RUN_ID: &[u8] = b"HARNESSD_RUN_ID=";
/// The environment variable that marks every process of an errand: its id, and whose errand it is.
pub const ERRAND: &str = "HARNESSD_ERRAND";

/// What the kernel says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Its pid.
    pub pid: i32,
    /// Its parent.
    pub ppid: i32,
    /// Its process group.
    pub pgid: i32,
    /// Its session.
    pub session: i32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Whether it has ended and is not reaped yet.
    pub zombie: bool,
}

/// The facts of a process; none if there is none of that pid.
#[must_use]
pub fn facts(pid: i32) -> Option<Facts> {
    parse_stat(pid, &read(&format!("/proc/{pid}/stat"), 1024).ok()?)
}

/// Reads a file of `/proc`. They say that they are empty, so `fs::read` would feel its way with
/// many small reads; `expected` bytes are read at once.
fn read(path: &str, expected: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file by one call: of a process that executes another program the rest of an environment is
/// gone by a second one.
fn at_once(path: &str) -> io::Result<Vec<u8>> {
    let mut size = 32 * 1024;
    loop {
        let mut bytes = vec![0; size];
        let count = File::open(path)?.read(&mut bytes)?;
        if count < size {
            bytes.truncate(count);
            return Ok(bytes);
        }
        size *= 8;
    }
}

/// Reads a line of `/proc/PID/stat`. The second field is the program's name in
/// parentheses, which may itself hold spaces, parentheses and line breaks: the
/// last `)` ends it.
fn parse_stat(pid: i32, line: &[u8]) -> Option<Facts> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let mut next = || fields.next()?.parse().ok();
    let (ppid, pgid, session) = (next()?, next()?, next()?);
    // Fields 7 to 21 lie between the session and the start time.
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Facts { pid, ppid, pgid, session, start_time, zombie })
}

/// The direct children of this process, adopted orphans and zombies among them.
///
/// One read of the kernel's list per thread; where the kernel keeps none, a
/// walk over all of `/proc`.
///
/// # Errors
/// If `/proc` is not there.
pub fn children_of_self() -> io::Result<Vec<i32>> {
    let own = i32::try_from(std::process::id()).map_err(io::Error::other)?;
    match listed_children("/proc/self/task") {
        Ok(children) => Ok(children),
        Err(_) => Ok(all_facts()?.filter(|one| one.ppid == own).map(|one| one.pid).collect()),
    }
}

/// Every process below `pid`, parents before their children. What forks while
/// the walk goes on may be missed: whoever kills walks again until nothing is found.
#[must_use]
pub fn descendants(pid: i32) -> Vec<i32> {
    let Ok(children) = listed_children(&format!("/proc/{pid}/task")) else { return descendants_by_scan(pid) };
    let mut found = children;
    let mut at = 0;
    while let Some(next) = found.get(at).copied() {
        // One that has vanished meanwhile has no children any more.
        found.extend(listed_children(&format!("/proc/{next}/task")).unwrap_or_default());
        at += 1;
    }
    found
}

/// The children of all threads of a process, from its `task` directory.
fn listed_children(tasks: &str) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    let mut seen = false;
    for task in fs::read_dir(tasks)?.flatten() {
        // A thread may end while its process is being read.
        let path = format!("{tasks}/{}/children", task.file_name().to_string_lossy());
        let Ok(list) = read(&path, 8192) else { continue };
        let list = String::from_utf8_lossy(&list);
        seen = true;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    if seen { Ok(children) } else { Err(io::ErrorKind::NotFound.into()) }
}

fn descendants_by_scan(pid: i32) -> Vec<i32> {
    let mut by_parent: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for one in all_facts().into_iter().flatten() {
        by_parent.entry(one.ppid).or_default().push(one.pid);
    }
    let mut found = by_parent.remove(&pid).unwrap_or_default();
    let mut at = 0;
    while let Some(next) = found.get(at) {
        let below = by_parent.remove(next).unwrap_or_default();
        found.extend(below);
        at += 1;
    }
    found
}

/// The environment that a process was executed with. Empty for a zombie; none for a process whose
/// environment this user may not read. One that is in the middle of an `exec` is waited for: until it
/// has its new environment it seems to have none, and nobody would look at it again.
fn environment_of(pid: i32) -> Option<Vec<u8>> {
    let path = format!("/proc/{pid}/environ");
    let mut empty = 0;
    for _ in 0..EXEC_LOOKS {
        let environment = at_once(&path).ok()?;
        if !environment.is_empty() {
            return Some(environment);
        }
        let stat = read(&format!("/proc/{pid}/stat"), 1024).ok()?;
        if in_exec(&stat) {
            thread::sleep(LOOK);
        } else if empty == LOOKS || parse_stat(pid, &stat).is_none_or(|one| one.zombie) {
            break;
        } else {
            // The `exec` may have ended between the two reads.
            empty += 1;
        }
    }
    Some(Vec::new())
}

/// Whether a line of `/proc/PID/stat` is that of a process whose new memory is not laid out yet: the
/// kernel notes where the environment lies before it notes where the code begins.
fn in_exec(line: &[u8]) -> bool {
    let Some(name_end) = line.iter().rposition(|byte| *byte == b')') else { return false };
    let rest = String::from_utf8_lossy(&line[name_end + 1..]);
    let mut fields = rest.split_ascii_whitespace();
    let zombie = fields.next().is_none_or(|state| matches!(state, "Z" | "X" | "x"));
    // The flags are field 9, the start of the code is field 26.
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok());
    let code = fields.nth(16);
    !zombie && flags.is_some_and(|flags| flags & KERNEL_THREAD == 0) && code == Some("0")
}

/// The run or the errand that a process says it belongs to, by the environment that it was executed
/// with. None for a zombie, which has none, and for a process whose environment this user may not read.
#[must_use]
pub fn tree_id_of(pid: i32) -> Option<RunId> {
    let environment = environment_of(pid)?;
    run_id_in(&environment).or_else(|| errand_in(&environment).map(|(id, _)| id))
}

/// The id of an errand, and whose it is: `HARNESSD_ERRAND=ID@OWNER`.
fn errand_in(environment: &[u8]) -> Option<(RunId, &str)> {
    let variables = environment.split(|byte| *byte == 0);
    let value =
        variables.into_iter().find_map(|one| one.strip_prefix(ERRAND.as_bytes())?.strip_prefix(b"="))?;
    let (id, owner) = std::str::from_utf8(value).ok()?.split_once('@')?;
    Some((id.parse().ok()?, owner))
}

/// Every living process on the machine that is of an errand whose owner fits.
pub(super) fn find_errands(fits: impl Fn(&str) -> bool) -> Vec<Facts> {
    let of_owner = |one: &Facts| {
        let environment = environment_of(one.pid).unwrap_or_default();
        errand_in(&environment).is_some_and(|(_, owner)| fits(owner))
    };
    let all = all_facts().into_iter().flatten();
    all.filter(|one| !one.zombie && one.ppid != KERNEL_THREADS && of_owner(one)).collect()
}

fn run_id_in(environment: &[u8]) -> Option<RunId> {
    let value = environment.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(RUN_ID))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Every process on the machine that this one sees, itself and the first one apart, each with the run
/// that its environment names.
pub(super) fn everybody() -> Vec<(Facts, Option<RunId>)> {
    let own = i32::try_from(std::process::id()).ok();
    let all = all_facts().into_iter().flatten();
    let others = all.filter(|one| Some(one.pid) != own && one.pid != 1);
    others.map(|one| (one, settled_run_id(&one))).collect()
}

/// Every living process, this one apart, whose environment names one of `runs`.
#[must_use]
pub fn find_by_run_ids(runs: &HashSet<RunId>) -> Vec<(RunId, Facts)> {
    let all = everybody().into_iter().filter(|(one, _)| !one.zombie);
    all.filter_map(|(one, run)| run.filter(|run| runs.contains(run)).map(|run| (run, one))).collect()
}

/// The run id of a process; kernel threads are not looked at, of which there may be hundreds.
fn settled_run_id(one: &Facts) -> Option<RunId> {
    if one.ppid == KERNEL_THREADS { None } else { run_id_in(&environment_of(one.pid)?) }
}

fn all_facts() -> io::Result<impl Iterator<Item = Facts>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.flatten().filter_map(|entry| facts(entry.file_name().to_str()?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::{Facts, errand_in, facts, in_exec, parse_stat, run_id_in};
    use crate::base::{RunIds, Wall};

    #[test]
    fn a_program_may_be_called_anything() {
        let line = b"7 (a) R 1 (\n\xff) Z 3 5 6 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1 2 3\n";
        let expected = Facts { pid: 7, ppid: 3, pgid: 5, session: 6, start_time: 4242, zombie: true };
        assert_eq!(parse_stat(7, line), Some(expected));
        assert_eq!(parse_stat(7, b"7 (cut) S 1 2"), None);
        assert_eq!(parse_stat(7, b""), None);
    }

    #[test]
    fn this_process_is_known_and_a_pid_that_cannot_exist_is_not() {
        let own = facts(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.start_time > 0 && !own.zombie && own.ppid > 0);
        assert_eq!(facts(i32::MAX), None);
    }

    /// LIF-5: a process without an environment is told from one that has none yet.
    #[test]
    fn a_process_in_the_middle_of_an_exec_is_told() {
        let line = |state: &str, flags: u64, code: u64| {
            let before = "1 2 3 4 5".to_owned();
            let between = vec!["9"; 16].join(" ");
            format!("7 (a) b) {state} {before} {flags} {between} {code} 9 9\n").into_bytes()
        };
        assert!(in_exec(&line("R", 0x0040_0000, 0)));
        assert!(!in_exec(&line("R", 0x0040_0000, 0x7ffc_1234)));
        assert!(!in_exec(&line("Z", 0x0040_0000, 0)));
        assert!(!in_exec(&line("S", super::KERNEL_THREAD, 0)));
        assert!(!in_exec(b"7 (cut) S 1 2"));
        let own = std::fs::read("/proc/self/stat").unwrap();
        assert!(!in_exec(&own));
    }

    /// LIF-5: the run id is found in an environment that holds other odd things.
    #[test]
    fn the_run_id_is_a_whole_variable() {
        let id = RunIds::new(1).next(Wall(1_000_000));
        let text = format!("A=\u{e9}\0XHARNESSD_RUN_ID=no\0HARNESSD_RUN_ID={id}\0\0B=1\0");
        assert_eq!(run_id_in(text.as_bytes()), Some(id));
        assert_eq!(run_id_in(b"HARNESSD_RUN_ID=seven\0"), None);
        assert_eq!(run_id_in(b"\xff\xfe=1\0"), None);
    }

    /// RUN-5: an errand has a mark of its own, with its owner.
    #[test]
    fn the_mark_of_an_errand_is_none_of_a_run() {
        let id = RunIds::new(1).next(Wall(1_000_000));
        let text = format!("A=1\0HARNESSD_ERRAND={id}@8:42\0");
        assert_eq!(errand_in(text.as_bytes()), Some((id, "8:42")));
        assert_eq!(run_id_in(text.as_bytes()), None);
        assert_eq!(errand_in(format!("HARNESSD_ERRAND={id}\0").as_bytes()), None);
        assert_eq!(errand_in(format!("HARNESSD_RUN_ID={id}\0").as_bytes()), None);
    }
}
