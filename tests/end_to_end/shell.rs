//! CTL-5, CTL-7, CTL-9: what the verbs that look around tell of projects, and to whose terminal.

use std::fs;

use serde_json::Value;

use crate::support::{Home, Said};

const SLEEPER: &str = "cmd = \"sleep\"\nargs = [\"600\"]\n";

/// The findings of a section: `LEVEL TEXT`.
fn findings(said: &Said, section: &str) -> Vec<String> {
    let view: Value = serde_json::from_str(&said.out).unwrap_or_else(|cause| panic!("{cause}: {said:?}"));
    let sections = view["sections"].as_array().unwrap();
    let Some(found) = sections.iter().find(|one| one["name"] == section) else { return Vec::new() };
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let list = found["findings"].as_array().unwrap();
    list.iter().map(|one| format!("{} {}", text(one, "level"), text(one, "text"))).collect()
}

/// CTL-9, CFG-10: the projects that a daemon runs are examined as the global file is, by it and without it; the place
/// that it was started in counts for nothing, and a drop-in that is gone is no mistake.
#[test]
fn doctor_looks_at_projects_and_at_what_the_files_are_now() {
    let mut home = Home::new("[daemon]\nprojects = [\"~/src/listed\"]\nwatch = false\n");
    home.write(".config/harnessd/harness.d/10.toml", &format!("[harness.dropped]\n{SLEEPER}"));
    home.write("src/listed/harness.toml", "[harness.a]\ncmd = \"sleep\"\n");
    home.write("src/app/harness.toml", "[harness.web]\ncmd = \"no-such-program\"\n");
    home.start_daemon();
    assert_eq!(home.within("src/app", &["up"]).code, 0);
    home.write("src/app/harness.toml", "[harness.web]\ncmd = \"other\"\n");
    home.write("src/listed/harness.toml", "[harness.a]\ncmd = \"sleep\"\ncolour = 1\n");
    fs::remove_file(home.path(".config/harnessd/harness.d/10.toml")).unwrap();
    let (listed, app) = (home.text("src/listed/harness.toml"), home.text("src/app/harness.toml"));
    let configuration = [
        format!(
            "note the global file is `{}`, in its usual place",
            home.text(".config/harnessd/harness.toml")
        ),
        format!("error {listed}:3:1: harnessd::config::unknown_key: unknown key `colour`"),
    ];
    let projects = |level: &str, what: &str| {
        [
            format!(
                "{level} `listed` (listed): `{listed}` is refused: unknown key `colour`; {what} is in force"
            ),
            format!("note `app` (up): `{app}` has changed since `up`; what that accepted is in force"),
        ]
    };
    let broken = "`app/web` cannot start: `no-such-program` is not in PATH";
    let said = home.harnessd(&["doctor", "--json"]);
    assert_eq!((said.code, findings(&said, "configuration")), (1, configuration.to_vec()));
    assert_eq!(findings(&said, "projects"), projects("warning", "its last good definition"));
    let harnesses = findings(&said, "harnesses");
    assert_eq!(harnesses[0], "ok 1 of 2 have their program", "of the refused one the last good definition");
    assert!(harnesses[1].starts_with(&format!("error {broken}")), "{harnesses:?}");

    home.stop_daemon();
    let said = home.harnessd(&["doctor", "--json"]);
    assert_eq!((said.code, findings(&said, "configuration")), (1, configuration.to_vec()));
    assert_eq!(findings(&said, "projects"), projects("error", "nothing of it"));
    // In its directory a project counts as its file is.
    home.write("src/app/harness.toml", "[harness.web]\ncmd = \"sleep\"\n[harness.more]\ncmd = \"sleep\"\n");
    let said = home.within("src/app", &["doctor", "--json"]);
    assert_eq!(findings(&said, "harnesses"), ["ok 2 of 2 have their program"]);
}

/// CTL-5: without a daemon, too, a harness of a project elsewhere is found by its full name.
#[test]
fn plan_and_sync_find_projects_elsewhere() {
    let mut home = Home::new("[daemon]\nprojects = [\"~/src/listed\"]\n");
    home.write("src/listed/harness.toml", &format!("[harness.a]\n{SLEEPER}"));
    home.write("src/app/harness.toml", &format!("[harness.web]\n{SLEEPER}"));
    home.start_daemon();
    assert_eq!(home.within("src/app", &["up"]).code, 0);
    home.stop_daemon();
    for name in ["listed/a", "app/web"] {
        assert_eq!(home.ok(&["plan", name, "--json"]).json()["harness"], name);
        assert_eq!(home.ok(&["skills", "sync", name, "--dry-run", "--json"]).json()["harness"], name);
    }
    let plans = home.ok(&["plan", "--json"]).json();
    let names: Vec<&str> =
        plans["plans"].as_array().unwrap().iter().map(|one| one["harness"].as_str().unwrap()).collect();
    assert_eq!(names, ["app/web", "listed/a"]);
}

/// CTL-7: what a stranger's project says of itself, and what its directory is called, steers no terminal.
#[test]
fn nothing_of_a_project_steers_a_terminal() {
    let mut home = Home::new("");
    let dir = "src/\u{1b}[31mred/app";
    let text = "[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\ndescription = \"\\u001b[2J \\u202e x\"\n";
    home.write(format!("{dir}/harness.toml"), text);
    home.start_daemon();
    let verbs: [&[&str]; 12] = [
        &["ps"],
        &["up"],
        &["init", "--project"],
        &["list"],
        &["status"],
        &["describe", "a"],
        &["plan", "a"],
        &["skills", "a"],
        &["doctor"],
        &["validate"],
        &["doctor", "--socket", "\u{1b}[31m"],
        &["status", "--socket", "\u{1b}[31m"],
    ];
    for verb in verbs {
        let said = home.within(dir, verb);
        let steers = |text: &str| text.contains(['\u{1b}', '\u{202e}']);
        assert!(!steers(&said.out) && !steers(&said.err), "{verb:?}: {said:?}");
    }
    let said = home.within(dir, &["describe", "a"]).out;
    assert!(said.contains("\\u{1b}[2J \\u{202e} x"), "{said}");
}

/// CTL-9, CFG-6: of a place that systemd or the session has chosen it is said by which variable.
#[test]
fn doctor_names_the_variable_that_chose_a_place() {
    let mut home = Home::new("");
    let settings = |home: &Home| findings(&home.harnessd(&["doctor", "--json"]), "settings")[..2].to_vec();
    let (state, runtime) = (home.text("state"), home.text("runtime"));
    home.set("XDG_STATE_HOME", &state);
    home.set("XDG_RUNTIME_DIR", &runtime);
    assert_eq!(
        settings(&home),
        [
            format!("note state_dir = {state}/harnessd (XDG_STATE_HOME)"),
            format!("note socket = {runtime}/harnessd/harnessd.sock (XDG_RUNTIME_DIR)")
        ]
    );
    home.set("STATE_DIRECTORY", &state);
    home.set("RUNTIME_DIRECTORY", &runtime);
    assert_eq!(
        settings(&home),
        [
            format!("note state_dir = {state} (STATE_DIRECTORY)"),
            format!("note socket = {runtime}/harnessd.sock (RUNTIME_DIRECTORY)")
        ]
    );
    home.set("HARNESSD_STATE_DIR", &home.text("own"));
    assert_eq!(
        settings(&home),
        [
            format!("note state_dir = {} (HARNESSD_STATE_DIR)", home.text("own")),
            format!(
                "note socket = {}/harnessd.sock (in the state directory that was named)",
                home.text("own")
            )
        ]
    );
}
