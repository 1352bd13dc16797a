//! Starting children for a test, and waiting for what they do.

use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use camino::Utf8PathBuf;
use harnessd::base::ExitStatus;
use harnessd::host::limits::InheritedLimits;
use harnessd::host::process::{Output, SpawnSpec, Spawned, StdinSource, read_output, reap, spawn};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// How long anything may take before it counts as never, in milliseconds.
pub(crate) const PATIENCE: u16 = 30_000;

/// To be held by a test from its first line to its last.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing that the next one would mistake for its own.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
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
    let ready = poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], PATIENCE).unwrap();
    assert_eq!(ready, 1, "nothing came");
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
    waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
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
