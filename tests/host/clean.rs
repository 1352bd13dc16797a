//! LIF-7: a child starts clean, whatever this process has been through.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use harnessd::base::ExitStatus;
use harnessd::host::limits::raise_descriptors;
use harnessd::host::process::{StdinSource, reap, signal_pid, spawn, write_some};
use harnessd::host::socket::{Accepted, Listener, connect};
use harnessd::host::terminal::{COLUMNS, ROWS, Responder};
use harnessd::host::tree::facts;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::stat::{Mode, umask};

use super::child::{alone, await_death, await_ready, output_until, run, script, spec};

/// The value of a line of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> &'a str {
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim_start_matches(':').trim()
}

/// Traps 7 and 8: nothing blocked, nothing ignored, though the parent blocks and ignores much.
#[test]
fn no_signal_is_blocked_or_ignored_in_a_child() {
    let _alone = alone();
    let blocked = SigSet::all();
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), Some(&mut before)).unwrap();
    let ignored = [libc::SIGINT, libc::SIGPIPE, libc::SIGXFSZ, libc::SIGUSR1, 33, 40, 64];
    let ignore = [libc::SIG_IGN as u64, 0, 0, 0];
    for number in ignored {
        // SAFETY: the kernel's structure is handler, flags, restorer and mask; ignoring runs no code.
        let done = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, number, ignore.as_ptr(), std::ptr::null_mut::<u64>(), 8)
        };
        assert_eq!(done, 0);
    }
    let own = fs::read_to_string("/proc/self/status").unwrap();
    assert_ne!(field(&own, "SigIgn"), "0000000000000000");
    let (status, _) = run(&spec(&["/bin/cat", "/proc/self/status"]));
    for name in ["SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"] {
        assert_eq!(field(&status, name), "0000000000000000", "{name}");
    }
    for which in [Signal::SIGINT, Signal::SIGXFSZ, Signal::SIGUSR1] {
        // SAFETY: the default disposition runs no code of ours.
        unsafe { signal(which, SigHandler::SigDfl) }.unwrap();
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None).unwrap();
}

/// Trap 9: no descriptor but 0 to 2; and its own session, group and start time.
#[test]
fn a_child_has_three_descriptors_and_a_session_of_its_own() {
    let _alone = alone();
    let file = File::open("/dev/null").unwrap();
    // SAFETY: 777 is free in this process; the copy, made to be inherited, is closed below.
    assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), 777) }, 777);
    // Ready: the loader is done with the files that it opens for itself.
    let child = spawn(&script("echo ready; kill -STOP $$")).unwrap();
    await_ready(&child, 1);
    let open = fs::read_dir(format!("/proc/{}/fd", child.pid)).unwrap();
    let mut open: Vec<OsString> = open.map(|entry| entry.unwrap().file_name()).collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    let link = |number| fs::read_link(format!("/proc/{}/fd/{number}", child.pid)).unwrap();
    assert_eq!(link(0).to_str(), Some("/dev/null"));
    assert_eq!(link(1), link(2));
    let known = facts(child.pid).unwrap();
    assert_eq!((known.session, known.pgid, known.start_time), (child.pid, child.pid, child.start_time));
    assert!(!known.zombie);
    assert!(signal_pid(child.pid, libc::SIGKILL).unwrap());
    await_death(child.pid);
    assert!(facts(child.pid).unwrap().zombie);
    assert_eq!(reap(), [(child.pid, ExitStatus::Signal(libc::SIGKILL))]);
    // SAFETY: ours, from above.
    unsafe { libc::close(777) };
}

/// LIF-7: umask 022, and the descriptor limit that the daemon was started with.
#[test]
fn a_child_gets_the_limits_back_that_the_daemon_raised() {
    let _alone = alone();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 123, hard).unwrap();
    let limits = raise_descriptors().unwrap();
    assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    let before = umask(Mode::from_bits_retain(0o077));
    let mut child = script("umask; ulimit -Sn");
    child.limits = limits;
    assert_eq!(run(&child).0, "0022\n123\n");
    umask(before);
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
}

/// LIF-7: exactly the environment given, argv[0] as it was written, the workdir.
#[test]
fn environment_arguments_and_directory_are_exactly_those_given() {
    let _alone = alone();
    let mut child = spec(&["/usr/bin/env"]);
    child.env =
        vec![("B".into(), "2 \n=".into()), ("A".into(), String::new().into()), ("B".into(), "last".into())];
    assert_eq!(run(&child).0, "A=\nB=last\n");
    let mut child = spec(&["/bin/cat", "/proc/self/cmdline"]);
    child.argv[0] = "my cat".into();
    assert_eq!(run(&child).0, "my cat\0/proc/self/cmdline\0");
    let directory = tempfile::tempdir().unwrap();
    let mut child = script("pwd -P");
    child.cwd = Utf8Path::from_path(directory.path()).unwrap().canonicalize_utf8().unwrap();
    assert_eq!(run(&child).0, format!("{}\n", child.cwd));
}

/// LIF-7: a script without an interpreter's line is a shell's, with however many arguments; what the
/// child needs for that is not taken from its parent's memory.
#[test]
fn a_script_without_an_interpreter_gets_all_of_its_arguments() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(directory.path()).unwrap();
    let path = base.join("script");
    fs::write(&path, "echo \"$0 $# $1 ${20000}\"; exit 7\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = spec(&[path.as_str()]);
    child.argv.extend((1..=20_000).map(|number| format!("a{number}").into()));
    assert_eq!(run(&child), (format!("{path} 20000 a1 a20000\n"), ExitStatus::Code(7)));
    child.argv.truncate(1);
    assert_eq!(run(&child).0, format!("{path} 0  \n"));
    child.argv.clear();
    assert_eq!(run(&child).0, format!("{path} 0  \n"));
    // Neither the arguments nor what the shell is given beside them may be too long.
    child.argv = vec!["script".into(), "x".repeat(200 << 10).into()];
    assert_eq!(spawn(&child).unwrap_err().to_string(), format!("execute `{path}`: argument list too long"));
    fs::remove_file(&path).unwrap();
    assert_eq!(spawn(&child).unwrap_err().to_string(), format!("`{path}` does not exist"));
    assert_eq!(reap(), []);
}

/// LIF-7, rule for every adapter: stdin is empty, or a file with the prompt that ends and cannot be changed.
#[test]
fn standard_input_ends() {
    let _alone = alone();
    assert_eq!(run(&spec(&["/bin/cat"])), (String::new(), ExitStatus::Code(0)));
    let prompt = "x\n".repeat(100_000);
    let mut child = spec(&["/bin/cat"]);
    child.stdin = StdinSource::Bytes(prompt.clone().into_bytes());
    assert!(run(&child).0 == prompt);
    let mut child = script("test -f /dev/stdin && echo file; echo x 2>/dev/null 1>&0 || echo sealed; cat");
    child.stdin = StdinSource::Bytes(b"kept".to_vec());
    assert_eq!(run(&child).0, "file\nsealed\nkept");
    let mut child = spec(&["/bin/cat"]);
    child.stdin = StdinSource::Terminal;
    assert_eq!(spawn(&child).unwrap_err().to_string(), "open the standard input: the child has no terminal");
}

/// Issue A, 7: a harness with `tty` has a terminal of 120 × 40 on 0 to 2, and it is its controlling one.
#[test]
fn a_child_with_a_terminal_has_it_on_all_three() {
    let _alone = alone();
    let mut child =
        script("test -t 0 && test -t 1 && test -t 2 && stty size && : </dev/tty && echo controls");
    (child.stdin, child.tty) = (StdinSource::Terminal, Some((COLUMNS, ROWS)));
    assert_eq!(run(&child), ("40 120\r\ncontrols\r\n".into(), ExitStatus::Code(0)));
    // A prompt on standard input beside it.
    let mut child = script("cat; test -t 1 && : </dev/tty && echo controls");
    (child.stdin, child.tty) = (StdinSource::Bytes(b"prompt ".to_vec()), Some((80, 24)));
    assert_eq!(run(&child).0, "prompt controls\r\n");
}

/// Issue A, 7: a program that asks its terminal gets the answer on its input.
#[test]
fn a_query_of_the_terminal_is_answered_to_the_program() {
    let _alone = alone();
    let mut asking =
        script("stty raw -echo; printf 'go\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c | tr -d ' '");
    (asking.stdin, asking.tty) = (StdinSource::Terminal, Some((COLUMNS, ROWS)));
    let child = spawn(&asking).unwrap();
    let mut responder = Responder::new(COLUMNS, ROWS);
    let question = output_until(&child, |all| all.ends_with(b"n"));
    let answer = responder.feed(&question);
    assert_eq!(write_some(&child.output, &answer).unwrap(), answer.len());
    let rest = String::from_utf8(output_until(&child, |_| false)).unwrap();
    assert_eq!(rest.trim(), "033[1;1R");
    await_death(child.pid);
    assert_eq!(reap(), [(child.pid, ExitStatus::Code(0))]);
}

/// Issue A, bad input: a workdir, a command that does not exist or is not executable: whole messages, no process left.
#[test]
fn a_failed_start_says_what_was_wrong() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(directory.path()).unwrap();
    let file = |name: &str, text: &str, mode| {
        let path = base.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let refused = |program: &str, cwd: &str| {
        let mut child = spec(&[program]);
        child.cwd = cwd.into();
        let error = spawn(&child).unwrap_err();
        assert!(!error.is_shortage());
        error.to_string()
    };
    assert_eq!(refused("/bin/true", "/nope"), "workdir `/nope` does not exist");
    assert_eq!(refused("/bin/true", "/dev/null"), "workdir `/dev/null` is not a directory");
    assert_eq!(refused("/x/y", "/"), "`/x/y` does not exist");
    assert_eq!(refused("/dev", "/"), "`/dev` is not a file");
    let plain = file("plain", "", 0o644);
    assert_eq!(refused(plain.as_str(), "/"), format!("`{plain}` is not executable"));
    let script = file("script", "#!/no/such/sh -e\n", 0o755);
    let expected = format!("execute `{script}`: its interpreter `/no/such/sh` does not exist");
    assert_eq!(refused(script.as_str(), "/"), expected);
    let mut child = spec(&["/bin/true"]);
    child.argv.push("x".repeat(200 << 10).into());
    assert_eq!(spawn(&child).unwrap_err().to_string(), "execute `/bin/true`: argument list too long");
    child.argv[1] = "a\0b".into();
    let expected = "execute `/bin/true`: nul byte found in provided data";
    assert_eq!(spawn(&child).unwrap_err().to_string(), expected);
    assert_eq!(reap(), []);
}

/// Trap 12: running out of descriptors is told from a start that can never succeed.
#[test]
fn a_shortage_of_descriptors_is_no_final_failure() {
    let _alone = alone();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 3, hard).unwrap();
    let error = spawn(&spec(&["/bin/true"]));
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "open a pipe: too many open files");
    assert!(error.is_shortage());
}

/// Trap 12: with no descriptor left a client is hung up on, and the next one, once there are some, is served.
#[test]
fn a_client_does_not_wait_in_vain_when_descriptors_run_out() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(directory.path()).unwrap().join("sock");
    let mut listener = Listener::bind(&path).unwrap();
    let mut client = connect(&path).unwrap();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    setrlimit(Resource::RLIMIT_NOFILE, free.try_into().unwrap(), hard).unwrap();
    let accepted = listener.accept();
    let nobody = listener.accept();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    assert!(matches!(accepted, Ok(Some(Accepted::NoDescriptor))), "{accepted:?}");
    assert!(matches!(nobody, Ok(None)), "{nobody:?}");
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    let _served = connect(&path).unwrap();
    assert!(matches!(listener.accept(), Ok(Some(Accepted::Client(_)))));
}
