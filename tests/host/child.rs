//! Starting children for a test, and waiting for what they do.

use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use harnessd::base::ExitStatus;
use harnessd::host::limits::InheritedLimits;
use harnessd::host::process::{
    Output, SpawnSpec, Spawned, StdinSource, read_output, reap, signal_pid, spawn,
};
use harnessd::host::tree::{children_of_self, descendants, facts};
use nix::libc::SIGKILL;
use nix::poll::{PollFd, PollFlags, poll};

/// How long anything may take before it counts as never.
const PATIENCE: Duration = Duration::from_secs(30);

/// To be held by a test from its first line to its last. What a failed test
/// leaves behind ends with it, so that the next one begins without children.
pub(crate) struct Alone {
    _lock: MutexGuard<'static, ()>,
}

pub(crate) fn alone() -> Alone {
    static ALONE: Mutex<()> = Mutex::new(());
    Alone { _lock: ALONE.lock().unwrap_or_else(PoisonError::into_inner) }
}

impl Drop for Alone {
    fn drop(&mut self) {
        while let Some(child) = children_of_self().unwrap().first() {
            let below = descendants(*child);
            for one in below.iter().rev().chain([child]) {
                let _ = signal_pid(*one, SIGKILL);
            }
            await_death(*child);
            let _ = reap();
        }
    }
}

/// A child with a bare environment; `argv[0]` is a path.
pub(crate) fn spec(argv: &[&str]) -> SpawnSpec {
    SpawnSpec {
        program: Utf8PathBuf::from(argv[0]),
        argv: argv.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: StdinSource::Null,
        tty: None,
        limits: InheritedLimits::default(),
    }
}

/// A child that runs a shell script.
pub(crate) fn script(text: &str) -> SpawnSpec {
    spec(&["/bin/sh", "-c", text])
}

/// Waits until `fd` can be read.
pub(crate) fn await_readable(fd: impl AsFd) {
    await_that("something can be read", || {
        poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], 100_u8) == Ok(1)
    });
}

/// What the child prints, until `enough` or its end.
pub(crate) fn output_until(child: &Spawned, enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while !enough(&all) {
        match read_output(&child.output, &mut buffer).unwrap() {
            Output::Bytes(count) => all.extend_from_slice(&buffer[..count]),
            Output::Nothing => await_readable(&child.output),
            Output::Ended => break,
        }
    }
    all
}

/// Waits for lines that say `ready`, so many.
pub(crate) fn await_ready(child: &Spawned, count: usize) {
    let text = output_until(child, |all| String::from_utf8_lossy(all).matches("ready").count() >= count);
    assert_eq!(String::from_utf8_lossy(&text).matches("ready").count(), count);
}

/// Waits until a child of ours has ended, without reaping it.
pub(crate) fn await_death(pid: i32) {
    await_that("a child ends", || facts(pid).unwrap().zombie);
}

/// Waits until any child of ours has ended, without reaping it.
pub(crate) fn await_any_death() {
    let ended = |pid| facts(pid).unwrap().zombie;
    await_that("any child ends", || children_of_self().unwrap().into_iter().any(ended));
}

/// Waits until something is so.
pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a child to its end.
pub(crate) fn run(spec: &SpawnSpec) -> (String, ExitStatus) {
    let child = spawn(spec).unwrap();
    let output = output_until(&child, |_| false);
    await_death(child.pid);
    let ended = reap();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].0, child.pid);
    (String::from_utf8(output).unwrap(), ended[0].1)
}
