//! LIF-5, LIF-6, LIF-8: nothing of a run escapes, and nothing else is hit.

use std::collections::HashSet;

use harnessd::base::{RunId, RunIds, Wall};
use harnessd::host::clock::now;
use harnessd::host::process::{SpawnSpec, Spawned, reap, signal_pid, spawn};
use harnessd::host::tree::{
    ERRAND, Facts, Family, Reaped, become_subreaper, children_of_self, descendants, facts, find_by_run_ids,
    signal_exactly, tree_id_of,
};
use nix::libc::{SIGKILL, SIGTERM, SIGUSR1};

use super::child::{
    alone, await_any_death, await_death, await_ready, await_that, output_until, script, spec,
};

fn run_id() -> RunId {
    RunIds::new(harnessd::host::entropy::seed()).next(now().wall)
}

/// A child as a run: marked by its environment.
fn start(family: &mut Family, mut spec: SpawnSpec) -> (RunId, Spawned) {
    let run = run_id();
    spec.env.push(("HARNESSD_RUN_ID".into(), run.to_string().into()));
    let child = spawn(&spec).unwrap();
    family.started(run, child.pid, child.start_time);
    (run, child)
}

/// One turn of a loop after a SIGCHLD: waits for any death, reaps, tells, looks around.
fn turn(family: &mut Family) -> Vec<Reaped> {
    await_any_death();
    let reaped = reap().into_iter().map(|(pid, _)| family.reaped(pid)).collect();
    assert!(family.survey().unwrap().is_empty());
    reaped
}

fn turns_until_gone(family: &mut Family, run: RunId) {
    while !family.is_gone(run) {
        turn(family);
    }
    family.forget(run);
}

/// Trap 1, LIF-5: the stop signal reaches the whole group, not the shell alone.
#[test]
fn a_stop_reaches_the_whole_group() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let (run, child) = start(&mut family, script("sleep 1000 & sleep 1000 & echo ready; wait"));
    await_ready(&child, 1);
    assert_eq!(family.members(run).len(), 3);
    assert!(family.stop(run, SIGTERM).is_empty());
    turns_until_gone(&mut family, run);
    assert_eq!(output_until(&child, |_| false), b"", "nobody holds its output");
    assert!(children_of_self().unwrap().is_empty());
}

/// Trap 2, LIF-5: a leader that obeys does not save a member that does not.
#[test]
fn a_member_that_ignores_the_stop_is_killed_though_its_leader_has_gone() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let text = "trap 'exit 0' TERM; (trap '' TERM; echo ready; exec sleep 1000) & wait";
    let (run, child) = start(&mut family, script(text));
    await_ready(&child, 1);
    family.stop(run, SIGTERM);
    assert_eq!(turn(&mut family), [Reaped::Main(run)]);
    assert_eq!((family.is_gone(run), family.leftovers(run).len()), (false, 1));
    family.stop(run, SIGTERM);
    assert_eq!(family.members(run).len(), 1, "it ignores that");
    family.kill(run);
    assert_eq!(turn(&mut family), [Reaped::Leftover(run)]);
    assert!(family.is_gone(run));
}

/// Trap 3, LIF-6: the exit is seen while a grandchild outside the group holds
/// the output, one that has shed session and environment; it is found and stopped.
#[test]
fn leftovers_outside_the_group_are_found_and_stopped() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let bare = "setsid env -i /bin/sh -c 'echo ready; exec sleep 1000' &";
    let (run, child) = start(&mut family, script(&format!("setsid sleep 1000 & {bare} exit 3")));
    await_ready(&child, 1);
    await_death(child.pid);
    let mut reaped = turn(&mut family);
    while !reaped.contains(&Reaped::Main(run)) {
        reaped = turn(&mut family);
    }
    assert_eq!(family.leftovers(run).len(), 2);
    assert!(family.unclaimed().is_empty());
    assert!(family.stop(run, SIGTERM).is_empty());
    turns_until_gone(&mut family, run);
    assert_eq!(output_until(&child, |_| false), b"");
    assert!(children_of_self().unwrap().is_empty());
}

/// RUN-7: a check is a second main process of its run: its exit is the run's, and neither the kill of what
/// the first one left behind nor its session concerns it.
#[test]
fn a_second_main_process_of_a_run_begins_afresh() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let (run, agent) =
        start(&mut family, script("setsid sh -c 'trap \"\" TERM; echo ready; sleep 1000' & exit 0"));
    await_ready(&agent, 1);
    await_death(agent.pid);
    while !turn(&mut family).contains(&Reaped::Main(run)) {}
    family.kill(run);
    while !family.is_gone(run) {
        turn(&mut family);
    }
    let mut spec = script("(setsid sh -c 'echo ready; sleep 1000' &); echo ready; sleep 1000");
    spec.env.push(("HARNESSD_RUN_ID".into(), run.to_string().into()));
    let check = spawn(&spec).unwrap();
    family.started(run, check.pid, check.start_time);
    await_ready(&check, 2);
    await_that("its orphan is adopted", || children_of_self().unwrap().len() == 2);
    assert!(family.survey().unwrap().is_empty());
    assert_eq!((family.is_gone(run), family.leftovers(run).len()), (false, 1));
    assert!(family.leftovers(run).into_iter().all(lives), "it lives on beside the check");
    signal_pid(check.pid, SIGKILL).unwrap();
    assert_eq!(turn(&mut family), [Reaped::Main(run)]);
    family.kill(run);
    turns_until_gone(&mut family, run);
    assert!(children_of_self().unwrap().is_empty());
}

/// RUN-5: what an errand leaves behind is known by the errand's own mark, beside runs that are alive.
#[test]
fn leftovers_of_an_errand_are_not_a_runs() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let (run, _child) = start(&mut family, spec(&["/bin/sleep", "1000"]));
    let errand = run_id();
    let mut spec = script("setsid sleep 1000 & exit 0");
    spec.env.push((ERRAND.into(), format!("{errand}@somebody").into()));
    let main = spawn(&spec).unwrap();
    family.started(errand, main.pid, main.start_time);
    assert_eq!(turn(&mut family), [Reaped::Main(errand)]);
    assert_eq!((family.leftovers(errand).len(), family.leftovers(run).len()), (1, 0));
    family.kill(errand);
    turns_until_gone(&mut family, errand);
    assert!(!family.is_gone(run));
    family.kill(run);
    turns_until_gone(&mut family, run);
}

/// LIF-5: each leftover is of its own run, though all ended in one turn; one that shows nothing is
/// ended with one of them.
#[test]
fn leftovers_of_runs_that_ended_together_are_told_apart() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    // One marked by its environment in a session of its own, one by the session with a bare environment.
    let marked = start(&mut family, script("setsid sh -c 'echo ready; exec sleep 1000' & exit"));
    let bare = start(&mut family, script("env -i sh -c 'echo ready; exec sleep 1000' & exit"));
    let lost = start(&mut family, script("setsid env -i sh -c 'echo ready; exec sleep 1000' & exit"));
    for (_, child) in [&marked, &bare, &lost] {
        await_ready(child, 1);
        await_death(child.pid);
    }
    // setsid may have forked, so a helper of it may be among the dead.
    for (pid, _) in reap() {
        family.reaped(pid);
    }
    assert!(family.survey().unwrap().is_empty());
    let of = |family: &Family, run| family.leftovers(run).len();
    assert!(of(&family, marked.0) >= 1 && of(&family, bare.0) >= 1);
    assert_eq!(of(&family, marked.0) + of(&family, bare.0) + of(&family, lost.0), 3);
    assert!(family.unclaimed().is_empty());
    let others = of(&family, bare.0) + of(&family, lost.0);
    family.kill(marked.0);
    turns_until_gone(&mut family, marked.0);
    assert_eq!(of(&family, bare.0) + of(&family, lost.0), others, "those of the others live on");
    for run in [bare.0, lost.0] {
        family.kill(run);
        turns_until_gone(&mut family, run);
    }
    assert!(children_of_self().unwrap().is_empty());
}

/// Leaves an orphan that shows nothing of its run, and goes on.
const SHED: &str = "env -i /bin/sh -c 'setsid sh -c \"echo ready; exec sleep 1000\" &'";

/// The orphan that [`SHED`] leaves, once we have adopted it.
fn shed_orphan(child: &Spawned, mains: &[i32]) -> i32 {
    await_ready(child, 1);
    let adopted =
        || children_of_self().unwrap().into_iter().find(|pid| *pid != child.pid && !mains.contains(pid));
    await_that("the orphan is adopted", || adopted().is_some());
    adopted().unwrap()
}

fn lives(pid: i32) -> bool {
    facts(pid).is_some_and(|one| !one.zombie)
}

/// LIF-5: an orphan that shows nothing is left alone while a run that it may be of is alive, whichever
/// other run ends, and is ended with the last.
#[test]
fn an_orphan_of_unknown_origin_ends_with_the_last_run_that_it_may_be_of() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let other = start(&mut family, spec(&["/bin/sleep", "1000"]));
    let own = start(&mut family, script(&format!("{SHED}; sleep 1000")));
    let orphan = shed_orphan(&own.1, &[other.1.pid]);
    family.kill(other.0);
    assert_eq!(turn(&mut family), [Reaped::Main(other.0)]);
    assert!(family.is_gone(other.0) && lives(orphan));
    assert_eq!((family.leftovers(other.0), family.unclaimed()), (vec![], vec![orphan]));
    family.forget(other.0);
    signal_pid(own.1.pid, SIGKILL).unwrap();
    assert_eq!(turn(&mut family), [Reaped::Main(own.0)]);
    assert!(!family.is_gone(own.0) && lives(orphan));
    assert!(family.leftovers(own.0).contains(&orphan) && family.unclaimed().is_empty());
    family.kill(own.0);
    turns_until_gone(&mut family, own.0);
    assert!(children_of_self().unwrap().is_empty());
}

/// LIF-5: it is of its run though another reaping came before the run's end.
#[test]
fn an_orphan_of_unknown_origin_that_is_found_early_ends_with_its_run() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let (run, child) = start(&mut family, script(&format!("{SHED}; sleep 1000")));
    let orphan = shed_orphan(&child, &[]);
    family.survey().unwrap();
    assert_eq!((family.leftovers(run), family.unclaimed()), (vec![], vec![orphan]));
    // A run that started after it was found cannot have left it.
    let later = start(&mut family, spec(&["/bin/sleep", "1000"]));
    signal_pid(child.pid, SIGKILL).unwrap();
    assert_eq!(turn(&mut family), [Reaped::Main(run)]);
    assert!(!family.is_gone(run) && lives(orphan));
    assert!(family.stop(run, SIGTERM).is_empty());
    turns_until_gone(&mut family, run);
    assert!(lives(later.1.pid));
    family.kill(later.0);
    turns_until_gone(&mut family, later.0);
    assert!(children_of_self().unwrap().is_empty());
}

/// LIF-5: what a killed run turns out to have left is killed without being asked for, and a run that
/// started later than an orphan keeps nothing alive.
#[test]
fn an_orphan_of_unknown_origin_is_killed_with_a_killed_run() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let (run, child) = start(&mut family, script(&format!("{SHED}; sleep 1000")));
    let orphan = shed_orphan(&child, &[]);
    let later = spawn(&spec(&["/bin/sleep", "1000"])).unwrap();
    let later_run = run_id();
    // Clock ticks are coarse: this one is later for sure.
    family.started(later_run, later.pid, facts(orphan).unwrap().start_time + 1);
    family.survey().unwrap();
    family.kill(run);
    turns_until_gone(&mut family, run);
    assert_eq!(children_of_self().unwrap(), [later.pid]);
    family.kill(later_run);
    turns_until_gone(&mut family, later_run);
}

/// LIF-5: an orphan that was found in the middle of an `exec`, when it has no environment, is known by
/// its mark later.
#[test]
fn an_orphan_that_shows_its_mark_late_ends_with_its_run() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let other = start(&mut family, spec(&["/bin/sleep", "1000"]));
    let late =
        "trap 'exec env HARNESSD_RUN_ID=$RUN sleep 1000' USR1; echo ready; while :; do sleep 0.01; done";
    let mut shedding = script(
        "env -i RUN=$HARNESSD_RUN_ID LATE=\"$LATE\" /bin/sh -c 'setsid sh -c \"$LATE\" &'; sleep 1000",
    );
    shedding.env.push(("LATE".into(), late.into()));
    let own = start(&mut family, shedding);
    let orphan = shed_orphan(&own.1, &[other.1.pid]);
    family.survey().unwrap();
    assert_eq!(family.unclaimed(), [orphan]);
    signal_pid(orphan, SIGUSR1).unwrap();
    await_that("it shows its mark", || tree_id_of(orphan) == Some(own.0));
    family.kill(own.0);
    turns_until_gone(&mut family, own.0);
    assert_eq!(children_of_self().unwrap(), [other.1.pid]);
}

/// LIF-5: a process shows its mark at any instant, also in the middle of an `exec`: nobody looks again
/// at an orphan of a run that is over, and the next daemon looks for open runs only.
#[test]
fn a_process_shows_its_mark_while_it_executes() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let mut restless = script("exec /bin/sh -c \"$AGAIN\"");
    restless.env.push(("AGAIN".into(), "exec /bin/sh -c \"$AGAIN\"".into()));
    let (run, child) = start(&mut family, restless);
    for look in 0..5_000 {
        assert_eq!(tree_id_of(child.pid), Some(run), "look {look}");
    }
    family.kill(run);
    turns_until_gone(&mut family, run);
}

/// LIF-5: an orphan that is older than every run is of none.
#[test]
fn an_orphan_that_is_older_than_every_run_is_nobodys() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let stranger = spawn(&spec(&["/bin/sleep", "1000"])).unwrap();
    let main = spawn(&spec(&["/bin/sleep", "1000"])).unwrap();
    let run = run_id();
    family.started(run, main.pid, stranger.start_time + 1);
    family.kill(run);
    turns_until_gone(&mut family, run);
    assert!(lives(stranger.pid));
    assert_eq!(family.unclaimed(), [stranger.pid]);
}

/// LIF-5: a walk from above remembers what it met, for when the links have gone.
#[test]
fn what_was_met_below_a_run_stays_its_own() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let escapee = "setsid env -i sh -c 'echo ready; exec sleep 1000' & wait";
    let one = start(&mut family, script(escapee));
    let two = start(&mut family, script(escapee));
    await_ready(&one.1, 1);
    await_ready(&two.1, 1);
    family.stop(one.0, SIGTERM);
    family.stop(two.0, SIGTERM);
    await_death(one.1.pid);
    await_death(two.1.pid);
    for (pid, _) in reap() {
        family.reaped(pid);
    }
    assert!(family.survey().unwrap().is_empty());
    assert_eq!((family.leftovers(one.0).len(), family.leftovers(two.0).len()), (1, 1));
    for run in [one.0, two.0] {
        family.kill(run);
        turns_until_gone(&mut family, run);
    }
}

/// LIF-5: a kill takes the whole tree, sessions and all, while the main process lives.
#[test]
fn a_kill_takes_the_whole_tree() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let deep =
        "setsid sh -c 'setsid sh -c \"trap : TERM; echo ready; sleep 1000; sleep 1000\" & wait' & wait";
    let (run, child) = start(&mut family, script(deep));
    await_ready(&child, 1);
    assert!(descendants(child.pid).len() >= 2);
    assert!(family.kill(run).is_empty());
    turns_until_gone(&mut family, run);
    assert_eq!(output_until(&child, |_| false), b"");
    assert!(children_of_self().unwrap().is_empty());
}

/// LIF-5: a tree that forks all the time, each time into a session of its own, does not outrun a kill.
#[test]
fn a_tree_that_hops_from_session_to_session_is_killed() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut family = Family::default();
    let mut hopping = script("eval \"$HOP\"");
    hopping.env.push(("HOP".into(), "setsid sh -c \"$HOP\" & echo ready; sleep 0.02".into()));
    let (run, child) = start(&mut family, hopping);
    output_until(&child, |all| all.len() >= 20 * "ready\n".len());
    family.kill(run);
    turns_until_gone(&mut family, run);
    output_until(&child, |_| false);
    assert!(children_of_self().unwrap().is_empty());
}

/// LIF-8: a pid that was reaped is never signalled: somebody else may have it by now.
#[test]
fn a_reaped_pid_is_left_alone() {
    let _alone = alone();
    let mut family = Family::default();
    let (run, child) = start(&mut family, spec(&["/bin/sleep", "1000"]));
    // As far as the family knows it is reaped, and a stranger has got its pid.
    assert_eq!(family.reaped(child.pid), Reaped::Main(run));
    assert!(family.is_gone(run));
    assert!(family.stop(run, SIGKILL).is_empty() && family.kill(run).is_empty());
    // Trap 6: nor is a process that has the pid of another one.
    let stranger = facts(child.pid).unwrap();
    assert!(!stranger.zombie);
    assert!(!signal_exactly(&Facts { start_time: stranger.start_time + 1, ..stranger }, SIGKILL).unwrap());
    assert!(!facts(child.pid).unwrap().zombie);
    assert!(signal_exactly(&stranger, SIGKILL).unwrap());
    await_death(child.pid);
    assert_eq!(reap().len(), 1);
    assert!(!signal_exactly(&stranger, SIGKILL).unwrap());
}

/// LIF-9: what a dead daemon has left is found by the run id in its environment, and nobody else is.
#[test]
fn processes_of_a_run_are_found_by_its_id() {
    let _alone = alone();
    let mut family = Family::default();
    let (run, child) = start(&mut family, script("setsid sh -c 'sleep 1000 & echo ready; wait' & wait"));
    let (other, second) = start(&mut family, spec(&["/bin/sleep", "1000"]));
    await_ready(&child, 1);
    let found = find_by_run_ids(&HashSet::from([run]));
    assert!(found.iter().all(|(of, _)| *of == run));
    let mut pids: Vec<i32> = found.iter().map(|(_, one)| one.pid).collect();
    let mut expected: Vec<i32> = family.members(run).iter().map(|one| one.pid).collect();
    pids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pids, expected);
    assert!(found.iter().any(|(_, one)| one.pid == child.pid && one.start_time == child.start_time));
    assert_eq!(find_by_run_ids(&HashSet::from([RunIds::new(1).next(Wall(1))])), []);
    become_subreaper().unwrap();
    family.kill(run);
    family.kill(other);
    turns_until_gone(&mut family, run);
    turns_until_gone(&mut family, other);
    drop(second);
}
