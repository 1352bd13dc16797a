//! Ending what a daemon that died has left behind: processes that are nobody's children here.
//!
//! Invariant: a process is touched only if it carries the id of such a run in its environment, or if it
//! hangs together with one that does (LIF-9). A pid and a start time alone prove nothing: after a reboot
//! both may come again.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::{SIGCONT, SIGKILL, SIGTERM};

use super::proc::{Facts, everybody, facts, find_errands};
use super::signal_exactly;
use crate::base::RunId;

/// How often it is looked whether they are gone. They are not our children, so nothing tells.
const LOOK: Duration = Duration::from_millis(10);
/// How long killed processes may take to vanish.
const DYING: Duration = Duration::from_secs(5);

/// A run that was never closed, with what is recorded of its main process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remnant {
    /// The run.
    pub run: RunId,
    /// Its main process, which led a session and a group of its own; none: no pid was stored yet.
    pub pid: Option<i32>,
    /// When that started, in clock ticks since boot.
    pub start_time: Option<u64>,
}

/// Ends every process of `runs`: TERM, and KILL after `grace`. Returns how many were found at first. One
/// that may not be signalled is left alone.
#[must_use]
pub fn end_runs(runs: &[Remnant], grace: Duration) -> usize {
    if runs.is_empty() {
        return 0;
    }
    let mut search = Search { runs, known: HashMap::new() };
    let found = search.look();
    let count = found.len();
    signal_all(&found, SIGTERM);
    signal_all(&found, SIGCONT);
    if !search.gone_within(grace) {
        let start = Instant::now();
        while start.elapsed() < DYING {
            let left = search.look();
            if left.is_empty() {
                break;
            }
            signal_all(&left, SIGKILL);
            thread::sleep(LOOK);
        }
    }
    count
}

/// Kills every process of an errand that an earlier user of a state directory has left; how many were found
/// at first. `daemons`: those of an earlier daemon too, which the caller knows to be gone, having its lock.
#[must_use]
pub fn end_lost_errands(state: &str, daemons: bool) -> usize {
    let find = || find_errands(|owner| if owner == state { daemons } else { is_of_the_dead(owner, state) });
    let found = find();
    let (mut left, start) = (found.clone(), Instant::now());
    while !left.is_empty() && start.elapsed() < DYING {
        signal_all(&left, SIGKILL);
        thread::sleep(LOOK);
        left = find();
    }
    found.len()
}

/// Whose errands those of this process are, of which there may be several beside the daemon: none other of
/// this boot is called so.
#[must_use]
pub fn passing_owner(state: &str) -> String {
    let pid = std::process::id();
    let start = i32::try_from(pid).ok().and_then(facts).map_or(0, |own| own.start_time);
    format!("{state}/{pid}-{start}")
}

/// Whether it is such an owner, of that state directory, and lives no more.
fn is_of_the_dead(owner: &str, state: &str) -> bool {
    let who = owner.strip_prefix(state).and_then(|who| who.strip_prefix('/')?.split_once('-'));
    let who = who.and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse::<u64>().ok()?)));
    who.is_some_and(|(pid, start)| facts(pid).is_none_or(|now| now.zombie || now.start_time != start))
}

fn signal_all(list: &[Facts], signal: i32) {
    for who in list {
        // One that is gone, or is another user's by now, cannot be ended by us; the run is closed anyway.
        let _sent = signal_exactly(who, signal);
    }
}

/// What was found once stays found: when the process that proved it is gone, nothing else would.
struct Search<'a> {
    runs: &'a [Remnant],
    known: HashMap<(i32, u64), RunId>,
}

impl Search<'_> {
    fn look(&mut self) -> Vec<Facts> {
        let mut seen = everybody();
        for (one, run) in &mut seen {
            *run = self.known.get(&(one.pid, one.start_time)).copied().or(*run);
        }
        let found = belonging(&seen, self.runs);
        self.known.extend(found.iter().map(|(one, run)| ((one.pid, one.start_time), *run)));
        found.into_iter().map(|(one, _)| one).filter(|one| !one.zombie).collect()
    }

    fn gone_within(&mut self, grace: Duration) -> bool {
        let start = Instant::now();
        loop {
            if self.look().is_empty() {
                return true;
            }
            if start.elapsed() >= grace {
                return false;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Which of all processes, each with the run that its environment names, belong to `runs`: those that
/// carry an id, those in a session or group that is theirs, and what any of these has started.
fn belonging(seen: &[(Facts, Option<RunId>)], runs: &[Remnant]) -> Vec<(Facts, RunId)> {
    let by_run: HashMap<RunId, &Remnant> = runs.iter().map(|one| (one.run, one)).collect();
    let mut owned: HashMap<i32, RunId> = HashMap::new();
    let mut circles: HashMap<i32, RunId> = HashMap::new();
    for (one, run) in seen {
        let Some((run, recorded)) = run.and_then(|run| by_run.get_key_value(&run)) else { continue };
        owned.insert(one.pid, *run);
        // Somebody may have put the id into the environment of a shell of his own: a session or group is
        // the run's only if a process of the run leads it, or the recorded main process did.
        let leads = |circle: i32| circle == one.pid || recorded.pid == Some(circle);
        circles.extend([one.session, one.pgid].into_iter().filter(|at| leads(*at)).map(|at| (at, *run)));
    }
    // A main process that bears another start time than the recorded one is a stranger with its pid.
    let strangers: HashSet<i32> = runs.iter().filter_map(|one| stranger(one, seen)).collect();
    circles.retain(|circle, _| !strangers.contains(circle));
    let mut more = true;
    while more {
        more = false;
        for (one, _) in seen {
            if owned.contains_key(&one.pid) || strangers.contains(&one.pid) {
                continue;
            }
            let shown = [one.session, one.pgid].iter().find_map(|circle| circles.get(circle));
            if let Some(run) = shown.or_else(|| owned.get(&one.ppid)).copied() {
                owned.insert(one.pid, run);
                more = true;
            }
        }
    }
    seen.iter().filter_map(|(one, _)| Some((*one, *owned.get(&one.pid)?))).collect()
}

/// The process that has the pid of a run's main process and is another one.
fn stranger(recorded: &Remnant, seen: &[(Facts, Option<RunId>)]) -> Option<i32> {
    let (one, run) = seen.iter().find(|(one, _)| Some(one.pid) == recorded.pid)?;
    let other_start = recorded.start_time.is_some_and(|at| at != one.start_time);
    (*run != Some(recorded.run) && (other_start || run.is_none())).then_some(one.pid)
}

#[cfg(test)]
mod tests {
    use super::{Remnant, belonging, is_of_the_dead, passing_owner};
    use crate::base::{RunId, RunIds, Wall};
    use crate::host::tree::Facts;

    fn ids() -> (RunId, RunId) {
        let mut ids = RunIds::new(1);
        (ids.next(Wall(1_000_000)), ids.next(Wall(2_000_000)))
    }

    /// A process of this pid, parent and session, which leads its own group.
    fn process(pid: i32, ppid: i32, session: i32, run: Option<RunId>) -> (Facts, Option<RunId>) {
        (
            Facts {
                pid,
                ppid,
                pgid: pid,
                session,
                start_time: 1000 + u64::from(pid.unsigned_abs()),
                zombie: false,
            },
            run,
        )
    }

    fn pids(seen: &[(Facts, Option<RunId>)], runs: &[Remnant]) -> Vec<i32> {
        belonging(seen, runs).into_iter().map(|(one, _)| one.pid).collect()
    }

    /// LIF-9: the run id finds a process where no pid was stored, whatever session it is in.
    #[test]
    fn what_carries_the_run_id_is_found_without_a_pid() {
        let (run, other) = ids();
        let seen = [
            process(10, 1, 10, Some(run)),
            process(11, 1, 11, Some(run)),
            process(12, 1, 12, Some(other)),
            process(13, 1, 13, None),
        ];
        assert_eq!(pids(&seen, &[Remnant { run, pid: None, start_time: None }]), [10, 11]);
    }

    /// LIF-9: a stranger that has got the pid of the main process is not touched, nor what hangs together
    /// with it: with another start time, and with the very same one, as after a reboot.
    #[test]
    fn a_stranger_with_the_pid_is_never_touched() {
        let (run, other) = ids();
        let family = |run| [process(10, 1, 10, run), process(11, 10, 10, None), process(12, 10, 12, None)];
        for start_time in [None, Some(7), Some(1010)] {
            let recorded = Remnant { run, pid: Some(10), start_time };
            assert_eq!(pids(&family(None), &[recorded]), [0; 0], "{start_time:?}");
            assert_eq!(pids(&family(Some(other)), &[recorded]), [0; 0], "{start_time:?}");
            // Something of the run is left elsewhere: it is ended, the stranger still is not.
            let left = process(20, 1, 20, Some(run));
            assert_eq!(pids(&[&family(None)[..], &[left]].concat(), &[recorded]), [20], "{start_time:?}");
        }
    }

    /// LIF-9: what hid its environment is found by the session or group of the main process, as long as
    /// something in it proves that it is the run's; and by its parents.
    #[test]
    fn what_hangs_together_with_the_run_is_its_own() {
        let (run, _) = ids();
        let main = process(10, 1, 10, Some(run));
        let bare = process(11, 1, 10, None);
        let in_group = (Facts { pgid: 10, ..process(12, 1, 12, None).0 }, None);
        let child = process(13, 10, 13, None);
        let grandchild = process(14, 13, 14, None);
        let stranger = process(30, 1, 30, None);
        let seen = [grandchild, child, bare, in_group, main, stranger];
        let recorded = Remnant { run, pid: Some(10), start_time: Some(1010) };
        assert_eq!(pids(&seen, &[recorded]), [14, 13, 11, 12, 10]);
        // The main process is gone: another one in its session proves the same, and without one nothing does.
        let witness = process(15, 1, 10, Some(run));
        assert_eq!(pids(&[bare, witness, stranger], &[recorded]), [11, 15]);
        assert_eq!(pids(&[bare, stranger], &[recorded]), [0; 0]);
    }

    /// LIF-9: errands are lost whose owner is gone, or was another process with the same pid.
    #[test]
    fn errands_are_lost_with_their_owner() {
        let own = passing_owner("8:42");
        let of = |start: u64| format!("8:42/{}-{start}", std::process::id());
        assert!(!is_of_the_dead(&own, "8:42"));
        assert!(is_of_the_dead(&of(1), "8:42"));
        assert!(is_of_the_dead(&format!("8:42/{}-1", i32::MAX), "8:42"));
        for other in ["8:42", "8:421/7-1", "8:42/", "8:42/7", "8:42/x-1", "foreground"] {
            assert!(!is_of_the_dead(other, "8:42"), "{other}");
        }
        assert!(!is_of_the_dead(&of(1), "8:4"));
    }

    /// LIF-9: a shell in which somebody has set the variable by hand does not draw its whole session in.
    #[test]
    fn a_copied_run_id_claims_no_foreign_session() {
        let (run, _) = ids();
        let (login, editor) = (process(40, 1, 40, None), process(41, 40, 40, None));
        let copied = process(42, 40, 40, Some(run));
        let recorded = Remnant { run, pid: Some(10), start_time: Some(1010) };
        assert_eq!(pids(&[login, editor, copied], &[recorded]), [42]);
    }
}
