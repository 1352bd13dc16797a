//! Writers as their users meet them: `add set unset remove enable disable`, `schedule set`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use serde_json::json;

use crate::support::Home;

const FILE: &str = ".config/harnessd/harness.toml";
const REVIEW: &str = "# mine\r\n[harness.review]   # nightly\r\ncmd='true'\r\noneshot =   true\r\n\r\n[harness.other]\r\ncmd = \"true\"";

/// What a writer says when it has written.
fn written(home: &Home) -> String {
    format!("{}: written\n", home.text(FILE))
}

/// WRT-1: each verb changes its own key in the file that declares the harness; CRLF, spacing, comments and
/// the missing final newline stay.
#[test]
fn each_writer_changes_its_own_key_and_nothing_else() {
    let home = Home::new(REVIEW);
    let after = |args: &[&str]| {
        assert_eq!(home.ok(args).out, written(&home), "{args:?}");
        home.read(FILE)
    };
    let line = "oneshot =   true\r\n";
    let set = after(&["set", "review", "timeout", "5m"]);
    assert_eq!(set, REVIEW.replace(line, &format!("{line}timeout = \"5m\"\r\n")));
    assert_eq!(after(&["unset", "review", "timeout"]), REVIEW);
    let daily = after(&["schedule", "set", "review", "30 6 * * 1-5"]);
    assert_eq!(daily, REVIEW.replace(line, &format!("{line}schedule = \"30 6 * * 1-5\"\r\n")));
    after(&["unset", "review", "schedule"]);
    let variable = after(&["set", "review", "env.RUST_LOG", "info"]);
    assert_eq!(variable, REVIEW.replace(line, &format!("{line}env.RUST_LOG = \"info\"\r\n")));
    after(&["unset", "review", "env.RUST_LOG"]);
    assert_eq!(after(&["enable", "other"]), format!("{REVIEW}\r\nenabled = true"));
    assert_eq!(after(&["disable", "other"]), format!("{REVIEW}\r\nenabled = false"));
    assert_eq!(
        home.ok(&["disable", "other"]).out,
        format!("{}: unchanged, it says so already\n", home.text(FILE))
    );
    after(&["unset", "other", "enabled"]);
    assert_eq!(home.read(FILE), REVIEW);
    let args = "[\"-c\", \"date # 'now'\"]";
    after(&[
        "add",
        "tick",
        "--cmd",
        "sh",
        "--args",
        args,
        "--oneshot",
        "--schedule=@daily",
        "--env={ A = \"1\" }",
    ]);
    let table = format!(
        "[harness.tick]\r\ncmd = \"sh\"\r\nargs = {args}\r\noneshot = true\r\nschedule = \"@daily\"\r\nenv = {{ A = \"1\" }}"
    );
    assert_eq!(home.read(FILE), format!("{REVIEW}\r\n\r\n{table}"));
    assert_eq!(after(&["remove", "tick"]), REVIEW);
    assert_eq!(after(&["remove", "review"]), "# mine\r\n\r\n[harness.other]\r\ncmd = \"true\"");
}

/// WRT-1: a byte order mark stays; a first harness makes the file and its directory.
#[test]
fn a_mark_stays_and_a_first_harness_makes_the_file() {
    let home = Home::new("\u{feff}[harness.a]\ncmd = \"true\"\n");
    home.ok(&["set", "a", "description", "say \"hi\""]);
    assert_eq!(home.read(FILE), "\u{feff}[harness.a]\ncmd = \"true\"\ndescription = 'say \"hi\"'\n");
    fs::remove_dir_all(home.path(".config")).unwrap();
    assert_eq!(
        home.ok(&["add", "first", "--agent", "claude-code"]).out,
        written(&home),
        "`cmd` may be left out"
    );
    assert_eq!(home.read(FILE), "[harness.first]\nagent = \"claude-code\"\n");
}

/// WRT-2: a path is written as it was given, and no file's contents with it.
#[test]
fn a_path_is_written_as_it_was_given() {
    let home = Home::new("");
    home.write(".config/harnessd/prompts/sweep.md", "the secret prompt");
    home.ok(&[
        "add",
        "sweep",
        "--agent",
        "claude-code",
        "--prompt-file",
        "prompts/sweep.md",
        "--workdir",
        "~/src",
    ]);
    home.ok(&["set", "sweep", "env_file", "./.env"]);
    let text = home.read(FILE);
    assert_eq!(
        text,
        "[harness.sweep]\nagent = \"claude-code\"\nprompt_file = \"prompts/sweep.md\"\nworkdir = \"~/src\"\nenv_file = \"./.env\"\n"
    );
}

/// WRT-3: what would not be valid is refused with the places in the text as it would be, and the file stays.
#[test]
fn an_invalid_result_is_refused_with_located_errors() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\nenabled = true\n");
    let before = home.read(FILE);
    let file = home.text(FILE);
    let cases: [(&[&str], &str, &str); 5] = [
        (&["set", "a", "promt", "x"], "unknown_key", "promt = \"x\""),
        (&["set", "a", "timeout", "5m"], "needs_oneshot", "timeout = \"5m\""),
        (&["set", "a", "tty", "maybe"], "wrong_type", "tty = \"maybe\""),
        (&["add", "Bad.Name", "--cmd", "true"], "is no harness name", "Bad.Name"),
        (&["unset", "a", "cmd"], "missing_command", "[harness.a]"),
    ];
    for (args, code, line) in cases {
        let said = home.harnessd(args);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        assert!(said.err.contains(code) && said.err.contains(line), "{}", said.err);
        assert_eq!(home.read(FILE), before, "{args:?}");
    }
    let said = home.harnessd(&["set", "a", "tty", "maybe", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["error"]["code"], "config_invalid");
    assert_eq!(error["error"]["message"], format!("nothing was written: {file} would have 1 error"));
    assert_eq!(error["diagnostics"][0]["line"], 4);
    assert_eq!(error["diagnostics"][0]["file"], file.as_str());
    assert_eq!(home.read(FILE), before);
    // A file that has errors is not made worse, but an edit that mends it is welcome.
    home.configure("[harness.a]\ncmd = \"true\"\npromt = \"x\"\n");
    let said = home.harnessd(&["set", "a", "description", "x"]);
    assert!(said.code == 1 && said.err.contains("unknown_key"), "{said:?}");
    home.ok(&["unset", "a", "promt"]);
    assert_eq!(home.read(FILE), "[harness.a]\ncmd = \"true\"\n");
    home.configure("[harness.a\ncmd = \"true\"\n");
    let said = home.harnessd(&["set", "a", "description", "x"]);
    assert!(said.code == 1 && said.err.contains("harnessd::config::syntax"), "{said:?}");
}

/// WRT-1, CTL-6: a name that is taken, a key that is not there and a name that nothing has are refused, each in its
/// words.
#[test]
fn what_is_not_there_or_there_already_is_said() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    let file = home.text(FILE);
    let refused = |args: &[&str]| {
        let said = home.harnessd(args);
        assert_eq!(said.code, 1, "{said:?}");
        said.err
    };
    assert_eq!(
        refused(&["add", "a", "--cmd", "true"]),
        format!(
            "error: harness `a` is declared in {file} already\n  help: choose another name, or change it by `set`\n"
        )
    );
    assert_eq!(
        refused(&["unset", "a", "model"]),
        format!(
            "error: harness `a` has no key of its own to take out: there is no `harness.a.model` in {file}\n  help: what it has from `[defaults]` or by itself is changed by `set`\n"
        )
    );
    assert!(refused(&["set", "aa", "tty", "true"]).starts_with("error: no harness is named `aa`\n"));
    assert!(refused(&["set", "web/a", "tty", "true"]).starts_with("error: no harness is named `web/a`\n"));
    assert!(refused(&["add", "../x", "--cmd", "true"]).contains("is no harness name"));
    assert_eq!(home.read(FILE), "[harness.a]\ncmd = \"true\"\n");
}

/// WRT-1: what a drop-in declares is edited only if its file is named; the refusal says where it stands.
#[test]
fn what_a_drop_in_declares_is_edited_only_if_it_is_named() {
    let home = Home::new("");
    let drop_in = ".config/harnessd/harness.d/more.toml";
    home.write(drop_in, "\n[harness.b]\ncmd = \"true\"\n");
    let file = home.text(drop_in);
    let said = home.harnessd(&["set", "b", "tty", "true"]);
    assert_eq!(
        said.err,
        format!(
            "error: harness `b` is declared in {file}:2, which is edited only if it is named\n  help: say `--file {file}`\n"
        )
    );
    assert_eq!(home.ok(&["set", "b", "tty", "true", "--file", drop_in]).out, format!("{file}: written\n"));
    assert_eq!(home.read(drop_in), "\n[harness.b]\ncmd = \"true\"\ntty = true\n");
    symlink(".config", home.path("link")).unwrap();
    let linked = "link/harnessd/harness.d/more.toml";
    let said = home.ok(&["unset", "b", "tty", "--file", linked]);
    assert_eq!(said.out, format!("{file}: written\n"), "it is a drop-in by whatever name");
    let said = home.harnessd(&["set", "c", "tty", "true", "--file", drop_in]);
    assert!(said.err.starts_with(&format!("error: no harness `c` is declared in {file}\n")), "{said:?}");
}

/// WRT-3, CFG-2: a name that a drop-in declares is not added to the global file, which would be refused with it;
/// both places are shown.
#[test]
fn a_name_that_a_drop_in_declares_is_not_added() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    home.write(".config/harnessd/harness.d/more.toml", "\n[harness.b]\ncmd = \"true\"\n");
    let said = home.harnessd(&["add", "b", "--cmd", "true"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    let places = ["harness.d/more.toml:2:", "harness.toml:4:", "declared in two files", "would have 1 error"];
    assert!(places.iter().all(|part| said.err.contains(part)), "{}", said.err);
    assert_eq!(home.read(FILE), "[harness.a]\ncmd = \"true\"\n");
}

/// WRT-1, CFG-5: what a project elsewhere declares that is listed or up is refused with its place, with no daemon
/// too, and a name that is nearly one of its is found near.
#[test]
fn what_a_project_elsewhere_declares_is_refused_with_its_place() {
    let home = Home::new("");
    home.write("src/app/harness.toml", "\n[harness.web]\ncmd = \"true\"\n");
    home.configure(&format!("[daemon]\nprojects = [\"{}\"]\n", home.text("src/app")));
    let file = home.text("src/app/harness.toml");
    assert_eq!(
        home.harnessd(&["set", "app/web", "tty", "true"]).err,
        format!(
            "error: harness `app/web` is declared in {file}:2, which is edited only if it is named\n  help: say `--file {file}`\n"
        )
    );
    assert_eq!(
        home.harnessd(&["set", "app/wbe", "tty", "true"]).err,
        "error: no harness is named `app/wbe`\n  help: did you mean `app/web`?\n"
    );
}

/// WRT-1, CTL-6: inside a project a bare name is the project's; another project's file must be named.
#[test]
fn inside_a_project_its_own_file_is_edited() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    home.write("src/my app/harness.toml", "[project]\nname = \"app\"\n\n[harness.a]\ncmd = \"true\"\n");
    home.write("src/web/harness.toml", "[harness.a]\ncmd = \"true\"\n");
    let project = home.text("src/my app/harness.toml");
    let inside = |args: &[&str]| {
        let said = home.within("src/my app", args);
        (said.code, said.out, said.err)
    };
    let done = |file: &str| (0, format!("{file}: written\n"), String::new());
    assert_eq!(inside(&["set", "a", "tty", "true"]), done(&project));
    assert_eq!(inside(&["set", "app/a", "harvest", "true"]), done(&project));
    assert_eq!(inside(&["add", "b", "--cmd", "true"]), done(&project));
    assert_eq!(inside(&["--global", "set", "a", "tty", "true"]), done(&home.text(FILE)));
    let (code, _, error) = inside(&["set", "web/a", "tty", "true"]);
    assert!(code == 1 && error.starts_with("error: no harness is named `web/a`\n"), "{error}");
    let named = home.text("src/my app/../web/harness.toml");
    assert_eq!(inside(&["set", "web/a", "tty", "true", "--file", "../web/harness.toml"]), done(&named));
    let (code, _, error) = inside(&["set", "a", "mcp_allow", "[\"read\"]"]);
    assert!(code == 1 && error.contains("mcp_allow"), "{error}");
    assert_eq!(
        home.read("src/my app/harness.toml"),
        "[project]\nname = \"app\"\n\n[harness.a]\ncmd = \"true\"\ntty = true\nharvest = true\n\n[harness.b]\ncmd = \"true\"\n"
    );
}

/// WRT-4: `--dry-run` prints the difference and writes nothing; JSON says the same.
#[test]
fn a_dry_run_prints_the_difference() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    let file = home.text(FILE);
    let before = fs::metadata(home.path(FILE)).unwrap();
    let diff =
        format!("--- {file}\n+++ {file}\n@@ -1,2 +1,3 @@\n [harness.a]\n cmd = \"true\"\n+tty = true\n");
    assert_eq!(home.ok(&["set", "a", "tty", "true", "--dry-run"]).out, diff);
    let said = home.ok(&["set", "a", "tty", "true", "--dry-run", "--json"]).json();
    assert_eq!(
        said,
        json!({"harness": "a", "file": file, "changed": true, "written": false, "diff": diff, "diagnostics": []})
    );
    assert_eq!(fs::metadata(home.path(FILE)).unwrap().ino(), before.ino());
    assert_eq!(home.read(FILE), "[harness.a]\ncmd = \"true\"\n");
    assert_eq!(home.ok(&["set", "a", "tty", "true", "--json"]).json()["written"], true);
}

/// WRT-4, CFG-7: a link into a checkout of dotfiles stays one; what it leads to is replaced with its mode, and
/// the daemon takes the change over.
#[test]
fn writers_write_through_a_link() {
    let mut home = Home::new("");
    home.write("dotfiles/harness.toml", "[harness.a]\ncmd = \"sleep\"\nargs = [\"1000\"]\n");
    fs::set_permissions(home.path("dotfiles/harness.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(home.path(FILE)).unwrap();
    symlink("../../dotfiles/harness.toml", home.path(FILE)).unwrap();
    home.start_daemon();
    home.ok(&["add", "b", "--cmd", "sleep", "--args", "[\"1000\"]", "--enabled"]);
    assert_eq!(fs::read_link(home.path(FILE)).unwrap(), Path::new("../../dotfiles/harness.toml"));
    assert!(
        home.read("dotfiles/harness.toml")
            .ends_with("\n\n[harness.b]\ncmd = \"sleep\"\nargs = [\"1000\"]\nenabled = true\n")
    );
    assert_eq!(fs::metadata(home.path("dotfiles/harness.toml")).unwrap().mode() & 0o777, 0o600);
    home.ok(&["reload"]);
    home.wait_state("b", "running");
}

/// WRT-4, issue B: a read-only file, and one in a directory that nothing can be written in, is left as it is with
/// a plain reason.
#[test]
fn what_cannot_be_written_is_left_as_it_is() {
    let mut home = Home::new("[harness.a]\ncmd = \"true\"\n");
    home.for_an_ordinary_user();
    let file = home.text(FILE);
    let set_mode =
        |path: &str, mode| fs::set_permissions(home.path(path), fs::Permissions::from_mode(mode)).unwrap();
    let set = || home.harnessd(&["set", "a", "tty", "true"]);
    set_mode(FILE, 0o444);
    assert_eq!(
        set().err,
        format!(
            "error: {file}: it is read-only\n  help: change its mode, or edit the file that it is made from\n"
        )
    );
    set_mode(FILE, 0o644);
    set_mode(".config/harnessd", 0o555);
    let said = set();
    set_mode(".config/harnessd", 0o755);
    assert_eq!(
        said.err,
        format!(
            "error: {file}: it cannot be written: permission denied\n  help: the file is replaced whole, so its directory must be writable as well\n"
        )
    );
    assert_eq!(home.read(FILE), "[harness.a]\ncmd = \"true\"\n");
    assert_eq!(fs::read_dir(home.path(".config/harnessd")).unwrap().count(), 1, "nothing is left behind");
}

/// WRT-4: many writers at once lose nothing: each that says it has written is in the file.
#[test]
fn writers_at_once_lose_nothing() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\n");
    let commands: Vec<_> =
        (0..12).map(|number| home.command(&["set", "a", &format!("env.V{number}"), "1"])).collect();
    let codes: Vec<_> = thread::scope(|scope| {
        let run = |mut command: std::process::Command| move || command.output().unwrap();
        let all: Vec<_> = commands.into_iter().map(|command| scope.spawn(run(command))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let text = home.read(FILE);
    for (number, said) in codes.iter().enumerate() {
        let error = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success() || error.contains("it has changed since it was read"), "{error}");
        assert_eq!(text.contains(&format!("env.V{number} = ")), said.status.success(), "{number}: {text}");
    }
    assert!(codes.iter().any(|said| said.status.success()));
}

/// WRT-3: what an edit of one file makes wrong in another one that is accepted with it is refused too; what was
/// wrong there before is not held against it.
#[test]
fn an_edit_that_spoils_another_file_is_refused() {
    let home = Home::new("[profile.day]\nharnesses = [\"web\"]\n");
    let drop_in = ".config/harnessd/harness.d/more.toml";
    let text = "[harness.web]\ncmd = \"true\"\n[harness.b]\ncmd = \"true\"\n";
    home.write(drop_in, text);
    let refused = home.harnessd(&["remove", "web", "--file", drop_in]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("profile `day` names `web`, which no file declares"), "{refused:?}");
    assert_eq!(home.read(drop_in), text);
    home.configure("[profile.day]\nharnesses = [\"web\", \"gone\"]\n");
    assert_eq!(home.harnessd(&["remove", "web", "--file", drop_in]).code, 1);
    home.ok(&["remove", "b", "--file", drop_in]);
    assert_eq!(home.read(drop_in), "[harness.web]\ncmd = \"true\"\n");
}
