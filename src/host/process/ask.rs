//! Running a program to its end, for a process that has no loop which would do that.
//!
//! Invariant: it ends within its time with everything in its process group, and is reaped. In a process
//! that reaps all of its children this must not be used.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::SIGKILL;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::{Output, SpawnSpec, cause, read_output, signal_group, spawn, tree};

/// So much of what it prints is kept.
const KEPT: usize = 4096;
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The beginning of what a program prints, once it has exited with 0.
///
/// # Errors
/// Why there is no answer, in words.
pub fn ask(spec: &SpawnSpec, patience: Duration) -> Result<Vec<u8>, String> {
    let child = spawn(spec).map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let mut kept = Vec::new();
    let mut buffer = [0; KEPT];
    let in_time = loop {
        // Looked for first, so that what it printed before it ended is read after.
        let ended = tree::facts(child.pid).is_none_or(|facts| facts.zombie);
        match read_output(&child.output, &mut buffer) {
            Ok(Output::Bytes(count)) => {
                kept.extend_from_slice(&buffer[..count.min(KEPT - kept.len())]);
                if begun.elapsed() < patience {
                    continue;
                }
                break false;
            }
            _ if ended => break true,
            _ if begun.elapsed() >= patience => break false,
            Ok(Output::Nothing) => wait_for(&child.output),
            Ok(Output::Ended) | Err(_) => thread::sleep(LOOK),
        }
    };
    // What it has left in its group ends with it; its own entry stands until it is waited for below.
    let _signalled = signal_group(child.pid, SIGKILL);
    let status = reap(child.pid);
    match status {
        _ if !in_time => Err(format!("it did not end within {} s", patience.as_secs())),
        Ok(WaitStatus::Exited(_, 0)) => Ok(kept),
        Ok(WaitStatus::Exited(_, code)) => Err(format!("exit status {code}")),
        Ok(WaitStatus::Signaled(_, signal, _)) => Err(format!("killed by {signal}")),
        Ok(_) => Err("it ended in no known way".to_owned()),
        Err(errno) => Err(cause(&io::Error::from(errno))),
    }
}

/// Waits until there is output, or for a moment.
fn wait_for(output: impl AsFd) {
    let mut watched = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
    let moment = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
    // Whatever it says, the caller looks.
    let _ready = poll(&mut watched, moment);
}

fn reap(pid: i32) -> nix::Result<WaitStatus> {
    loop {
        match waitpid(Pid::from_raw(pid), None) {
            Err(Errno::EINTR) => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::ask;
    use crate::host::process::{SpawnSpec, StdinSource};

    fn shell(script: &str) -> SpawnSpec {
        SpawnSpec {
            program: "/bin/sh".into(),
            argv: ["sh", "-c", script].into_iter().map(Into::into).collect(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
            stdin: StdinSource::Null,
            tty: None,
            limits: crate::host::limits::InheritedLimits::default(),
        }
    }

    /// ADP-5: a program answers in its time, or it is said why not.
    #[test]
    fn a_program_answers_or_ends() {
        let patient = Duration::from_secs(30);
        assert_eq!(ask(&shell("echo 1.2"), patient), Ok(b"1.2\n".to_vec()));
        assert_eq!(ask(&shell("exit 3"), patient), Err("exit status 3".to_owned()));
        assert_eq!(ask(&shell("kill -9 $$"), patient), Err("killed by SIGKILL".to_owned()));
        assert_eq!(ask(&shell("yes | head -c 100000"), patient).map(|all| all.len()), Ok(4096));
        let missing = SpawnSpec { program: "/nowhere/x".into(), ..shell("") };
        assert_eq!(ask(&missing, patient), Err("`/nowhere/x` does not exist".to_owned()));
    }

    /// ADP-5: neither one that hangs nor what it leaves behind is waited for.
    #[test]
    fn a_program_that_hangs_is_ended() {
        let begun = Instant::now();
        let short = Duration::from_millis(100);
        assert_eq!(ask(&shell("sleep 100"), short), Err("it did not end within 0 s".to_owned()));
        assert_eq!(ask(&shell("yes"), short), Err("it did not end within 0 s".to_owned()));
        let left = ask(&shell("sleep 100 & echo 1.0"), Duration::from_secs(50));
        assert_eq!(left, Ok(b"1.0\n".to_vec()));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
