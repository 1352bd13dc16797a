//! LIF-8: every child that ends is reaped and known.

use std::collections::BTreeSet;

use harnessd::base::ExitStatus;
use harnessd::host::process::{reap, signal_pid, spawn};
use harnessd::host::tree::children_of_self;
use nix::libc;

use super::child::{alone, await_death, run, script, spec};

/// Trap 5: a child may end before its pid is written down anywhere.
#[test]
fn a_thousand_that_end_at_once_are_all_reaped_and_known() {
    let _alone = alone();
    let mut started = BTreeSet::new();
    let mut ended = BTreeSet::new();
    let take = |ended: &mut BTreeSet<i32>| {
        for (pid, status) in reap() {
            assert_eq!(status, ExitStatus::Code(0));
            assert!(ended.insert(pid), "{pid} came twice");
        }
    };
    for _ in 0..1000 {
        started.insert(spawn(&spec(&["/bin/true"])).unwrap().pid);
    }
    for pid in &started {
        if !ended.contains(pid) {
            await_death(*pid);
            take(&mut ended);
        }
    }
    assert_eq!(ended, started);
    assert!(children_of_self().unwrap().is_empty());
}

/// Trap 4: a thousand deaths may be one signal; one call takes them all, and no zombie stays.
#[test]
fn one_call_reaps_a_thousand() {
    let _alone = alone();
    let started: BTreeSet<i32> =
        (0..1000).map(|_| spawn(&spec(&["/bin/sleep", "1000"])).unwrap().pid).collect();
    let children: BTreeSet<i32> = children_of_self().unwrap().into_iter().collect();
    assert_eq!(children, started);
    for pid in &started {
        assert!(signal_pid(*pid, libc::SIGKILL).unwrap());
    }
    for pid in &started {
        await_death(*pid);
    }
    let ended = reap();
    assert!(ended.iter().all(|(_, status)| *status == ExitStatus::Signal(libc::SIGKILL)));
    assert_eq!(ended.into_iter().map(|(pid, _)| pid).collect::<BTreeSet<_>>(), started);
    assert!(children_of_self().unwrap().is_empty());
}

/// LIF-8: every status is told as it was, also a death by a signal that has no name.
#[test]
fn a_status_is_what_the_kernel_says() {
    let _alone = alone();
    for (text, status) in [
        ("exit 0", ExitStatus::Code(0)),
        ("exit 255", ExitStatus::Code(255)),
        ("kill -TERM $$", ExitStatus::Signal(libc::SIGTERM)),
        ("kill -40 $$", ExitStatus::Signal(40)),
    ] {
        assert_eq!(run(&script(text)).1, status, "{text}");
    }
}
