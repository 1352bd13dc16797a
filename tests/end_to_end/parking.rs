//! RUN-0: a harness whose agent is not logged in is parked until its login changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Home, path_with, until};

/// An agent that answers like the real one: by whether its login is good.
fn home_of_an_agent(config: &str, logged_in: &str) -> Home {
    let mut home = Home::new(config);
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report/claude-code");
    let answers = answers.display();
    home.write(
        "bin/claude",
        &format!(
            "#!/bin/sh\nif {logged_in}; then exec cat '{answers}/ok.jsonl'; fi\n\
             cat '{answers}/401-oauth.jsonl'\nexit 1\n"
        ),
    );
    fs::set_permissions(home.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = path_with(&home.path("bin"));
    home.set("PATH", &path);
    home
}

fn waits_for_login(home: &Home, name: &str) -> bool {
    home.harness(name)["waiting"]["reason"] == "login"
}

fn count(home: &Home, name: &str, outcome: &str) -> usize {
    home.runs(name).iter().filter(|run| run["outcome"] == outcome).count()
}

/// RUN-0: slots of a parked harness are skipped; its login appears, in a directory that was not there, is
/// replaced by a rename, and each time it is tried once more; other files there change nothing.
#[test]
fn a_parked_harness_is_tried_again_when_its_login_changes() {
    let mut home = home_of_an_agent(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"go\"\nschedule = \"@every 1s\"\n",
        "grep -qs good ~/.claude/.credentials.json",
    );
    home.start_daemon();
    until("it is parked", || waits_for_login(&home, "a").then_some(()));
    until("a slot is skipped", || (count(&home, "a", "skipped") > 0).then_some(()));
    assert_eq!(count(&home, "a", "auth-required"), 1, "it is not tried in vain");
    home.write(".claude/other", "x");
    home.write(".claude/.credentials.json", "bad");
    until("it is tried with the new login", || (count(&home, "a", "auth-required") == 2).then_some(()));
    until("it is parked again", || waits_for_login(&home, "a").then_some(()));
    home.write(".claude/other", "y");
    home.write(".claude/new", "good");
    fs::rename(home.path(".claude/new"), home.path(".claude/.credentials.json")).unwrap();
    until("it runs", || (count(&home, "a", "ok") > 0).then_some(()));
    assert!(!waits_for_login(&home, "a"));
    assert_eq!(count(&home, "a", "auth-required"), 2);
    assert_eq!(home.daemon_log().matches("its login has changed").count(), 2);
}

/// RUN-0: the file that the agent's keys stand in is its login too; so is the place that a variable names.
#[test]
fn keys_and_moved_directories_are_watched() {
    let mut home = home_of_an_agent(
        "[harness.keys]\nagent = \"claude-code\"\nprompt = \"go\"\nenv_file = \"~/keys\"\n\
         [harness.moved]\nagent = \"claude-code\"\nprompt = \"go\"\nenv_file = \"~/places\"\n",
        "[ \"${TOKEN-}\" = good ]",
    );
    let places = format!("CLAUDE_CONFIG_DIR={}\n", home.text("elsewhere"));
    home.write("places", &places);
    home.start_daemon();
    assert_eq!(home.harnessd(&["start", "keys", "moved", "--wait"]).code, 1);
    assert!(waits_for_login(&home, "keys") && waits_for_login(&home, "moved"));
    home.write("keys", "TOKEN=good\n");
    until("the keys are seen", || (!waits_for_login(&home, "keys")).then_some(()));
    assert!(waits_for_login(&home, "moved"));
    home.ok(&["start", "keys", "--wait"]);
    home.write("elsewhere/.credentials.json", "x");
    until("the login is seen where it is", || (!waits_for_login(&home, "moved")).then_some(()));
}

/// RUN-0: a harness is parked though the daemon was killed meanwhile, until its login changes; one that
/// changed while no daemon was there is seen at the start.
#[test]
fn a_parked_harness_is_parked_by_the_next_daemon_too() {
    let mut home = home_of_an_agent(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"go\"\nschedule = \"@every 1s\"\n",
        "grep -qs good ~/.claude/.credentials.json",
    );
    home.write(".claude/.credentials.json", "bad");
    home.start_daemon();
    until("it is parked", || waits_for_login(&home, "a").then_some(()));
    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    let skipped = count(&home, "a", "skipped");
    home.start_daemon();
    until("slots are skipped again", || (count(&home, "a", "skipped") > skipped).then_some(()));
    assert!(waits_for_login(&home, "a"));
    assert_eq!(count(&home, "a", "auth-required"), 1, "it is not tried in vain");

    home.signal_daemon(nix::libc::SIGKILL);
    home.wait_daemon();
    home.write(".claude/.credentials.json", "good");
    home.start_daemon();
    until("it runs", || (count(&home, "a", "ok") > 0).then_some(()));
    assert_eq!(count(&home, "a", "auth-required"), 1);
}
