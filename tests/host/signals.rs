//! CTL-2: which signals reach the daemon.

use harnessd::host::process::{reap, spawn};
use harnessd::host::signals::{Signal, Signals};
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal as Number, raise, sigprocmask};
use nix::unistd::{ForkResult, fork};

use super::child::{alone, await_death, await_readable, spec};

/// CTL-2: TERM twice is twice, a CHLD is one however many ended, PIPE is nothing.
#[test]
fn signals_arrive_as_often_as_they_came() {
    let _alone = alone();
    // As a parent may have left it.
    let mut blocked = SigSet::empty();
    blocked.add(Number::SIGHUP);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), None).unwrap();
    let mut signals = Signals::install().unwrap();
    assert_eq!(signals.read().unwrap(), []);
    for number in [Number::SIGTERM, Number::SIGHUP, Number::SIGPIPE, Number::SIGUSR2, Number::SIGTERM] {
        raise(number).unwrap();
    }
    await_readable(&signals);
    let came = signals.read().unwrap();
    assert_eq!(came, [Signal::Terminate, Signal::Terminate, Signal::HangUp, Signal::Reexecute]);
    let started: Vec<i32> = (0..20).map(|_| spawn(&spec(&["/bin/true"])).unwrap().pid).collect();
    started.iter().for_each(|pid| await_death(*pid));
    await_readable(&signals);
    assert_eq!(signals.read().unwrap(), [Signal::Child]);
    assert_eq!(reap().len(), 20);
}

/// A storm fills the pipe and hides nothing.
#[test]
fn no_storm_hides_a_signal() {
    let _alone = alone();
    let mut signals = Signals::install().unwrap();
    for _ in 0..70_000 {
        raise(Number::SIGHUP).unwrap();
    }
    raise(Number::SIGTERM).unwrap();
    let came = signals.read().unwrap();
    assert_eq!((came[0], came.len()), (Signal::Terminate, 70_001));
    assert_eq!(signals.read().unwrap(), []);
}

/// Between fork and exec a child still has the handlers: what hits it there is not ours.
#[test]
fn a_signal_to_a_forked_child_is_not_taken_for_ours() {
    let _alone = alone();
    let mut signals = Signals::install().unwrap();
    // SAFETY: the child goes on below and does only what is async-signal-safe.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            // SAFETY: both take an integer; the process ends here, without unwinding into the test.
            unsafe {
                libc::raise(libc::SIGTERM);
                libc::_exit(0)
            }
        }
        ForkResult::Parent { child } => await_death(child.as_raw()),
    }
    await_readable(&signals);
    assert_eq!(signals.read().unwrap(), [Signal::Child], "the child's TERM is not ours");
    assert_eq!(reap().len(), 1);
}
