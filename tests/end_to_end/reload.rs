//! CFG-10: configurations that change while the daemon runs.

use crate::support::{Home, until};

const ONE: &str = "[harness.one]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";
const TWO: &str = "[harness.two]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";

/// CFG-10: A file that is replaced by a rename is noticed; added harnesses start, removed ones stop.
#[test]
fn a_changed_file_is_applied_by_difference() {
    let mut home = Home::new(ONE);
    home.start_daemon();
    home.wait_state("one", "running");
    let pid = home.pid("one");
    home.configure(&format!("{ONE}{TWO}"));
    until("the added one runs", || {
        let list = home.ok(&["list", "--json"]).json();
        list["harnesses"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "two" && one["state"] == "running")
            .then_some(())
    });
    assert_eq!(home.pid("one"), pid);
    home.configure(TWO);
    until("the removed one is gone", || {
        (home.ok(&["list", "--json"]).json()["harnesses"].as_array().unwrap().len() == 1).then_some(())
    });
    assert!(!crate::support::alive(pid));
}

/// CFG-10: A configuration with mistakes is refused whole; the last good one stays in force, and `status` says so.
#[test]
fn a_rejected_configuration_changes_nothing() {
    let mut home = Home::new(&format!("[daemon]\nwatch = false\n{ONE}"));
    home.start_daemon();
    home.wait_state("one", "running");
    let pid = home.pid("one");
    home.configure(&format!("[daemon]\nwatch = false\n{TWO}[harness.three]\ncmd = 3\npromt = \"x\"\n"));
    let refused = home.harnessd(&["reload"]);
    assert_eq!(refused.code, 1);
    assert_eq!(
        refused.err,
        "error: the configuration has 2 errors; the last good one stays in force\n  help: run `harnessd validate` to see each with its place\n"
    );
    assert_eq!(home.pid("one"), pid);
    let status = home.ok(&["status", "--json"]).json();
    assert_eq!(status["config"]["state"], "rejected");
    let codes: Vec<_> =
        status["config"]["diagnostics"].as_array().unwrap().iter().map(|one| one["line"].clone()).collect();
    assert_eq!(codes, [8, 9]);
    home.configure(&format!("[daemon]\nwatch = false\n{ONE}{TWO}"));
    home.ok(&["reload"]);
    assert_eq!(home.ok(&["status", "--json"]).json()["config"]["state"], "ok");
    home.wait_state("two", "running");
    assert_eq!(home.pid("one"), pid);
}

/// CFG-10: At boot a rejected configuration contributes nothing: the daemon runs and says so.
#[test]
fn a_daemon_runs_without_a_valid_configuration() {
    let mut home = Home::new("[harness.one]\ncmd = 1\n");
    home.start_daemon();
    let status = home.ok(&["status", "--json"]).json();
    assert_eq!(status["config"]["state"], "rejected");
    assert_eq!(status["harnesses"], serde_json::json!({}));
    home.configure(ONE);
    until("the mended file is applied", || {
        (home.ok(&["status", "--json"]).json()["harnesses"]["running"] == 1).then_some(())
    });
}

/// CFG-10, CTL-2: keys that are consulted at exit or on a call apply at once; others show as changed until the next start.
#[test]
fn what_a_start_uses_waits_for_a_start() {
    let mut home = Home::new(&format!("[daemon]\nwatch = false\n{ONE}"));
    home.start_daemon();
    home.wait_state("one", "running");
    home.configure(&format!("[daemon]\nwatch = false\n{ONE}description = \"told\"\nrestart = \"no\"\n"));
    home.ok(&["reload"]);
    let harness = home.harness("one");
    assert_eq!((&harness["changed"], &harness["description"]), (&false.into(), &"told".into()));
    crate::support::kill(home.pid("one"), nix::libc::SIGKILL);
    home.wait_state("one", "stopped");
    home.ok(&["start", "one", "--wait"]);
    home.configure(&format!("[daemon]\nwatch = false\n{ONE}env = {{ A = \"1\" }}\n"));
    // SIGHUP is a reload too.
    home.signal_daemon(nix::libc::SIGHUP);
    until("it shows as changed", || (home.harness("one")["changed"] == true).then_some(()));
    assert!(home.ok(&["list"]).out.contains("changed: restart to apply"));
    home.ok(&["restart", "one", "--wait"]);
    assert_eq!(home.harness("one")["changed"], false);
}
