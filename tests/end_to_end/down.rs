//! CFG-5: taking a project down, and waiting for it.

use crate::support::{Home, alive};

/// CFG-5: `down --wait` says that a project is down when nothing of it is alive, however long its harnesses take.
#[test]
fn down_waits_until_nothing_is_alive() {
    let mut home = Home::new("");
    let slow = "trap 'sleep 0.5; exit 0' TERM; while :; do sleep 0.05; done";
    let text = format!("[harness.web]\ncmd = \"sh\"\nargs = [\"-c\", \"{slow}\"]\nenabled = true\n");
    home.write("app/harness.toml", &text);
    home.start_daemon();
    home.ok(&["up", &home.text("app")]);
    home.wait_state("app/web", "running");
    let pid = home.pid("app/web");
    let down = home.ok(&["down", "app", "--wait"]);
    assert_eq!(down.out, "project `app` is down\napp/web: stopped\n");
    assert!(!alive(pid));
    let gone = home.harnessd(&["down", "app", "--wait"]);
    assert_eq!(
        gone.err,
        "error: no project that is up is `app`\n  help: `harnessd status` shows the projects\n"
    );
}
