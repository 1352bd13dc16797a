//! RUN-1: what is kept of a run beside how it ended: its agent's version, its repository's commits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{Home, path_with, sleeper, until};

/// Puts an agent `claude` into `~/bin`, first in PATH.
fn agent(home: &mut Home, script: &str) {
    home.write("bin/claude.new", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(home.path("bin/claude.new"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(home.path("bin/claude.new"), home.path("bin/claude")).unwrap();
    let path = path_with(&home.path("bin"));
    home.set("PATH", &path);
}

fn version(home: &Home, harness: &str) -> Option<String> {
    home.runs(harness)[0].get("agent_version").map(|version| version.as_str().unwrap().to_owned())
}

const TWO: &str = "[harness.a]\ncmd = \"claude\"\ntty = false\nworkdir = \"~/w\"\nenv = { WORD = \"said\" }\n\
                   [harness.b]\ncmd = \"claude\"\ntty = false\nworkdir = \"~/w\"\n";

/// RUN-1: the program is asked once for its version, beside the run and outside of it; when its file is
/// another it is asked again.
#[test]
fn the_version_of_an_agent_is_recorded() {
    let mut home = Home::new(TWO);
    fs::create_dir(home.path("w")).unwrap();
    let script = |version: &str| {
        format!(
            "if [ \"$1\" = --version ]; then echo \"{version} $WORD\"; echo more; env > env; echo >> ../asked; exit 0; fi\n\
             exec sleep 6301"
        )
    };
    agent(&mut home, &script("1.2.3"));
    home.start_daemon();
    home.ok(&["start", "a"]);
    until("the version is known", || (version(&home, "a")? == "1.2.3 said").then_some(()));
    home.ok(&["start", "b"]);
    until("it is known for the second run", || (version(&home, "b")? == "1.2.3 said").then_some(()));
    assert_eq!(home.read("asked"), "\n", "it is asked once");
    let env = home.read("w/env");
    let ours: Vec<&str> = env.lines().filter(|line| line.starts_with("HARNESSD_")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("HARNESSD_ERRAND="), "{ours:?}");
    assert!(env.contains("DISABLE_AUTOUPDATER=1"), "an agent that is asked does not update itself: {env}");
    agent(&mut home, &script("1.2.4"));
    home.ok(&["restart", "b"]);
    until("the new version is known", || (version(&home, "b")? == "1.2.4").then_some(()));
    home.stop_daemon();
    assert_eq!(sleeper("6301"), None);
    // The row of an ended run keeps it.
    assert_eq!(version(&home, "a").as_deref(), Some("1.2.3 said"));
}

/// RUN-1: a program that hangs or fails at the question delays nothing, and nothing is recorded; a wrapper
/// of another name is not asked.
#[test]
fn a_version_that_cannot_be_had_is_left_out() {
    let mut home =
        Home::new(&format!("{TWO}[harness.c]\nagent = \"claude-code\"\ncmd = \"my-claude\"\ntty = false\n"));
    fs::create_dir(home.path("w")).unwrap();
    agent(&mut home, "[ \"$1\" = --version ] && { echo broken; exit 1; }\nexec sleep 6302");
    home.write(
        "bin/my-claude",
        "#!/bin/sh\n[ \"$1\" = --version ] && touch ../wrapper-asked\nexec sleep 6302\n",
    );
    fs::set_permissions(home.path("bin/my-claude"), fs::Permissions::from_mode(0o755)).unwrap();
    home.start_daemon();
    home.ok(&["start", "a", "c"]);
    until("it is said", || home.daemon_log().contains("its version is not known").then_some(()));
    home.ok(&["start", "b"]);
    home.ok(&["stop", "--all", "--wait"]);
    assert_eq!(home.daemon_log().matches("its version is not known").count(), 1, "it is not asked again");
    assert_eq!((version(&home, "a"), version(&home, "b"), version(&home, "c")), (None, None, None));
    assert!(!home.path("wrapper-asked").exists());
    // One that hangs is given up with the daemon.
    agent(&mut home, "[ \"$1\" = --version ] && exec sleep 6303\nexit 0");
    home.ok(&["start", "a"]);
    until("it is asked", || sleeper("6303"));
    home.ended_run("a");
    home.stop_daemon();
    assert_eq!(sleeper("6303"), None);
}

/// Runs git in a directory of the home.
fn git(home: &Home, at: &str, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(home.path(at))
        .args(args)
        .env("HOME", home.path(""))
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "n").env(format!("GIT_{who}_EMAIL"), "n@example.org");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// RUN-1: the commit before and after a run that commits; none outside of a repository.
#[test]
fn the_commits_before_and_after_a_run_are_recorded() {
    let script = "git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m second";
    let mut home = Home::new(&format!(
        "[harness.a]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", '{script}']\nworkdir = \"~/r/deep\"\n\
         check = [\"git\", \"commit\", \"-q\", \"--allow-empty\", \"-m\", \"third\"]\n\
         env = {{ GIT_AUTHOR_NAME = \"n\", GIT_AUTHOR_EMAIL = \"e\", GIT_COMMITTER_NAME = \"n\", GIT_COMMITTER_EMAIL = \"e\" }}\n\
         [harness.b]\noneshot = true\ncmd = \"true\"\nworkdir = \"~/plain\"\n"
    ));
    fs::create_dir_all(home.path("r/deep")).unwrap();
    fs::create_dir_all(home.path("plain")).unwrap();
    git(&home, "r", &["init", "-q"]);
    git(&home, "r", &["commit", "-q", "--allow-empty", "-m", "first"]);
    let receipts = |home: &Home, name: &str| {
        let run = home.ended_run(name);
        assert_eq!(run["outcome"], "ok", "{run}");
        (run.get("git_before").cloned(), run.get("git_after").cloned())
    };
    let before = git(&home, "r", &["rev-parse", "HEAD"]);
    home.start_daemon();
    home.ok(&["start", "a", "b", "--wait"]);
    let after = git(&home, "r", &["rev-parse", "HEAD"]);
    assert_eq!(git(&home, "r", &["log", "-1", "--format=%s"]), "third", "the check is a part of the run");
    assert_eq!(receipts(&home, "a"), (Some(before.into()), Some(after.clone().into())));
    assert_eq!(receipts(&home, "b"), (None, None));
    home.stop_daemon();
    home.ok(&["once", "a"]);
    assert_eq!(receipts(&home, "a").0, Some(after.into()));
}

/// Users' complaint: a lock of the index that a dead git left stops every other git; it is said, and stays.
#[test]
fn a_stale_lock_of_the_repository_is_said() {
    let mut home = Home::new("[harness.a]\noneshot = true\ncmd = \"true\"\nworkdir = \"~/r\"\n");
    fs::create_dir_all(home.path("r")).unwrap();
    git(&home, "r", &["init", "-q"]);
    let lock = home.path("r/.git/index.lock");
    let old = SystemTime::now() - Duration::from_secs(1200);
    fs::File::create(&lock).unwrap().set_modified(old).unwrap();
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let path = lock.canonicalize().unwrap();
    let said = format!("`{}` is 20m", path.display());
    assert!(home.daemon_log().contains(&said), "{}", home.daemon_log());
    assert!(home.log("a").starts_with(&format!("[harnessd: {said}")), "{}", home.log("a"));
    assert!(lock.exists());
}
