//! `validate`: which files are judged, as what, and how the answer is given (CFG-9).

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Home;

const GOOD: &str = "[harness.a]\ncmd = \"true\"\n";
const WRONG: &str = "[harness.a]\ncmd = \"true\"\npromt = \"x\"\n";
const UNKNOWN_KEY: &str = ":3:1: harnessd::config::unknown_key: unknown key `promt`\n";

/// CFG-9: 0 for clean files, warnings included, 1 for mistakes, 2 for files that cannot be judged; nothing
/// is started and nothing is written.
#[test]
fn the_exit_status_of_validate_tells_clean_wrong_and_unreadable() {
    let home = Home::new(GOOD);
    home.write("warned.toml", "[harness.a]\ncmd = \"true\"\nenv_file = \"missing.env\"\n");
    home.write("wrong.toml", WRONG);
    let validate = |args: &[&str]| {
        let said = home.harnessd(&[&["validate", "--format", "short"], args].concat());
        (said.code, said.out, said.err)
    };
    let quiet = String::new;
    assert_eq!(validate(&[]), (0, quiet(), quiet()));
    let (code, warned, _) = validate(&["warned.toml"]);
    assert_eq!(code, 0, "a warning fails nothing");
    assert!(warned.starts_with("warned.toml:3:12: harnessd::config::"), "{warned}");
    let wrong = format!("wrong.toml{UNKNOWN_KEY}");
    assert_eq!(validate(&["wrong.toml"]), (1, wrong.clone(), quiet()));
    let missing = "missing.toml:1:1: harnessd::config::unreadable: the file does not exist\n";
    assert_eq!(validate(&["missing.toml"]), (2, missing.to_owned(), quiet()));
    assert_eq!(validate(&["wrong.toml", "missing.toml"]), (2, format!("{wrong}{missing}"), quiet()));
    assert_eq!(home.harnessd(&["validate", "--format", "nonsense"]).code, 2);
    assert!(!home.path(".local/state/harnessd").exists(), "it writes nothing");
}

/// CFG-9: with `--strict` a warning fails it, too; a clean file is clean, one that cannot be read is no warning.
#[test]
fn strict_fails_for_warnings() {
    let home = Home::new(GOOD);
    home.write("warned.toml", "[harness.a]\ncmd = \"true\"\nenv_file = \"missing.env\"\n");
    let strict = |file: &str| home.harnessd(&["validate", "--strict", file]);
    let said = strict("warned.toml");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.ends_with("1 file, 0 errors, 1 warning\n"), "{}", said.out);
    assert_eq!(strict(".config/harnessd/harness.toml").code, 0);
    assert_eq!(strict("missing.toml").code, 2);
}

/// CFG-9: `sarif` is a SARIF 2.1.0 log: a rule for each code that occurs, a result with its region for each
/// mistake, and a URI that is relative where the file's name is.
#[test]
fn validate_prints_sarif() {
    let home = Home::new("");
    home.write("an app/wrong.toml", "[harness.\"ä\"]\ncmd = \"ä\"\n[harness.a]\nprompt = \"x\"\nargs = []\n");
    let said = home.harnessd(&["validate", "--format", "sarif", "an app/wrong.toml", "missing.toml"]);
    assert_eq!(said.code, 2);
    let log: Value = serde_json::from_str(&said.out).unwrap();
    let run = &log["runs"][0];
    assert_eq!((&log["version"], &run["columnKind"]), (&json!("2.1.0"), &json!("unicodeCodePoints")));
    assert_eq!(run["tool"]["driver"]["name"], "harnessd");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let meaning = json!({"text": "a harness or project name breaks the grammar of names"});
    let rule = json!({"id": "harnessd::config::bad_name", "shortDescription": meaning});
    assert!(rules.contains(&rule), "{rules:?}");
    let results = run["results"].as_array().unwrap();
    let known = |one: &Value| rules.iter().any(|rule| rule["id"] == one["ruleId"]);
    assert!(results.iter().all(known), "{results:?}");
    let at = |line: u32, from: u32, to: u32| {
        json!({"artifactLocation": {"uri": "an%20app/wrong.toml"},
            "region": {"startLine": line, "startColumn": from, "endLine": line, "endColumn": to}})
    };
    let name = "in harness `an-app/ä`: `ä` is no name for a harness (help: a name is 1 to 63 of `a-z 0-9 _ -` and begins with a letter or digit)";
    let first = json!({"ruleId": "harnessd::config::bad_name", "level": "error", "message": {"text": name},
        "locations": [{"physicalLocation": at(1, 10, 13)}]});
    assert_eq!(results[0], first);
    let both = results.iter().find(|one| one["ruleId"] == "harnessd::config::exclusive_keys").unwrap();
    let there = json!([{"physicalLocation": at(4, 1, 7), "message": {"text": "`prompt` stands here"}}]);
    let here = &both["locations"][0]["physicalLocation"];
    assert_eq!((here, &both["relatedLocations"]), (&at(5, 1, 5), &there));
    let unread = json!({"ruleId": "harnessd::config::unreadable", "level": "error",
        "message": {"text": "the file does not exist (help: name a readable TOML file)"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "missing.toml"}}}]});
    assert_eq!(results.last(), Some(&unread));
}

/// CFG-3, CFG-9: a file that is named without its directory belongs to the project that the directory is.
#[test]
fn a_file_named_relatively_belongs_to_its_directory() {
    let home = Home::new("");
    home.write("Web App/harness.toml", WRONG);
    let said = home.within("Web App", &["validate", "--format", "json", "harness.toml"]);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let one = &found["diagnostics"][0];
    assert_eq!((&one["harness"], &one["file"]), (&json!("web-app/a"), &json!("harness.toml")));
}

/// CFG-9: `human` shows the place and ends with the counts, `short` is one line a mistake, `json` one object.
#[test]
fn validate_prints_in_three_formats() {
    let home = Home::new("");
    home.write("app/wrong.toml", WRONG);
    let validate = |format: &str| home.harnessd(&["validate", "--format", format, "app/wrong.toml"]).out;
    assert_eq!(validate("short"), format!("app/wrong.toml{UNKNOWN_KEY}"));
    let found: Value = serde_json::from_str(&validate("json")).unwrap();
    let one = json!({"code": "harnessd::config::unknown_key", "severity": "error", "message": "unknown key `promt`",
        "file": "app/wrong.toml", "line": 3, "column": 1, "end_line": 3, "end_column": 6, "harness": "app/a",
        "help": "did you mean `prompt`?", "related": []});
    assert_eq!(found, json!({"diagnostics": [one], "files": 1, "errors": 1, "warnings": 0}));
    let human = validate("human");
    assert!(human.contains("unknown key `promt`") && human.contains("promt = \"x\""), "{human}");
    assert!(human.ends_with("\n1 file, 1 error, 0 warnings\n"), "{human}");
    assert_eq!(home.harnessd(&["validate", "app/wrong.toml"]).out, human, "it is the default");
}

/// CFG-9, CFG-8: with no argument the global file and the enclosing project are judged together, each with
/// all its mistakes.
#[test]
fn validate_judges_the_global_file_and_the_enclosing_project() {
    let home = Home::new(WRONG);
    home.write("src/app/harness.toml", WRONG);
    home.write("src/app/deep/file", "");
    let output = home
        .command(&["validate", "--format", "short"])
        .current_dir(home.path("src/app/deep"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let global = home.text(".config/harnessd/harness.toml");
    let project = home.text("src/app/harness.toml");
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out, format!("{global}{UNKNOWN_KEY}{project}{UNKNOWN_KEY}"));
}

/// CFG-9, CFG-4: a file is global by its place (the selected one, or in its `harness.d`), else a project's,
/// unless `--as` says otherwise; what a project may not hold is located there.
#[test]
fn the_place_of_a_file_decides_what_it_may_hold() {
    let home = Home::new("[daemon]\nwatch = false\n");
    home.write(
        ".config/harnessd/harness.d/more.toml",
        "[harness.a]\ncmd = \"true\"\nmcp_allow = [\"read\"]\n",
    );
    home.write("project.toml", "[daemon]\nwatch = false\n");
    let validate = |args: &[&str]| {
        let said = home.harnessd(&[&["validate", "--format", "short"], args].concat());
        (said.code, said.out)
    };
    let refused =
        "project.toml:1:1: harnessd::config::global_only: `[daemon]` may stand in the global file only\n";
    assert_eq!(validate(&["project.toml"]), (1, refused.to_owned()));
    assert_eq!(validate(&["--as", "global", "project.toml"]), (0, String::new()));
    assert_eq!(validate(&[".config/harnessd/harness.toml"]), (0, String::new()));
    assert_eq!(validate(&["--as", "project", ".config/harnessd/harness.toml"]).0, 1);
    let (_, drop_in) = validate(&[".config/harnessd/harness.d/more.toml"]);
    assert!(!drop_in.contains("global_only"), "a drop-in is global: {drop_in}");
    // By whatever links it is named.
    std::os::unix::fs::symlink(".config", home.path("link")).unwrap();
    let (_, linked) = validate(&["link/harnessd/harness.d/more.toml"]);
    let own = ".config/harnessd/harness.d/more.toml";
    assert_eq!(linked, drop_in.replace(own, "link/harnessd/harness.d/more.toml"));
    home.write(own, "[defaults]\nagent = \"codex\"\n");
    let (_, linked) = validate(&["link/harnessd/harness.d/more.toml"]);
    assert!(linked.contains("drop_in_only"), "it is no project's file: {linked}");
}

/// CFG-9, CFG-2: where `--config` names the global file of a repository, what lies in its `harness.d` is checked as a
/// drop-in beside it, as the page on pre-commit has it.
#[test]
fn the_files_of_a_repository_are_judged_as_they_lie() {
    let home = Home::new("");
    let adapter = "[adapter.mine]\ncommands = [\"mine\"]\noneshot = { argument = [\"{prompt}\"] }\n";
    home.write("dotfiles/harness.toml", &format!("{adapter}[harness.a]\ncmd = \"true\"\n"));
    let validate = |drop_in: &str| {
        home.write("dotfiles/harness.d/more.toml", drop_in);
        let files = ["dotfiles/harness.toml", "dotfiles/harness.d/more.toml"];
        let args = ["validate", "--format", "short", "--config", files[0], files[0], files[1]];
        home.harnessd(&args).out
    };
    assert_eq!(validate("[harness.b]\nagent = \"mine\"\n"), "");
    let refused = "dotfiles/harness.d/more.toml:1:1: harnessd::config::";
    let not_here = format!("{refused}drop_in_only: `[defaults]` may not stand in a drop-in\n");
    assert_eq!(validate("[defaults]\nmodel = \"x\"\n"), not_here);
    let twice = format!("{refused}duplicate_harness: harness `a` is declared in two files\n");
    assert_eq!(validate("[harness.a]\ncmd = \"true\"\n"), twice);
}

/// CFG-9, ADP-2: an adapter of the selected global file is known to a project's file that is judged alone.
#[test]
fn a_users_adapter_is_known_to_every_file() {
    let home = Home::new("");
    home.write("project.toml", "[harness.a]\nagent = \"mine\"\n");
    assert_eq!(home.harnessd(&["validate", "project.toml"]).code, 1);
    home.configure("[adapter.mine]\ncommands = [\"mine\"]\noneshot = { argument = [\"{prompt}\"] }\n");
    assert_eq!(home.ok(&["validate", "project.toml"]).out, "1 file, 0 errors, 0 warnings\n");
}

/// CFG-1, CFG-3: a global file that lies above the current directory is no project file.
#[test]
fn the_global_file_is_never_taken_for_a_project() {
    let mut home = Home::new("");
    home.write("src/harness.toml", "[daemon]\nwatch = false\n");
    home.write("src/app/file", "");
    let validate = |home: &Home| {
        let mut command = home.command(&["validate"]);
        let output = command.current_dir(home.path("src/app")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(validate(&home).0, Some(1), "it would be no valid project");
    home.set("HARNESSD_CONFIG", &home.text("src/harness.toml"));
    assert_eq!(validate(&home), (Some(0), "1 file, 0 errors, 0 warnings\n".to_owned()));
}

/// What a verb prints on a terminal.
fn on_a_terminal(home: &Home, args: &[&str]) -> String {
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut command = home.command(args);
    command.env("TERM", "xterm-256color");
    command.stdout(Stdio::from(terminal.slave.try_clone().unwrap())).stderr(Stdio::from(terminal.slave));
    let mut child = command.spawn().unwrap();
    // The command keeps the terminal's other end open, and reading would never end.
    drop(command);
    let mut out = Vec::new();
    // A terminal whose other end is closed is at its end by an error.
    let _end = std::fs::File::from(terminal.master).read_to_end(&mut out);
    child.wait().unwrap();
    String::from_utf8(out).unwrap()
}

/// CTL-7: colours are for terminals, and for those only that do not refuse them by `NO_COLOR`.
#[test]
fn colours_are_for_a_terminal_without_no_color() {
    let mut home = Home::new("");
    home.write("wrong.toml", WRONG);
    let wrong = ["validate", "wrong.toml"];
    let help = ["--help"];
    let usage = ["start"];
    assert!(on_a_terminal(&home, &wrong).contains('\u{1b}'));
    for args in [&wrong[..], &help, &usage] {
        let said = home.harnessd(args);
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
    }
    home.set("NO_COLOR", "1");
    for args in [&wrong[..], &help, &usage] {
        let said = on_a_terminal(&home, args);
        assert!(!said.is_empty() && !said.contains('\u{1b}'), "{said:?}");
    }
}
