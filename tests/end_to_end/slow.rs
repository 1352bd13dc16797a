//! What is slow holds up nothing else: here the target of skills that some harnesses share, which somebody holds.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

use crate::support::{Home, path_with, skill, stand_in_dir, until};

/// `slow0` and so on share a target of skills, `fast` has its own; their daemon.
fn home(slow: usize) -> Home {
    let mut config = "[harness.fast]\nagent = \"claude-code\"\nprompt = \"stand-in:say=fast\"\n".to_owned();
    for number in 0..slow {
        config += &format!(
            "[harness.slow{number}]\nagent = \"codex\"\nprompt = \"x\"\nskill_paths = [\"~/team\"]\nworkdir = \"~/app\"\n"
        );
    }
    let mut home = Home::new(&config);
    fs::create_dir(home.path("bin")).unwrap();
    fs::create_dir(home.path("app")).unwrap();
    for name in ["codex", "claude"] {
        symlink(stand_in_dir().join("claude"), home.path("bin").join(name)).unwrap();
    }
    home.set("PATH", &path_with(&home.path("bin")));
    skill(&home, "team", "one", "team");
    home.start_daemon();
    home
}

/// Holds the target that the slow ones share; one of them must have made it.
fn hold(home: &Home) -> Flock<File> {
    let file = File::options().write(true).open(home.path("app/.codex/skills/.harnessd.lock")).unwrap();
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, cause)| cause).unwrap()
}

/// SCH-10: starts that wait for a slow target hold up no other start, and the daemon answers.
#[test]
fn slow_starts_hold_up_no_other() {
    let home = home(4);
    home.ok(&["start", "slow0", "--wait"]);
    // From now on somebody holds the target that they share.
    let lock = hold(&home);
    home.ok(&["start", "slow0", "slow1", "slow2", "slow3"]);
    home.ok(&["start", "fast", "--wait"]);
    assert_eq!(home.harness("slow3")["state"], "starting");
    drop(lock);
    until("the others go on", || {
        (0..4).all(|number| home.ended_run(&format!("slow{number}"))["outcome"] == "ok").then_some(())
    });
}

/// SCH-10: clients who ask about what is slow, however many, hold up no start.
#[test]
fn slow_questions_hold_up_no_start() {
    let home = home(1);
    home.ok(&["skills", "sync", "slow0"]);
    let lock = hold(&home);
    let mut stream = UnixStream::connect(home.path(".local/state/harnessd/harnessd.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut from = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    stream.write_all(b"{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"test\"}\n").unwrap();
    from.read_line(&mut line).unwrap();
    for id in 2..42 {
        stream
            .write_all(format!("{{\"id\":{id},\"op\":\"skills-sync\",\"name\":\"slow0\"}}\n").as_bytes())
            .unwrap();
    }
    home.ok(&["start", "fast", "--wait"]);
    stream.set_nonblocking(true).unwrap();
    let early = from.read(&mut [0; 1]).map_err(|cause| cause.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "the lock is held, so nobody was answered");
    drop(lock);
    stream.set_nonblocking(false).unwrap();
    let mut answers = 0;
    until("all are answered", || {
        line.clear();
        from.read_line(&mut line).unwrap();
        assert!(line.contains("\"ok\""), "{line}");
        answers += 1;
        (answers == 40).then_some(())
    });
}
