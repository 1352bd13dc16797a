//! CTL-2: which signals reach the daemon.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};

use harnessd::host::process::{reap, signal_pid, spawn};
use harnessd::host::signals::{Signal, Signals};
use nix::libc;
use nix::poll::{PollFd, PollFlags, poll};
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

/// Between fork and exec a child still has the handlers: what hits it there does not even wake us.
#[test]
fn a_signal_to_a_forked_child_is_not_taken_for_ours() {
    let _alone = alone();
    let mut signals = Signals::install().unwrap();
    let (mut told, tells) = std::io::pipe().unwrap();
    // SAFETY: the child goes on below and does only what is async-signal-safe.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            // SAFETY: integers and one constant byte are handed over; the process ends here,
            // without unwinding into the test.
            unsafe {
                libc::raise(libc::SIGTERM);
                libc::write(tells.as_raw_fd(), [0_u8].as_ptr().cast(), 1);
                loop {
                    libc::pause();
                }
            }
        }
        ForkResult::Parent { child } => {
            told.read_exact(&mut [0]).unwrap();
            assert_eq!(poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], 0_u8), Ok(0));
            assert!(signal_pid(child.as_raw(), libc::SIGKILL).unwrap());
            await_death(child.as_raw());
        }
    }
    await_readable(&signals);
    assert_eq!(signals.read().unwrap(), [Signal::Child]);
    assert_eq!(reap().len(), 1);
}
