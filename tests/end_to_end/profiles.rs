//! CFG-12: groups of harnesses, from the file to the processes.

use nix::libc::SIGKILL;

use crate::support::{Home, alive, until};

const SLEEPERS: &str = "
[daemon]
watch = false
[defaults]
cmd = \"sleep\"
args = [\"600\"]
[harness.web]
[harness.docs]
[harness.mail]
";
const DAY: &str = "[profile.day]\nharnesses = [\"web\", \"docs\"]\n";
const NIGHT: &str = "[profile.night]\ndescription = \"quiet\"\nharnesses = [\"docs\", \"mail\"]\n";

fn state(home: &Home, name: &str) -> String {
    home.harness(name)["state"].as_str().unwrap().to_owned()
}

fn troubles(home: &Home) -> serde_json::Value {
    home.ok(&["status", "--json"]).json()["trouble"].clone()
}

/// CFG-12: `use-profile` starts its members and stops nothing, `--exclusive` stops what only others name; the
/// one in use is shown, and remembered over a crash of the daemon.
#[test]
fn a_profile_is_used_and_remembered() {
    let mut home = Home::new(&[SLEEPERS, DAY, NIGHT].concat());
    home.start_daemon();
    assert!(home.ok(&["status", "--json"]).json().get("profile").is_none());
    let said = home.ok(&["use-profile", "day", "--wait"]).out;
    assert_eq!(said, "web: started\ndocs: started\nprofile `day` is in use\n");
    let (web, docs) = (home.pid("web"), home.pid("docs"));
    let said = home.ok(&["use-profile", "night", "--exclusive", "--wait"]).out;
    assert_eq!(said, "docs: already running\nmail: started\nweb: stopped\nprofile `night` is in use\n");
    assert!(!alive(web));
    assert_eq!(home.pid("docs"), docs);
    home.signal_daemon(SIGKILL);
    home.wait_daemon();
    home.start_daemon();
    home.wait_state("mail", "running");
    home.wait_state("docs", "running");
    assert_eq!(state(&home, "web"), "stopped", "what was intended is restored");
    assert_eq!(home.ok(&["status", "--json"]).json()["profile"], "night");
    assert!(home.ok(&["status"]).out.contains("\nprofile: night\n"));
    let answer = home.ok(&["use-profile", "day", "--json"]).json();
    let words: Vec<_> =
        answer["harnesses"].as_array().unwrap().iter().map(|one| one["result"].as_str().unwrap()).collect();
    assert_eq!((answer["profile"].as_str(), words), (Some("day"), vec!["starting", "already-running"]));
    assert_eq!(answer["warnings"], serde_json::json!([]));
}

/// LIF-2: the members of the profile that starts at boot start with the daemon.
#[test]
fn an_autostarting_profile_starts_with_the_daemon() {
    let mut home = Home::new(&[SLEEPERS, DAY, "autostart = true\n", NIGHT].concat());
    home.start_daemon();
    home.wait_state("web", "running");
    home.wait_state("docs", "running");
    assert_eq!(state(&home, "mail"), "stopped");
    assert_eq!(home.ok(&["status", "--json"]).json()["profile"], "day");
}

/// RUN-4: one run in the foreground starts no profile.
#[test]
fn once_is_not_kept_from_a_member_of_an_autostarting_profile() {
    let one = "[harness.one]\ncmd = \"true\"\noneshot = true\n[profile.day]\nharnesses = [\"one\"]\nautostart = true\n";
    let home = Home::new(one);
    home.ok(&["once", "one"]);
    assert_eq!(home.runs("one").len(), 1);
}

/// CFG-12: a remembered profile that is gone is said in the log, by `status` and by `use-profile`; a reload
/// that takes it away stops nothing.
#[test]
fn a_profile_that_is_gone_is_said() {
    let mut home = Home::new(&[SLEEPERS, DAY, NIGHT].concat());
    home.start_daemon();
    home.ok(&["use-profile", "night", "--wait"]);
    let mail = home.pid("mail");
    home.configure(&[SLEEPERS, DAY].concat());
    home.ok(&["reload"]);
    let gone = "profile `night`, which was used last, is no longer declared";
    assert_eq!(troubles(&home), serde_json::json!([gone]));
    assert!(home.ok(&["status"]).out.contains(&format!("trouble: {gone}\n")));
    assert_eq!(home.pid("mail"), mail);
    home.stop_daemon();
    home.start_daemon();
    until("it is in the log of both", || (home.daemon_log().matches(gone).count() == 2).then_some(()));
    let refused = home.harnessd(&["use-profile", "night"]);
    let expected =
        "error: profile `night` was used last and is no longer declared\n  help: the profiles are `day`\n";
    assert_eq!((refused.code, refused.err.as_str()), (1, expected));
    let said = home.ok(&["use-profile", "day"]).out;
    assert!(said.starts_with(&format!("warning: {gone}\nweb: starting\n")), "{said}");
    assert_eq!(troubles(&home), serde_json::json!([]));
}

/// CFG-12: a member of a project that is not up keeps nothing from starting, and is said everywhere.
#[test]
fn a_member_that_is_not_there_is_said() {
    let mut home = Home::new(&format!(
        "{SLEEPERS}[profile.day]\nharnesses = [\"app/web\", \"web\"]\nautostart = true\n"
    ));
    home.start_daemon();
    home.wait_state("web", "running");
    let trouble = "profile `day` names `app/web`, which nothing that is in force declares";
    assert_eq!(troubles(&home), serde_json::json!([trouble]));
    assert!(home.daemon_log().contains(trouble));
    let said = home.ok(&["use-profile", "day"]).out;
    let expected = "app/web: not started: nothing that is in force declares it\nweb: already running\nprofile `day` is in use\n";
    assert_eq!(said, expected);
}

/// CFG-12: mistakes in profiles refuse the file, each with its place; an unknown profile refuses the verb.
#[test]
fn mistakes_in_profiles_are_refused() {
    let scheduled = "[harness.sweep]\noneshot = true\nschedule = \"@daily\"\n[profile.odd]\nharnesses = [\"sweep\", \"wbe\"]\n";
    let mut home = Home::new(&[SLEEPERS, scheduled].concat());
    let file = home.text(".config/harnessd/harness.toml");
    let expected = format!(
        "{file}:14:14: harnessd::config::scheduled_member: profile `odd` names `sweep`, which has a schedule\n\
         {file}:14:23: harnessd::config::unknown_member: profile `odd` names `wbe`, which no file declares\n"
    );
    let said = home.harnessd(&["validate", "--format", "short"]);
    assert_eq!((said.code, said.out.as_str()), (1, expected.as_str()));
    home.configure(&[SLEEPERS, DAY].concat());
    home.start_daemon();
    let refused = home.harnessd(&["use-profile", "dya", "--json"]);
    let expected = "{\"error\":{\"code\":\"unknown_profile\",\"message\":\"no profile is named `dya`\",\"help\":\"did you mean `day`?\"}}\n";
    assert_eq!((refused.code, refused.err.as_str()), (1, expected));
    assert_eq!(state(&home, "web"), "stopped");
}

/// CTL-11: a re-execution keeps the profile in use.
#[test]
fn a_reexecution_keeps_the_profile() {
    let mut home = Home::new(&[SLEEPERS, DAY, NIGHT].concat());
    home.start_daemon();
    home.ok(&["use-profile", "day", "--wait"]);
    let web = home.pid("web");
    home.ok(&["reexec"]);
    assert_eq!(home.ok(&["status", "--json"]).json()["profile"], "day");
    assert_eq!(home.pid("web"), web);
    home.ok(&["use-profile", "night", "--exclusive", "--wait"]);
    assert!(!alive(web));
}
