//! Each system call that the daemon makes and that can fail is made to fail, in the real daemon.
//!
//! A seccomp filter hands the calls of the daemon to this test, which lets each of them happen or
//! answers it with an error in the kernel's place: nothing of the daemon knows, and calls of libraries
//! and raw ones are caught alike; a short write is done here in the daemon's place. After each fault: no
//! panic, a trace of it, and once it has ended everything works, is recorded and can be stopped.
//!
//! By default a sample of the points is tried; `HARNESSD_FULL=1` tries all of them. x86-64 only: the
//! table names its system calls.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod injector;
mod points;
mod starting;
mod stopping;
mod working;
mod world;

use std::env;

/// Whether every point is to be tried.
fn full() -> bool {
    env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1")
}
