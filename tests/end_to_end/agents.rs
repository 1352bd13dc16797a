//! ADP-5, CTL-9: which agents are there, what may be wrong around a daemon, and a file to begin with.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Home, path_with, replace, until};

/// A program in `bin` that notes each time that it is asked, and does what `script` says.
pub(crate) fn program(home: &Home, name: &str, script: &str) {
    let asked = home.text(format!("asked-{name}"));
    home.write(format!("bin/{name}"), &format!("#!/bin/sh\necho \"$@\" >> '{asked}'\n{script}\n"));
    fs::set_permissions(home.path(format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
}

/// What is found of one agent.
pub(crate) fn agent(agents: &Value, id: &str) -> Value {
    let list = agents["agents"].as_array().unwrap();
    let mut found = list.iter().find(|one| one["id"] == id).unwrap().clone();
    for key in ["id", "aliases", "commands", "supports", "retention", "verified"] {
        found.as_object_mut().unwrap().remove(key);
    }
    found
}

/// The findings of a section: levels and texts.
fn findings(home: &Home, section: &str) -> Vec<(String, String)> {
    let said = home.harnessd(&["doctor", "--json"]);
    let view: Value = serde_json::from_str(&said.out).unwrap_or_else(|cause| panic!("{cause}: {said:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sections = view["sections"].as_array().unwrap();
    let found = sections.iter().find(|one| one["name"] == section).unwrap_or_else(|| panic!("{section}"));
    let list = found["findings"].as_array().unwrap();
    list.iter().map(|one| (text(&one["level"]), text(&one["text"]))).collect()
}

fn pair(level: &str, text: impl Into<String>) -> (String, String) {
    (level.to_owned(), text.into())
}

/// Everything below a directory, with sizes and modes.
fn tree(dir: &Path) -> BTreeMap<String, (u64, u32)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(path) = pending.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let size = if about.is_dir() { 0 } else { about.len() };
        found.insert(path.display().to_string(), (size, about.permissions().mode()));
    }
    found
}

/// ADP-5: an agent is found with its version and what its files tell of a login; one that gives no version
/// says why, one that is not there has neither; a program of another name is not asked.
#[test]
fn agents_tell_their_versions_and_logins() {
    let mut home = Home::new("");
    program(&home, "claude", "echo warning: odd; echo '2.1.9 (Claude Code)'");
    program(&home, "codex", "exit 3");
    program(&home, "my-pi", "echo 1.0");
    home.write(".claude/.credentials.json", "{\"secret\": \"0123456789\"}");
    home.write(".codex/auth.json", "{}\n");
    let path = path_with(&home.path("bin"));
    home.set("PATH", &path);
    home.set("HARNESSD_COMMAND_PI", &home.text("bin/my-pi"));
    let agents = home.ok(&["agents", "--json"]).json();
    assert_eq!(agents["judged_by"], "caller");
    assert_eq!(
        agent(&agents, "claude-code"),
        json!({"installed": true, "path": home.text("bin/claude"), "version": "2.1.9 (Claude Code)",
            "login": "yes", "login_files": [home.text(".claude/.credentials.json")]})
    );
    assert_eq!(
        agent(&agents, "codex"),
        json!({"installed": true, "path": home.text("bin/codex"), "version_trouble": "exit status 3",
            "login": "unknown", "login_files": [home.text(".codex/auth.json")]})
    );
    assert_eq!(
        agent(&agents, "pi"),
        json!({"installed": true, "path": home.text("bin/my-pi"), "login": "unknown",
            "login_files": [home.text(".pi/agent/auth.json")]})
    );
    assert_eq!(agent(&agents, "vibe"), json!({"installed": false, "login": "unknown", "login_files": []}));
    assert_eq!(home.read("asked-claude"), "--version\n");
    assert!(!home.path("asked-my-pi").exists());
    let shown = home.ok(&["agents"]).out;
    let line = shown.lines().find(|line| line.starts_with("claude-code")).unwrap();
    let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..4], ["claude-code", "2.1.9 (Claude Code)", "yes", &home.text("bin/claude")]);
}

/// ADP-5, CTL-5, CTL-9: where a daemon answers it looks, in its own environment, and asks each program once
/// for each file that it is.
#[test]
fn the_daemon_judges_in_its_own_environment() {
    let mut home = Home::new("");
    program(&home, "claude", "echo 2.1.9");
    let path = std::env::var("PATH").unwrap();
    home.set("PATH", &path_with(&home.path("bin")));
    home.start_daemon();
    home.set("PATH", &path);
    let agents = home.ok(&["agents", "--json"]).json();
    assert_eq!(
        (&agents["judged_by"], &agent(&agents, "claude-code")["version"]),
        (&json!("daemon"), &json!("2.1.9"))
    );
    let line = format!(
        "claude-code at `{}`: 2.1.9; login unknown (no `{}`; a key in its environment shows in no file)",
        home.text("bin/claude"),
        home.text(".claude/.credentials.json")
    );
    assert_eq!(findings(&home, "agents")[0], pair("ok", line));
    assert_eq!(home.read("asked-claude"), "--version\n");
    let transcripts = format!(
        "claude-code: 30 days, since `{}` does not set `cleanupPeriodDays`",
        home.text(".claude/settings.json")
    );
    assert_eq!(findings(&home, "transcripts"), [pair("note", transcripts)]);
    home.write(".claude/settings.json", "{\"cleanupPeriodDays\": 90}");
    let transcripts =
        format!("claude-code: `cleanupPeriodDays` is 90, says `{}`", home.text(".claude/settings.json"));
    assert_eq!(findings(&home, "transcripts"), [pair("note", transcripts)]);
    let said = home.ok(&["doctor"]).out;
    assert!(said.starts_with("judged in the daemon's environment\n"), "{said}");
    replace(&home.path("bin/claude"), b"#!/bin/sh\necho 2.2.0\n", 0o755);
    let agents = home.ok(&["agents", "--json"]).json();
    assert_eq!(agent(&agents, "claude-code")["version"], "2.2.0");
    home.stop_daemon();
    let agents = home.ok(&["agents", "--json"]).json();
    assert_eq!(
        (&agents["judged_by"], &agent(&agents, "claude-code")["installed"]),
        (&json!("caller"), &json!(false))
    );
    let said = home.ok(&["doctor"]).out;
    assert!(said.starts_with("judged in this environment, which may differ from a daemon's"), "{said}");
}

/// CFG-6, CTL-9: each setting is named with who says so, where a daemon answers and where none does.
#[test]
fn doctor_names_the_source_of_each_setting() {
    let mut home = Home::new("[daemon]\nwatch = false\nmax_attempts = 3\nbackoff_max = \"1m\"\n");
    home.set("HARNESSD_MAX_ATTEMPTS", "7");
    home.set("HARNESSD_BACKOFF_MAX", "");
    let state = home.text(".local/state/harnessd");
    let settings = [
        format!("state_dir = {state} (built-in)"),
        format!("socket = {state}/harnessd.sock (built-in)"),
        "watch = false ([daemon])".to_owned(),
        "crash_loop_exits = 5 (built-in)".to_owned(),
        "crash_loop_window = 1m (built-in)".to_owned(),
        "max_attempts = 7 (HARNESSD_MAX_ATTEMPTS)".to_owned(),
        "backoff_max = 1m ([daemon])".to_owned(),
        "skill_max_files = 4096 (built-in)".to_owned(),
        "skill_max_bytes = 256 MiB (built-in)".to_owned(),
        "projects = not set (built-in)".to_owned(),
        "max_parallel_runs = not set (built-in)".to_owned(),
    ];
    let settings = settings.map(|text| pair("note", text));
    assert_eq!(findings(&home, "settings"), settings);
    let elsewhere = home.text("elsewhere");
    let flagged = home.harnessd(&["doctor", "--state-dir", &elsewhere]).out;
    assert!(flagged.contains(&format!("state_dir = {elsewhere} (--state-dir)")), "{flagged}");
    home.start_daemon();
    home.set("HARNESSD_MAX_ATTEMPTS", "8");
    assert_eq!(findings(&home, "settings"), settings, "the daemon has its own variables");
}

/// CTL-9, CFG-5: each project is told with how it stands: listed, up, changed since, refused, gone; what a harness
/// of one lacks is told too.
#[test]
fn doctor_tells_how_projects_stand() {
    let mut home = Home::new("");
    let declared = |program: &str| format!("[harness.web]\ncmd = \"{program}\"\nargs = [\"600\"]\n");
    for project in ["one", "two", "three", "listed"] {
        home.write(format!("{project}/harness.toml"), &declared("sleep"));
    }
    home.configure(&format!("[daemon]\nprojects = [\"{}\"]\n", home.text("listed")));
    home.start_daemon();
    for project in ["one", "two", "three"] {
        home.ok(&["up", &home.text(project)]);
    }
    let file = |project: &str| home.text(format!("{project}/harness.toml"));
    let up = |project: &str| pair("ok", format!("`{project}` (up): `{}`", file(project)));
    let listed = pair("ok", format!("`listed` (listed): `{}`", file("listed")));
    assert_eq!(findings(&home, "projects"), [listed, up("one"), up("two"), up("three")]);
    home.write("two/harness.toml", &declared("no-such-program"));
    fs::remove_file(home.path("three/harness.toml")).unwrap();
    home.write("listed/harness.toml", "[harness.web]\ncmd = \"sleep\"\ncolour = 1\n");
    let (changed, gone) = (file("two"), file("three"));
    let refused = format!("`listed` (listed): `{}` is refused: unknown key `colour`", file("listed"));
    let rest = [
        up("one"),
        pair(
            "note",
            format!("`two` (up): `{changed}` has changed since `up`; what that accepted is in force"),
        ),
        pair("warning", format!("`three` (up): `{gone}` is gone; what `up` accepted is in force")),
    ];
    let found = findings(&home, "projects");
    assert_eq!(found[0], pair("warning", format!("{refused}; its last good definition is in force")));
    assert_eq!(found[1..], rest);
    home.ok(&["up", &home.text("two")]);
    let harnesses = findings(&home, "harnesses");
    assert!(harnesses.iter().any(|one| one.1.starts_with("`two/web` cannot start: ")), "{harnesses:?}");
    home.stop_daemon();
    let found = findings(&home, "projects");
    assert_eq!(found[0], pair("error", format!("{refused}; nothing of it is in force")));
}

/// CTL-9: a socket that may not be used is one finding: not that nobody answers as well.
#[test]
fn doctor_says_once_that_a_socket_may_not_be_used() {
    let mut home = Home::new("");
    home.for_an_ordinary_user();
    home.start_daemon();
    let socket = home.path(".local/state/harnessd/harnessd.sock");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o000)).unwrap();
    let found = findings(&home, "daemon");
    let about: Vec<_> = found.iter().filter(|(_, text)| text.contains("harnessd.sock")).collect();
    assert!(
        about.len() == 1 && about[0].0 == "error" && !about[0].1.contains("no daemon answers"),
        "{found:?}"
    );
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
}

/// CTL-9, CFG-2: a drop-in that cannot be read is told with its name.
#[test]
fn doctor_tells_of_a_drop_in_that_cannot_be_read() {
    let mut home = Home::new("");
    home.write(".config/harnessd/harness.d/more.toml", "");
    home.for_an_ordinary_user();
    let file = home.text(".config/harnessd/harness.d/more.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let found = findings(&home, "configuration");
    let told = found.iter().any(|(level, text)| level == "error" && text.contains(&file));
    assert!(told, "{found:?}");
}

/// CTL-9: what is wrong is said with its place and ends in status 1; a sound home gives none.
#[test]
fn doctor_finds_what_is_wrong() {
    let mut home = Home::new("[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\n");
    home.start_daemon();
    let said = home.ok(&["doctor"]);
    assert!(said.out.ends_with("\n0 errors, 0 warnings\n"), "{said:?}");
    let state = home.path(".local/state/harnessd");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let config = home.text(".config/harnessd/harness.toml");
    home.configure(
        "[harness.a]\ncmd = \"no-such-program\"\n[harness.b]\ncmd = \"sleep\"\nmemory_max = \"1 GiB\"\n",
    );
    home.ok(&["reload"]);
    assert_eq!(home.harnessd(&["doctor"]).code, 1);
    let state = state.display();
    assert!(
        findings(&home, "permissions")
            .contains(&pair("warning", format!("`{state}` has mode 0755: others may look into it")))
    );
    let harnesses = findings(&home, "harnesses");
    assert_eq!(harnesses[0], pair("ok", "1 of 2 have their program"));
    assert_eq!(harnesses[1].0, "error");
    assert!(
        harnesses[1].1.starts_with("`a` cannot start: `no-such-program` is not in PATH"),
        "{harnesses:?}"
    );
    home.configure("[harness.a]\ncmd = \"sleep\"\ncolour = 1\n");
    until("it is refused", || home.ok(&["status"]).out.contains("REJECTED").then_some(()));
    let configuration = findings(&home, "configuration");
    assert_eq!(configuration[0], pair("note", format!("the global file is `{config}`, in its usual place")));
    assert_eq!(configuration[1].0, "error");
    assert!(
        configuration[1].1.starts_with(&format!("{config}:3:1: harnessd::config::unknown_key: ")),
        "{configuration:?}"
    );
    assert_eq!(configuration[2].0, "warning");
}

/// CTL-9, CFG-2: a drop-in that came after the daemon is known.
#[test]
fn doctor_knows_the_drop_ins_of_now() {
    let mut home = Home::new("[daemon]\nwatch = false\n");
    let config = home.text(".config/harnessd/harness.toml");
    home.start_daemon();
    let two = home.text(".config/harnessd/harness.d/two.toml");
    home.write(&two, "[harness.two]\ncmd = \"true\"\n");
    home.configure("[daemon]\nwatch = false\n[profile.work]\nharnesses = [\"two\"]\n");
    home.ok(&["reload"]);
    let sound = [
        pair("note", format!("the global file is `{config}`, in its usual place")),
        pair("note", format!("a drop-in is `{two}`")),
        pair("ok", "it is valid and declares 1 harness"),
    ];
    assert_eq!(findings(&home, "configuration"), sound);
}

/// CTL-9: a store that is damaged, a lock whose holder does not answer and a daemon of another version are
/// said, and nothing is mended.
#[test]
fn doctor_repairs_nothing() {
    let mut home = Home::new("");
    let fresh = tree(&home.path(""));
    home.ok(&["doctor"]);
    home.ok(&["agents"]);
    assert_eq!(tree(&home.path("")), fresh, "it makes nothing");
    home.start_daemon();
    let lock = home.path(".local/state/harnessd/lock");
    let pid = home.daemon_pid();
    let text = format!("process {pid} holds the lock `{}` and does not answer", lock.display());
    let daemon = |home: &Home| {
        let elsewhere = home.text("nowhere.sock");
        let said = home.harnessd(&["doctor", "--json", "--socket", &elsewhere]);
        assert_eq!(said.code, 1);
        serde_json::from_str::<Value>(&said.out).unwrap()["sections"][0]["findings"][1]["text"].clone()
    };
    assert_eq!(daemon(&home), json!(text));
    home.stop_daemon();
    let store = home.path(".local/state/harnessd/state.db");
    let mut bytes = fs::read(&store).unwrap();
    let end = bytes.len().min(4096 * 3);
    bytes[4096..end].fill(0xa5);
    fs::write(&store, &bytes).unwrap();
    let before = tree(&home.path(""));
    let found = findings(&home, "state store");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "error");
    assert!(found[0].1.contains("state.db") && found[0].1.contains("damaged"), "{found:?}");
    assert_eq!(tree(&home.path("")), before, "it mends nothing");
}

/// `init` writes a valid file for the agents that are there, and never over one.
#[test]
fn init_writes_a_file_to_begin_with() {
    let mut home = Home::new("");
    let file = home.path(".config/harnessd/harness.toml");
    fs::remove_dir_all(home.path(".config")).unwrap();
    program(&home, "codex", "echo 1");
    home.set("PATH", &path_with(&home.path("bin")));
    let shown = home.ok(&["init", "--dry-run"]).out;
    assert!(!file.exists() && shown.contains("# [harness.sweep-codex]\n"), "{shown}");
    let said = home.ok(&["init"]).out;
    assert!(said.starts_with(&format!("wrote {}\nfound codex\n", file.display())), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), shown);
    assert!(!home.path("asked-codex").exists(), "nothing is started");
    assert!(home.ok(&["validate"]).out.ends_with("1 file, 0 errors, 0 warnings\n"));
    let again = home.harnessd(&["init"]);
    assert_eq!(
        (again.code, again.err),
        (
            1,
            format!(
                "error: `{}` was not written: it is there already\n  help: `--dry-run` prints what would be \
            written; `harnessd validate` checks what is there; `--config` names another place\n",
                file.display()
            )
        )
    );
    fs::create_dir_all(home.path("src/app")).unwrap();
    let view = home.within("src/app", &["init", "--project", "--json"]).json();
    assert_eq!((&view["agents"], &view["written"]), (&json!(["codex"]), &json!(true)));
    assert_eq!(view["text"], home.read("src/app/harness.toml"));
    assert_eq!(
        home.ok(&["validate", &home.text("src/app/harness.toml")]).out,
        "1 file, 0 errors, 0 warnings\n"
    );
}
