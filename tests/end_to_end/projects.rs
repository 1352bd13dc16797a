//! CFG-2, CFG-5, CFG-10, CTL-6, LIF-2: drop-ins, and projects that the daemon has.

mod together;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Home, alive, mark, until};

/// A resident harness that starts with its project.
fn server(name: &str, length: &str) -> String {
    format!("[harness.{name}]\ncmd = \"sleep\"\nargs = [\"{length}\"]\nenabled = true\n")
}

fn names(answer: &Value) -> Vec<&str> {
    answer["harnesses"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

fn listed(home: &Home) -> Vec<String> {
    names(&home.ok(&["list", "--json"]).json()).into_iter().map(ToOwned::to_owned).collect()
}

fn wait_listed(home: &Home, wanted: &[&str]) {
    until(&format!("{wanted:?} are all"), || (listed(home) == wanted).then_some(()));
}

/// CFG-5: nothing of a project starts before `up`; what was accepted runs, also after a restart of the daemon,
/// until another `up`; a changed file is said; `down` ends and forgets all.
#[test]
fn a_project_runs_from_up_to_down_as_it_was_accepted() {
    let mut home = Home::new("");
    home.write("src/app/harness.toml", &server("web", "600"));
    home.start_daemon();
    assert!(listed(&home).is_empty(), "a clone starts nothing");
    let before = home.within("src/app", &["ps"]);
    assert!(before.out.starts_with("the project is not up: `harnessd up` registers it"), "{before:?}");

    let up = home.within("src/app", &["up", "--json"]).json();
    assert_eq!(up["project"]["name"], "app");
    assert_eq!(names(&up), ["app/web"]);
    home.wait_state("app/web", "running");
    let pid = home.pid("app/web");

    home.write("src/app/harness.toml", &format!("{}{}", server("web", "601"), server("more", "600")));
    let ps = home.within("src/app", &["ps", "--json"]).json();
    assert_eq!(ps["harnesses"][0]["changed_since_up"], true);
    assert_eq!(ps["projects"][0]["changed_since_up"], true);
    let said = home.within("src/app", &["ps"]).out;
    assert!(said.starts_with("project `app` has changed since `up`: `harnessd up` applies it"), "{said}");
    home.ok(&["reload"]);
    assert_eq!(listed(&home), ["app/web"]);

    home.stop_daemon();
    home.start_daemon();
    home.wait_state("app/web", "running");
    assert_eq!(listed(&home), ["app/web"], "a pulled file is not run by a restart");

    let again = home.within("src/app", &["up", "--json"]).json();
    assert_eq!(names(&again), ["app/more", "app/web"]);
    home.wait_state("app/more", "running");
    let web = home.harness("app/web");
    assert_eq!((&web["changed"], &web["changed_since_up"]), (&json!(true), &json!(false)));
    assert!(!alive(pid));

    let down = home.ok(&["down", "app"]);
    assert!(down.out.starts_with("project `app` is down\n"), "{down:?}");
    wait_listed(&home, &[]);
    let gone = home.harnessd(&["down", "app"]);
    assert_eq!(
        gone.err,
        "error: no project that is up is `app`\n  help: `harnessd status` shows the projects\n"
    );
    home.stop_daemon();
    home.start_daemon();
    assert!(listed(&home).is_empty());
}

/// CFG-5: listed projects are the daemon's without `up` and follow their files; `down` says what to edit.
#[test]
fn a_listed_project_follows_its_file() {
    let mut home = Home::new("[daemon]\nprojects = [\"~/src/app\"]\n");
    home.write("src/app/harness.toml", &server("web", "600"));
    home.start_daemon();
    home.wait_state("app/web", "running");
    home.write("src/app/harness.toml", &format!("{}{}", server("web", "600"), server("more", "600")));
    wait_listed(&home, &["app/more", "app/web"]);
    let up = home.within("src/app", &["up", "--json"]).json();
    assert_eq!((&up["project"]["listed"], names(&up)), (&json!(true), vec!["app/more", "app/web"]));
    let refused = home.within("src/app", &["down"]);
    assert_eq!(refused.code, 1);
    assert_eq!(
        refused.err,
        format!(
            "error: project `app` is listed in the global file, and so it stays\n  help: remove `{}` from `[daemon] \
             projects` in {}; `harnessd stop` stops its harnesses meanwhile\n",
            home.text("src/app"),
            home.text(".config/harnessd/harness.toml")
        )
    );
    home.configure("[daemon]\n");
    wait_listed(&home, &[]);
}

/// CFG-10: a project with mistakes keeps its own last good definition, and no other unit is touched by it.
#[test]
fn each_unit_is_accepted_by_itself() {
    let global = "[daemon]\nwatch = false\nprojects = [\"src/one\", \"src/two\"]\n";
    let mut home = Home::new(&global.replace("src/", "../../src/"));
    home.write("src/one/harness.toml", &server("web", "600"));
    home.write("src/two/harness.toml", "[harness.web]\ncmd = 1\n");
    home.start_daemon();
    home.wait_state("one/web", "running");
    let pid = home.pid("one/web");
    let status = home.ok(&["status", "--json"]).json();
    assert_eq!(status["config"]["state"], "rejected");
    let states: Vec<_> = status["projects"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["ok", "rejected"]);

    home.write("src/one/harness.toml", "[harness.web\n");
    home.write("src/two/harness.toml", &server("web", "600"));
    let refused = home.harnessd(&["reload"]);
    assert_eq!(
        refused.err,
        "error: project `one` has 1 error; the last good definition stays in force\n  help: `harnessd status` \
         shows each with its place\n"
    );
    home.wait_state("two/web", "running");
    assert_eq!((listed(&home), home.pid("one/web")), (vec!["one/web".to_owned(), "two/web".to_owned()], pid));
    // A broken global file keeps its list of projects in force, and these go on by themselves.
    home.configure("[daemon\n");
    home.write("src/one/harness.toml", &format!("{}{}", server("web", "600"), server("more", "600")));
    assert_eq!(home.harnessd(&["reload"]).code, 1);
    wait_listed(&home, &["one/more", "one/web", "two/web"]);
    assert_eq!(home.pid("one/web"), pid);
}

/// LIF-2: what a broken file kept out at boot comes as at boot once it is mended: a resident harness that was
/// started by hand runs again.
#[test]
fn a_unit_that_is_mended_after_boot_comes_as_at_boot() {
    let web = "[harness.web]\ncmd = \"sleep\"\nargs = [\"600\"]\n";
    let mut home = Home::new("[daemon]\nwatch = false\nprojects = [\"~/app\"]\n");
    home.write("app/harness.toml", web);
    home.start_daemon();
    home.ok(&["start", "app/web", "--wait"]);
    home.stop_daemon();
    home.write("app/harness.toml", "[harness.web]\ncmd = 1\n");
    home.start_daemon();
    assert!(listed(&home).is_empty());
    home.write("app/harness.toml", web);
    home.ok(&["reload"]);
    home.wait_state("app/web", "running");
    assert_eq!(home.runs("app/web")[0]["trigger"], "boot");
}

/// CFG-5: `up` of a file with mistakes, of one that is not there, and of a second project of a name.
#[test]
fn a_refused_up_changes_nothing() {
    let mut home = Home::new("");
    home.write("a/app/harness.toml", &server("web", "600"));
    home.write("b/app/harness.toml", &server("web", "600"));
    home.start_daemon();
    home.within("a/app", &["up"]);
    home.wait_state("app/web", "running");
    let pid = home.pid("app/web");
    let clash = home.within("b/app", &["up"]);
    assert_eq!(clash.code, 1);
    let (a, b) = (home.text("a/app"), home.text("b/app"));
    assert_eq!(
        clash.err,
        format!(
            "error: {b}/harness.toml has an error: two projects are named `app`: `{a}` and `{b}`\n  help: \
             give one of them another `[project] name`\n"
        )
    );
    home.write("a/app/harness.toml", "[harness.web]\ncmd = 1\n[daemon]\n");
    let broken = home.within("a/app", &["up", "--json"]);
    assert_eq!(broken.code, 1);
    let error: Value = serde_json::from_str(&broken.err).unwrap();
    assert_eq!(error["error"]["code"], "config_invalid");
    let said = error["error"]["message"].as_str().unwrap();
    assert!(
        said.ends_with("has 2 errors, the first: `cmd` takes a program's name or path, not an integer"),
        "{said}"
    );
    let missing = home.harnessd(&["up", "nowhere", "--json"]);
    let error: Value = serde_json::from_str(&missing.err).unwrap();
    assert_eq!(error["error"]["code"], "unknown_project");
    let outside = home.harnessd(&["up"]);
    assert!(outside.err.starts_with("error: no project encloses `"), "{outside:?}");
    assert_eq!((home.pid("app/web"), listed(&home)), (pid, vec!["app/web".to_owned()]));
    assert_eq!(home.ok(&["status", "--json"]).json()["config"]["state"], "ok");
}

/// CTL-6, RUN-3: two projects with a harness of one name, in directories with spaces and other letters: each is
/// itself, and its files lie inside the state directory.
#[test]
fn projects_in_odd_directories_keep_apart() {
    let mut home = Home::new("[harness.web]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n");
    home.start_daemon();
    for dir in ["Mein Projekt", "größe/東京 x"] {
        home.write(format!("{dir}/harness.toml"), &server("web", "600"));
        let said = home.within(dir, &["up"]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    wait_listed(&home, &["mein-projekt/web", "web", "x/web"]);
    for name in ["mein-projekt/web", "web", "x/web"] {
        home.wait_state(name, "running");
    }
    let ps = home.within("größe/東京 x", &["ps", "--json"]).json();
    assert_eq!(names(&ps), ["x/web"]);
    assert_eq!(names(&home.ok(&["ps", "--json"]).json()), ["mein-projekt/web", "x/web"]);
    home.within("Mein Projekt", &["stop", "web", "--wait"]);
    assert_eq!(home.harness("mein-projekt/web")["state"], "stopped");
    assert_eq!(home.harness("web")["state"], "running");
    let near = home.harnessd(&["start", "mein-projekt/wep"]);
    assert!(near.err.contains("did you mean `mein-projekt/web`"), "{near:?}");
    let logs: Vec<_> = fs::read_dir(home.path(".local/state/harnessd/logs")).unwrap().collect();
    let mut logs: Vec<_> =
        logs.into_iter().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    logs.sort_unstable();
    assert_eq!(logs, ["mein-projekt@web", "web", "x@web"]);
    // `once` finds a registered project from elsewhere, and says that the daemon runs it.
    let once = home.harnessd(&["once", "x/web"]);
    assert!(once.err.starts_with("error: harness `x/web` runs already"), "{once:?}");
}

/// CFG-4, CFG-5: a cloned file starts nothing, grants nothing and changes nothing of the daemon.
#[test]
fn a_clone_changes_nothing_of_the_daemon() {
    let mark = mark("clone");
    let mut home = Home::new("");
    let run = "[harness.x]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";
    let text = format!(
        "[daemon]\nstate_dir = \"elsewhere\"\nwatch = false\n{run}env = {{ MARK = \"{mark}\" }}\nmcp_allow = [\"write\"]\n"
    );
    home.write("clone/harness.toml", &text);
    home.start_daemon();
    for verb in [&["list"][..], &["ps"], &["validate"], &["reload"], &["status"], &["runs"]] {
        home.within("clone", verb);
    }
    let refused = home.within("clone", &["up"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("has 2 errors, the first: `[daemon]` may stand in the global file only"),
        "{refused:?}"
    );
    assert!(listed(&home).is_empty() && home.processes_with(&format!("MARK={mark}")).is_empty());
    assert!(!home.path("clone/elsewhere").exists());
    assert_eq!(home.ok(&["status", "--json"]).json()["trouble"], json!([]));
}

/// CFG-2, CFG-10: drop-ins are part of the global unit, in the order of their names; a new one is noticed, a
/// hidden one is none, and a name that is defined twice is an error that points at both places.
#[test]
fn drop_ins_belong_to_the_global_unit() {
    let mut home = Home::new(&server("one", "600"));
    home.start_daemon();
    wait_listed(&home, &["one"]);
    home.write(".config/harnessd/harness.d/10-two.toml", &server("two", "600"));
    wait_listed(&home, &["one", "two"]);
    home.write(".config/harnessd/harness.d/.hidden.toml", "nonsense");
    home.write(".config/harnessd/harness.d/README", "nonsense");
    home.write(".config/harnessd/harness.d/20-three.toml", &server("three", "600"));
    wait_listed(&home, &["one", "three", "two"]);
    home.write(".config/harnessd/harness.d/30-again.toml", &server("two", "601"));
    until("the clash is said", || {
        (home.ok(&["status", "--json"]).json()["config"]["state"] == "rejected").then_some(())
    });
    let said = home.harnessd(&["validate", "--format", "json"]);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let one = &found["diagnostics"][0];
    let drop_in = |name: &str| home.text(format!(".config/harnessd/harness.d/{name}"));
    assert_eq!(
        (&one["code"], &one["file"]),
        (&json!("harnessd::config::duplicate_harness"), &json!(drop_in("30-again.toml")))
    );
    assert_eq!(one["related"][0]["file"], json!(drop_in("10-two.toml")));
    fs::remove_file(home.path(".config/harnessd/harness.d/30-again.toml")).unwrap();
    fs::remove_file(home.path(".config/harnessd/harness.d/10-two.toml")).unwrap();
    wait_listed(&home, &["one", "three"]);
}

/// CFG-2: a drop-in holds harnesses only.
#[test]
fn a_drop_in_holds_harnesses_only() {
    let home = Home::new("[defaults]\nskill_paths = [\"s\"]\nenv = { A = \"1\" }\n");
    let file = home.text(".config/harnessd/harness.d/x.toml");
    home.write(
        &file,
        "[daemon]\nwatch = false\n[defaults]\ntty = 1\n[project]\n[harnes.y]\n[harness.y]\ncmd = \"true\"\n",
    );
    let said = home.harnessd(&["validate", "--format", "short"]);
    let expected = [
        "1:1: harnessd::config::drop_in_only: `[daemon]` may not stand in a drop-in",
        "3:1: harnessd::config::drop_in_only: `[defaults]` may not stand in a drop-in",
        "5:1: harnessd::config::drop_in_only: `[project]` may not stand in a drop-in",
        "6:2: harnessd::config::unknown_table: unknown table `harnes`",
    ];
    let expected: Vec<String> = expected.iter().map(|line| format!("{file}:{line}")).collect();
    assert_eq!(
        (said.code, said.out.lines().collect::<Vec<_>>()),
        (1, expected.iter().map(String::as_str).collect())
    );
    assert_eq!(home.harnessd(&["validate", &file, "--format", "short"]).out, said.out);
    home.write(&file, "[harness.y]\nagent = \"claude-code\"\nskill_paths = [\"t\"]\n");
    let y = home.ok(&["skills", "y", "--json"]).json();
    let roots = y["roots"].as_array().unwrap().iter().filter(|one| one["rank"] == "global");
    let roots: Vec<_> = roots.map(|one| one["path"].as_str().unwrap().to_owned()).collect();
    let beside = |name: &str| home.text(format!(".config/harnessd/{name}"));
    assert_eq!(roots, [beside("s"), beside("harness.d/t")]);
}

/// CFG-7, CFG-10: a global file that is a link into a checkout: its drop-ins lie beside the link, and a change of
/// what it points to is seen. A home that is a link: a project is one by either name.
#[test]
fn links_lead_where_they_should() {
    let mut home = Home::new("");
    fs::remove_file(home.path(".config/harnessd/harness.toml")).unwrap();
    home.write(
        "dotfiles/harness.toml",
        &format!("[daemon]\nprojects = [\"~/src/app\"]\n{}", server("one", "600")),
    );
    home.write("dotfiles/harness.d/wrong.toml", &server("wrong", "600"));
    home.write(".config/harnessd/harness.d/two.toml", &server("two", "600"));
    symlink(home.path("dotfiles/harness.toml"), home.path(".config/harnessd/harness.toml")).unwrap();
    home.write("src/app/harness.toml", &server("web", "600"));
    let linked = tempfile::tempdir().unwrap();
    symlink(home.path(""), linked.path().join("me")).unwrap();
    home.set("HOME", linked.path().join("me").to_str().unwrap());
    home.start_daemon();
    wait_listed(&home, &["app/web", "one", "two"]);
    // The caller's own directory has no links in it: it is the same project.
    let up = home.within("src/app", &["up", "--json"]).json();
    assert_eq!(up["project"]["listed"], true);
    assert_eq!(names(&home.within("src/app", &["ps", "--json"]).json()), ["app/web"]);
    home.write("dotfiles/new", &server("three", "600"));
    fs::rename(home.path("dotfiles/new"), home.path("dotfiles/harness.toml")).unwrap();
    wait_listed(&home, &["three", "two"]);
}

/// CTL-11: a re-execution takes projects along; one that could not be read by the successor is a refusal.
#[test]
fn a_reexecution_takes_projects_along() {
    let mut home = Home::new("[daemon]\nwatch = false\nprojects = [\"~/listed\"]\n");
    home.write("listed/harness.toml", &server("web", "600"));
    home.write("app/harness.toml", &server("web", "600"));
    home.start_daemon();
    home.within("app", &["up"]);
    let pids = ["app/web", "listed/web"].map(|name| {
        home.wait_state(name, "running");
        home.pid(name)
    });
    home.write("app/harness.toml", "[harness.web\n");
    home.ok(&["reexec"]);
    assert_eq!(["app/web", "listed/web"].map(|name| home.pid(name)), pids);
    let ps = home.within("app", &["ps", "--json"]).json();
    assert_eq!(ps["projects"][0]["changed_since_up"], true);
    home.write("listed/harness.toml", "[harness.web\n");
    let refused = home.harnessd(&["reexec"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("has errors, so that its last good definition would be lost"),
        "{refused:?}"
    );
    assert_eq!(["app/web", "listed/web"].map(|name| home.pid(name)), pids);
}

/// CFG-3, CFG-5: two listed projects of one name: the first keeps it, the second is refused, and both are named.
#[test]
fn of_two_listed_projects_of_one_name_the_first_keeps_it() {
    let mut home = Home::new("[daemon]\nprojects = [\"~/a/app\", \"~/b/app\"]\n");
    home.write("a/app/harness.toml", &server("web", "600"));
    home.write("b/app/harness.toml", &server("other", "600"));
    home.start_daemon();
    wait_listed(&home, &["app/web"]);
    let status = home.ok(&["status", "--json"]).json();
    let states: Vec<_> = status["projects"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["ok", "rejected"]);
    let said = format!("two projects are named `app`: `{}` and `{}`", home.text("a/app"), home.text("b/app"));
    assert_eq!(status["config"]["diagnostics"][0]["message"], json!(said));
}
